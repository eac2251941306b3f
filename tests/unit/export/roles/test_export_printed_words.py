"""The detector of lines of words in INT8, made from the real package and read with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, save_model

from quizglass_export.bundles.onnx_graph import summarise
from quizglass_export.onnx.static_int8 import Inputs, to_int8_convolutions
from quizglass_export.printed_words.detector import check_detector, source_file, write_detector
from quizglass_export.printed_words.signs import signs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The detector, and what the report says of it."""
    path = tmp_path_factory.mktemp("detector") / "detector.onnx"
    return path, write_detector(source_file(), path)


def test_it_reads_held_out_signs_as_the_packages_own_does(made: tuple[Path, dict[str, Any]]) -> None:
    (check,) = check_detector("reader", made[0], 0.9)
    assert check.passed
    assert check.samples > 30
    assert not check_detector("reader", made[0], 1.01)[0].passed


def test_its_convolutions_are_int8_and_the_report_has_both_sizes_and_times(made: tuple[Path, dict[str, Any]]) -> None:
    path, notes = made
    summary = summarise(path)
    assert summary.precision == "int8 (static)"
    assert summary.weights["int8"] > 2_000_000
    assert notes["products"] == summary.operators["Conv"]
    assert notes["float32_bytes"] == source_file().stat().st_size > 3 * path.stat().st_size
    assert min(notes["latency_ms"], notes["float32_latency_ms"]) > 0


def test_equal_pictures_give_equal_bytes_and_others_give_others(tmp_path: Path) -> None:
    def written(name: str, seed: int) -> bytes:
        values: list[Inputs] = [{"x": np.random.default_rng(seed).random((1, 3, 64, 96), np.float32)}]
        to_int8_convolutions(source_file(), tmp_path / name, values)
        return (tmp_path / name).read_bytes()

    first = written("first", 1)
    assert written("second", 1) == first
    assert written("third", 2) != first


def test_a_detector_that_finds_nothing_is_not_accepted(tmp_path: Path) -> None:
    shapes = [("x", [1, 3, "h", "w"]), ("map", [1, 1, "h", "w"])]
    given, found = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes)
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Sub", ["mean", "mean"], ["map"]),
    ]
    graph = helper.make_graph(nodes, "nothing", [given], [found])
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "n.onnx")
    (check,) = check_detector("reader", tmp_path / "n.onnx", 0.9)
    assert (check.value, check.passed) == (0, False)


def test_signs_of_one_seed_are_equal_and_show_several_sizes() -> None:
    once, again, others = signs(6, 3), signs(6, 3), signs(6, 4)
    assert all((one.picture == other.picture).all() for one, other in zip(once, again, strict=True))
    assert [sign.lines for sign in once] == [sign.lines for sign in again] != [sign.lines for sign in others]
    assert len({sign.picture.shape for sign in once}) == 6
