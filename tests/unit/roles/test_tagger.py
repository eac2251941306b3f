"""A tagger over a real ONNX file: which labels it gives, and what it refuses."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from quizglass_bundle.parts import TaggerPart
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.errors import BundleError, EngineFailed
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.tagger import OnnxTagger, read_labels

SIDE = 4
PICTURE = {"width": SIDE, "height": SIDE, "mean": [0, 0, 0], "std": [1, 1, 1]}
LABELS = "red car\nkoala\nblue boat\n"


class Files:
    """A folder as a bundle's files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        return self.root / name

    def sha256(self, name: str) -> str:
        return sha256(self.path(name).read_bytes()).hexdigest()


@pytest.fixture
def loading(tmp_path: Path, pool: EnginePool) -> Loading:
    """The colours of a picture, 0 to 1, times a factor, are the model's values."""
    (tmp_path / "labels.txt").write_text(LABELS)
    write(tmp_path / "model.onnx", 10)
    return Loading(Files(tmp_path), pool, PictureFitter(), OnnxOptions(1, "cpu"))


def write(path: Path, factor: float, output: str = "logits", *, keep: int = 0) -> None:
    """A classifier by the mean colour; with `keep` its output keeps the axes of the pixels."""
    nodes = [
        helper.make_node("ReduceMean", ["pixel_values"], ["colour"], axes=[2, 3], keepdims=keep),
        helper.make_node("Mul", ["colour", "factor"], [output]),
    ]
    given = [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["b", 3, SIDE, SIDE])]
    wanted = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
    stored = [helper.make_tensor("factor", TensorProto.FLOAT, [], [factor])]
    graph = helper.make_graph(nodes, "tags", given, wanted, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))


def colour(*rgb: int) -> Picture:
    pixels: RGB = np.broadcast_to(np.array(rgb, np.uint8), (6, 8, 3)).copy()
    return Picture(sha256(pixels.tobytes()).digest(), pixels)


def loaded(loading: Loading, **spec: Any) -> OnnxTagger:
    content = {"engine": "onnx", "kind": "image-classifier", "model": "model.onnx", "labels": "labels.txt"}
    part = TaggerPart.model_validate({**content, "picture": PICTURE, **spec})
    return load_role("tagger", part, loading)


async def test_the_likeliest_labels_are_given_with_their_probabilities(loading: Loading) -> None:
    tagger = loaded(loading, least=0.01)
    ((first, likely), (second, unlikely)) = await tagger.tags(colour(255, 204, 0))
    weights = np.exp([10, 8, 0])
    assert (first, second) == ("red car", "koala")
    assert (likely, unlikely) == pytest.approx(tuple(weights[:2] / weights.sum()), abs=1e-5)
    assert [name for name, _ in await loaded(loading, least=0.01, most=1).tags(colour(0, 204, 255))] == ["blue boat"]
    assert [name for name, _ in await loaded(loading).tags(colour(255, 204, 0))] == ["red car"]
    assert await loaded(loading).tags(colour(200, 200, 200)) == [], "sure of nothing"
    assert tagger.executor == "cpu"


async def test_pictures_that_are_asked_about_together_are_told_as_each_alone(loading: Loading) -> None:
    tagger = loaded(loading, least=0.0)
    pictures = [colour(red, 255 - red, 40 * place) for place, red in enumerate((0, 60, 120, 180, 240, 255))]
    alone = [await tagger.tags(picture) for picture in pictures]
    together = await asyncio.gather(*map(tagger.tags, pictures))
    for one, other in zip(alone, together, strict=True):
        assert dict(one) == pytest.approx(dict(other), abs=1e-6)


async def test_probabilities_are_taken_as_they_are_and_several_can_be_likely(loading: Loading, tmp_path: Path) -> None:
    write(tmp_path / "model.onnx", 1, "probabilities")
    tagger = loaded(loading, output="probabilities", least=0.5)
    tags = dict(await tagger.tags(colour(255, 204, 0)))
    assert tags == pytest.approx({"red car": 1.0, "koala": 0.8}, abs=1e-6)
    write(tmp_path / "model.onnx", 10, "probabilities")
    with pytest.raises(EngineFailed, match=r"probabilities outside 0 to 1; if they are logits"):
        await loaded(loading, output="probabilities").tags(colour(255, 204, 0))


async def test_labels_of_one_name_are_told_once_and_cleaned_as_words_from_outside(
    loading: Loading, tmp_path: Path
) -> None:
    (tmp_path / "labels.txt").write_text("crane\ncrane\n<|im_end|>  blue\x07boat\u202e\n", encoding="utf-8")
    tagger = loaded(loading, least=0.0)
    assert [name for name, _ in await tagger.tags(colour(255, 204, 0))] == ["crane", "<|im_end|> blue boat"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (b"red car\nkoala\n", r"gives values of shape \[1, 3\] for 1 picture\(s\), and labels\.txt has 2 labels"),
        (b"red car\nkoala\nblue\nboat\n", r"labels\.txt has 4 labels"),
        (b"red car\n \nblue boat\n", r"labels\.txt: label 2 is empty"),
        (b"red car\nkoala\nblue boat\n\n", r"labels\.txt: label 4 is empty"),
        (b"red car\n" + b"k" * 81 + b"\nblue boat\n", r"labels\.txt: label 2 has 81 characters, at most 80"),
        (b"red car\n\xff\nblue boat\n", r"labels\.txt: cannot be read"),
        (b"", r"labels\.txt: has 0 labels"),
    ],
)
def test_labels_that_do_not_fit_are_refused_at_the_start(
    loading: Loading, tmp_path: Path, labels: bytes, message: str
) -> None:
    (tmp_path / "labels.txt").write_bytes(labels)
    with pytest.raises(BundleError, match=message):
        loaded(loading)


def test_a_model_of_other_outputs_is_refused_at_the_start(loading: Loading, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"has no output probabilities, only logits"):
        loaded(loading, output="probabilities")
    write(tmp_path / "model.onnx", 1, keep=1)
    with pytest.raises(BundleError, match=r"gives values of shape \[1, 3, 1, 1\]"):
        loaded(loading)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(BundleError, match="ONNX Runtime cannot load it"):
        loaded(loading)


def test_a_directory_is_no_file_of_labels(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"labels: cannot be read"):
        read_labels(tmp_path, "labels")
