"""Reading printed words with the models that come inside the RapidOCR package."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save_model
from PIL import Image, ImageDraw, ImageFont

from quizglass.values import Region
from quizglass_bundle.files import Bundle
from quizglass_server.config.settings import EngineOptions
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.errors import BundleError
from quizglass_server.roles.load import load_models
from quizglass_server.roles.reader import READER, RapidOcrReader, package_detector
from quizglass_server.scheduling.clock import stage_clock
from tests.support.bundles.tiny_bundle import write_bundle


def sign(lines: list[str], size: int = 448) -> Picture:
    image = Image.new("RGB", (size, size), "white")
    font = ImageFont.load_default(40)
    for index, line in enumerate(lines):
        ImageDraw.Draw(image).text((60, 80 + 120 * index), line, "black", font=font)
    pixels = np.asarray(image)
    return Picture(sha256(pixels.tobytes()).digest(), pixels)


@pytest.fixture(scope="module")
def reader() -> RapidOcrReader:
    return RapidOcrReader(EnginePool(1))


async def test_lines_are_read_top_to_bottom(reader: RapidOcrReader) -> None:
    assert await reader.read(sign(["Velmora", "Open 24 hours"])) == ["Velmora", "Open 24 hours"]


async def test_lines_are_located_in_the_picture_also_where_a_part_is_searched(reader: RapidOcrReader) -> None:
    picture = sign(["Velmora", "Open 24 hours"])
    for part in (None, Region(0.0, 0.1, 1.0, 0.65)):
        first, second = sorted(await reader.locate(picture, part), key=lambda line: line.top)
        for line, top in ((first, 80), (second, 200)):
            assert line.left * 448 < 70 < line.right * 448
            assert top - 10 < line.top * 448 < top + 15
            assert 20 < (line.bottom - line.top) * 448 < 65
    assert await reader.locate(sign([])) == []


async def test_a_picture_without_words_has_none(reader: RapidOcrReader) -> None:
    assert await reader.read(sign([])) == []


async def test_reading_counts_as_engine_time_and_the_lines_are_the_callers(reader: RapidOcrReader) -> None:
    first = await reader.read(sign(["Tandric"]))
    first.append("changed by the caller")
    with stage_clock() as clock:
        assert await reader.read(sign(["Tandric"])) == ["Tandric"]
    assert clock.us > 0


async def test_small_print_of_a_large_picture_is_read(reader: RapidOcrReader) -> None:
    assert "Tandric" in await reader.read(sign(["Tandric"], size=1024))


DETECTOR = "reader/detector.onnx"


def with_detector(root: Path, write: Callable[[Path], object]) -> Bundle:
    """A bundle whose reader has a detector of its own."""
    path = write_bundle(root, ("reader",)) / DETECTOR
    path.parent.mkdir()
    write(path)
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["roles"]["reader"]["detector"] = DETECTOR
    content = path.read_bytes()
    manifest["files"][DETECTOR] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (root / "manifest.json").write_text(json.dumps(manifest))
    return Bundle.load(root)


def packaged(path: Path) -> None:
    shutil.copyfile(package_detector(), path)


def nothing(path: Path) -> None:
    """A graph that finds no lines."""
    _graph(path, "Sub")


def other_shape(path: Path) -> None:
    """A graph whose output is no map of the picture."""
    _graph(path, "Concat")


def _graph(path: Path, operator: str) -> None:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])
    found = helper.make_tensor_value_info("map", TensorProto.FLOAT, [1, "channels", "h", "w"])
    more = {"axis": 1} if operator == "Concat" else {}
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
        helper.make_node(operator, ["mean", "mean"], ["map"], **more),
    ]
    graph = helper.make_graph(nodes, "map", [given], [found])
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize(("write", "lines"), [(packaged, ["Velmora"]), (nothing, [])])
async def test_lines_are_found_by_the_detector_of_the_bundle(
    tmp_path: Path, write: Callable[[Path], object], lines: list[str]
) -> None:
    models = await load_models(with_detector(tmp_path, write), EngineOptions(threads=2, provider="cpu"))
    try:
        reader = models[READER]
        assert reader is not None
        assert await reader.read(sign(["Velmora"])) == lines
        assert len(await reader.locate(sign(["Velmora"]))) == len(lines)
    finally:
        await models.close()


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"no graph"), r"reader/detector\.onnx: ONNX Runtime cannot load it"),
        (other_shape, r"reader/detector\.onnx: gives \[\(1, 2, 32, 32\)\] .*; export it again"),
    ],
)
async def test_a_detector_that_cannot_find_lines_ends_the_start(
    tmp_path: Path, write: Callable[[Path], object], message: str
) -> None:
    bundle = with_detector(tmp_path, write)
    with pytest.raises(BundleError, match=message):
        await load_models(bundle, EngineOptions(threads=1, provider="cpu"))


def test_a_detector_has_to_be_among_the_files(tmp_path: Path) -> None:
    bundle = with_detector(tmp_path, packaged)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["roles"]["reader"]["detector"] = "reader/other.onnx"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match=r"roles\.reader\.detector names 'reader/other\.onnx', which files does not"):
        Bundle.load(bundle.root)
