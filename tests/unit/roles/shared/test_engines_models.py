"""The typed models over real ONNX files of a tiny bundle."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from quizglass_bundle.fields import Size
from quizglass_bundle.files import Bundle
from quizglass_server.config.settings import EngineOptions
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.generator.prompt import Part, PicturePart, TextPart, Urgency, Usage
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature
from quizglass_server.errors import BundleError, EngineFailed, EngineLost
from quizglass_server.roles.generator import GENERATOR, GenerationRequest, LlamaGenerator
from quizglass_server.roles.load import load_models, load_role
from quizglass_server.roles.shared.fitting import FittedPicture, PictureFitter
from quizglass_server.roles.shared.loading import Loading
from tests.support.bundles.tiny_bundle import DIMENSION, PROMPTS, write_bundle

HOW = OnnxOptions(threads=1, provider="cpu")
DIALOGUES = ("plan", "answer", "rewrite")
SCORERS = ("planner", "reranker", "image_encoder", "text_encoder")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Bundle.load(write_bundle(tmp_path_factory.mktemp("bundle") / "tiny", SCORERS))


def loaded(bundle: Bundle, pool: EnginePool, role: str) -> Any:
    part = bundle.roles.part(role)
    assert part is not None
    return load_role(role, part, Loading(bundle, pool, PictureFitter(), HOW))


def best(weighed: list[tuple[str, float]]) -> str:
    return max(weighed, key=lambda item: item[1])[0]


def grey(level: int, size: int = 112) -> RGB:
    return np.full((size, size, 3), level, np.uint8)


def picture(level: int, size: int = 112) -> Picture:
    pixels = grey(level, size)
    return Picture(sha256(pixels.tobytes()).digest(), pixels)


async def test_planner_weighs_question_and_picture(bundle: Bundle, pool: EnginePool) -> None:
    planner = loaded(bundle, pool, "planner")
    bright = await planner.probabilities([picture(255)], {"question": "What?"})
    dark = await planner.probabilities([picture(0)], {"question": "What?"})
    assert (best(bright), best(dark)) == ("image", "text")
    assert [name for name, _ in bright] == ["none", "image", "text", "both"]
    assert sum(probability for _, probability in bright) == pytest.approx(1)


async def test_planner_sees_history_words_and_does_without_a_picture(bundle: Bundle, pool: EnginePool) -> None:
    planner = loaded(bundle, pool, "planner")
    plain = await planner.probabilities((), {"question": "What?"})
    history = [{"question": "Where is it?", "answer": "There"}]
    longer = await planner.probabilities((), {"question": "What?", "history": history, "words": "Open"})
    assert dict(longer)["text"] > dict(plain)["text"]


async def test_planner_that_has_looked_at_a_picture_plans_alike_without_its_pixels(
    bundle: Bundle, pool: EnginePool
) -> None:
    planner = loaded(bundle, pool, "planner")
    expected = await planner.probabilities([picture(255)], {"question": "What?"})
    again = loaded(bundle, pool, "planner")
    await again.look_at(picture(255))
    assert await again.probabilities([replace(picture(255), pixels=grey(0))], {"question": "What?"}) == expected


async def test_planner_cuts_a_question_beyond_its_length(bundle: Bundle, pool: EnginePool) -> None:
    planner = loaded(bundle, pool, "planner")
    asked = {"question": "why " * 500, "words": "sign " * 500}
    assert best(await planner.probabilities([picture(9)], asked)) == "text"


async def test_scores_do_not_depend_on_batch_mates(bundle: Bundle, pool: EnginePool) -> None:
    reranker = loaded(bundle, pool, "reranker")
    passages = ["a", "some longer passage", "z" * 300, "a", "m" * 20]
    together = await reranker.score("query", passages)
    alone = [(await reranker.score("query", [passage]))[0] for passage in passages]
    assert together == pytest.approx(alone, abs=1e-5)
    assert together[0] == together[3]
    assert len(set(together)) == 4
    assert await reranker.score("query", []) == []


async def test_pictures_that_look_the_same_have_the_same_vector_of_length_one(bundle: Bundle, pool: EnginePool) -> None:
    encoder = loaded(bundle, pool, "image_encoder")
    one, two, again = await encoder.embed([picture(10), picture(200, 448), picture(10, 56)])
    assert one.shape == (DIMENSION,)
    assert one.dtype == np.float32
    assert np.linalg.norm(two) == pytest.approx(1)
    assert np.allclose(one, again, atol=1e-6)
    assert np.allclose((await encoder.embed([picture(200)]))[0], two, atol=1e-6)
    assert await encoder.embed([]) == []


async def test_texts_are_embedded_as_data(bundle: Bundle, pool: EnginePool) -> None:
    encoder = loaded(bundle, pool, "text_encoder")
    short, long, quoted = await encoder.embed_passages(["red car", "red car " * 50, "red car [SEP]"])
    assert np.linalg.norm(short) == pytest.approx(1)
    assert long.shape == (DIMENSION,)
    assert not np.allclose(short, quoted)
    assert np.allclose((await encoder.embed_queries(["red car"]))[0], short)
    assert encoder.count_tokens("red car") == 2
    assert encoder.count_tokens("red car " * 50) == 100


async def test_the_generators_picture_is_fitted_once_and_not_on_the_event_loop(tmp_path: Path) -> None:
    threads: list[int] = []

    class Fitter(PictureFitter):
        def fitted(self, picture: Picture, size: Size) -> FittedPicture:
            threads.append(threading.get_ident())
            return super().fitted(picture, size)

    bundle = Bundle.load(write_bundle(tmp_path / "tiny", ("generator",)))
    assert bundle.roles.generator is not None
    generator = LlamaGenerator(bundle.roles.generator, bundle, Fitter(), threads=1)
    for _ in range(2):
        with pytest.raises(EngineLost):  # no process was started
            await generator.choose(GenerationRequest("rewrite", {"question": "What?"}, (picture(9),)), [" A"])
    assert len(threads) == 1
    assert threads != [threading.get_ident()]


@pytest.mark.parametrize(
    ("template", "known", "read"),
    [
        ("See {{ image }}{% if words %} Read: {{ words }}{% endif %} Q: {{ question }}", {"words": "VELMORA"}, 4),
        ("See {{ image }}{% if words %} Read: {{ words }}{% endif %} Q: {{ question }}", {}, 2),
        ("See {{ image }}{% for line in seen %} {{ line }}{% endfor %} Read: {{ words }}", {"words": "VELMORA"}, 2),
        ("Q: {{ question }} Read: {{ words }} See {{ image }}", {"words": "VELMORA"}, 4),
    ],
    ids=["with the words", "without any", "what is found comes first", "the question comes first"],
)
async def test_a_prompt_is_read_ahead_as_far_as_no_question_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, known: dict[str, str], read: int
) -> None:
    monkeypatch.setitem(PROMPTS, "answer", template)
    bundle = Bundle.load(write_bundle(tmp_path / "tiny", ("generator",)))
    assert bundle.roles.generator is not None
    generator = LlamaGenerator(bundle.roles.generator, bundle, PictureFitter(), threads=1)
    prefilled: list[Sequence[Part]] = []

    class Client:
        async def prefill(self, prompt: Sequence[Part], urgency: Urgency) -> Usage:
            prefilled.append(prompt)
            return Usage(len(prompt))

    async def client() -> Client:
        return Client()

    monkeypatch.setattr(generator.process, "client", client)
    await generator.prepare(picture(9), known)
    (parts,) = prefilled
    assert len(parts) == read
    assert any(isinstance(part, PicturePart) for part in parts)
    assert any("VELMORA" in part.text for part in parts if isinstance(part, TextPart)) == (read == 4)


async def test_the_generator_shares_what_it_reads_of_a_picture_with_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "tiny", ("generator",)))
    assert bundle.roles.generator is not None
    generator = LlamaGenerator(bundle.roles.generator, bundle, PictureFitter(), threads=1)
    names: list[bytes] = []

    class Client:
        async def choose(
            self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency
        ) -> tuple[list[float], Usage]:
            names.extend(part.sha256 for part in prompt if isinstance(part, PicturePart))
            return [1.0 for _ in labels], Usage(1)

    async def client(deadline: float | None) -> Client:
        return Client()

    monkeypatch.setattr(generator.process, "client", client)
    for owner in ("192.0.2.1", "192.0.2.1", "192.0.2.2", ""):
        shown = replace(picture(9), owner=owner)
        await generator.choose(GenerationRequest("answer", {"question": "What?"}, (shown,)), [" A", " B"])
    first, again, *others = names
    assert first == again
    assert len({first, *others}) == 3


async def test_every_role_says_what_runs_it(bundle: Bundle) -> None:
    models = await load_models(bundle, EngineOptions(threads=1, provider="cpu"))
    assert [(each.role, each.engine, each.executor, each.ready) for each in models.statuses()] == [
        (role, "onnx", "cpu", True) for role in SCORERS
    ]
    assert models[GENERATOR] is None
    await models.close()


def test_a_damaged_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "planner" / "model.onnx"
    path.parent.mkdir()
    path.write_bytes(b"not a model" * 100)
    with pytest.raises(BundleError, match=r"planner/model\.onnx"):
        OnnxSession(path, Signature("logits", {}), HOW)


def test_a_model_of_another_kind_is_named(bundle: Bundle) -> None:
    with pytest.raises(BundleError, match=r"reranker/model\.onnx: needs the unknown input"):
        OnnxSession(bundle.path("reranker/model.onnx"), Signature("logits", {}), HOW)


def test_the_missing_extra_is_named(bundle: Bundle, monkeypatch: pytest.MonkeyPatch, pool: EnginePool) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EngineFailed, match=r"in the clone: pip install '\.\[cpu\]'"):
        loaded(bundle, pool, "reranker")


def test_a_reranker_gives_a_logit_for_each_of_its_labels(tmp_path: Path, bundle: Bundle, pool: EnginePool) -> None:
    root = tmp_path / "other"
    shutil.copytree(bundle.root, root)
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["roles"]["reranker"]["labels"].append(["perhaps", " A"])
    (root / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match=r"reranker/model\.onnx: gives values of shape \[1, 2\].*says \[1, 3\]"):
        loaded(Bundle.load(root), pool, "reranker")


def changed(bundle: Bundle, root: Path, model: onnx.ModelProto) -> Bundle:
    """The bundle with another reranker."""
    shutil.copytree(bundle.root, root)
    content, name = model.SerializeToString(), "reranker/model.onnx"
    (root / name).write_bytes(content)
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["files"][name] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (root / "manifest.json").write_text(json.dumps(manifest))
    return Bundle.load(root)


@pytest.mark.parametrize("shape", [["layers", 2, "batch", 2, "length", 4], [1, 2, "batch"]])
def test_a_past_of_another_form_is_named(tmp_path: Path, bundle: Bundle, pool: EnginePool, shape: list[object]) -> None:
    model = onnx.load(bundle.path("reranker/model.onnx"))
    past = onnx.helper.make_tensor_value_info("past", onnx.TensorProto.FLOAT, shape)
    model.graph.input.extend([past, onnx.helper.make_tensor_value_info("keep", onnx.TensorProto.INT64, [])])
    with pytest.raises(BundleError, match=r"reranker/model\.onnx: past has shape"):
        loaded(changed(bundle, tmp_path / "other", model), pool, "reranker")


def test_a_model_that_gives_no_rows_is_named(tmp_path: Path, bundle: Bundle, pool: EnginePool) -> None:
    model = onnx.load(bundle.path("reranker/model.onnx"))
    (last,) = (node for node in model.graph.node if "logits" in node.output)
    last.output[list(last.output).index("logits")] = "rows"
    model.graph.node.append(onnx.helper.make_node("ReduceSum", ["rows"], ["logits"], keepdims=0))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    with pytest.raises(BundleError, match=r"reranker/model\.onnx: logits is a single number"):
        loaded(changed(bundle, tmp_path / "other", model), pool, "reranker")


def test_labels_must_be_plans(tmp_path: Path, bundle: Bundle, pool: EnginePool) -> None:
    root = tmp_path / "other"
    shutil.copytree(bundle.root, root)
    manifest = root / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"both"', '"neither"'))
    with pytest.raises(BundleError, match="neither"):
        loaded(Bundle.load(root), pool, "planner")


@pytest.mark.parametrize(
    ("prompt", "text", "reason"),
    [
        *((prompt, "{{ nothing }} Answer:", "'nothing' is undefined") for prompt in PROMPTS),
        *((prompt, "{% for t in history %}{{ t.query }}{% endfor %}", "no attribute 'query'") for prompt in DIALOGUES),
        ("answer", "{% for s in seen %}{{ s.name }}{% endfor %}", "no attribute 'name'"),
    ],
)
async def test_a_prompt_that_cannot_be_filled_is_found_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: str, text: str, reason: str
) -> None:
    monkeypatch.setitem(PROMPTS, prompt, text)
    root = write_bundle(tmp_path / "tiny")
    with pytest.raises(BundleError, match=rf"{prompt}\.jinja: .*{reason}"):
        await load_models(Bundle.load(root), EngineOptions(threads=1, provider="cpu"))


@pytest.mark.parametrize("role", ["planner", "reranker"])
async def test_a_damaged_tokenizer_is_found_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    monkeypatch.setattr("tests.support.bundles.tiny_bundle.write_tokenizer", lambda path: path.write_text("{}"))
    bundle = Bundle.load(write_bundle(tmp_path / "tiny", (role,)))
    with pytest.raises(BundleError, match=rf"roles\.{role}: tokenizer\.json: not a tokenizer"):
        await load_models(bundle, EngineOptions(threads=1, provider="cpu"))
