"""Batches padded to fixed shapes, over tensors that stay where they are; on the CPU, whose binding is the same."""

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper, save

from quizglass_server.engines.onnx.providers import options
from quizglass_server.engines.onnx.stepped import LENGTHS, ROWS, SteppedRuns, step

ort = pytest.importorskip("onnxruntime")

Batch = list[list[int]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> SteppedRuns:
    """Of a graph that sums each row's ids where the mask is, and counts them."""
    axes = ["batch", "sequence"]
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["seen"]),
        helper.make_node("Concat", ["seen", "attention_mask"], ["both"], axis=1),
        helper.make_node("ReduceSum", ["seen", "one"], ["sum"], keepdims=1),
        helper.make_node("ReduceSum", ["attention_mask", "one"], ["count"], keepdims=1),
        helper.make_node("Concat", ["sum", "count"], ["pair"], axis=1),
        helper.make_node("Cast", ["pair"], ["logits"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "sums",
        [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2])],
        [numpy_helper.from_array(np.array([1]), "one")],
    )
    path: Path = tmp_path_factory.mktemp("runs") / "model.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(path))
    return SteppedRuns(ort, ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]), "cpu")


def batch(rows: Batch) -> dict[str, np.ndarray]:
    longest = max(map(len, rows))
    ids, mask = np.zeros((2, len(rows), longest), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(1, 999), min_size=1, max_size=130), min_size=1, max_size=17))
def test_a_batch_gives_what_it_gives_unpadded_whatever_ran_before(runs: SteppedRuns, rows: Batch) -> None:
    (found,) = runs.run(["logits"], batch(rows))
    assert found.tolist() == [[sum(row), len(row)] for row in rows]
    assert set(runs.shapes) <= {(rows, length) for rows in (*ROWS, 32) for length in LENGTHS}


def test_every_named_axis_is_padded_and_cut_off_again(tmp_path: Path) -> None:
    """As a vision scorer's positions [3, B, S] and pictures [B, 2], and an encoder's states [B, S, 1] have them."""
    shapes = {"position_ids": [3, "batch_size", "tokens"], "pixel_values": ["batch_size", 2]}
    nodes = [
        helper.make_node("Cast", ["position_ids"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["float", "first"], ["places"], keepdims=0),
        helper.make_node("Unsqueeze", ["places", "last"], ["states"]),
        helper.make_node("Neg", ["pixel_values"], ["pictures"]),
    ]
    kinds = (TensorProto.INT64, TensorProto.FLOAT)
    graph = helper.make_graph(
        nodes,
        "axes",
        [helper.make_tensor_value_info(name, kind, shapes[name]) for name, kind in zip(shapes, kinds, strict=True)],
        [
            helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch_size", "tokens", 1]),
            helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["batch_size", 2]),
        ],
        [numpy_helper.from_array(np.array([place]), name) for name, place in (("first", 0), ("last", 2))],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), str(tmp_path / "m.onnx"))
    runs = SteppedRuns(ort, ort.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"]), "cpu")
    for rows, length in ((3, 40), (1, 7), (3, 33)):
        places = np.arange(3 * rows * length).reshape(3, rows, length)
        pixels = np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)
        states, pictures = runs.run(["states", "pictures"], {"position_ids": places, "pixel_values": pixels})
        np.testing.assert_array_equal(states[:, :, 0], places.sum(0))
        np.testing.assert_array_equal(pictures, -pixels)
    assert runs.shapes == [(1, 32), (4, 64)]


def test_callers_at_once_each_get_their_own(runs: SteppedRuns) -> None:
    found: dict[int, list[float]] = {}

    def ask(number: int) -> None:
        for _ in range(50):
            found[number] = runs.run(["logits"], batch([[number] * number]))[0][0].tolist()
            assert found[number] == [number * number, number]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(1, 6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {number: [number * number, number] for number in range(1, 6)}


def test_results_stay_what_they_were_after_the_next_run(runs: SteppedRuns) -> None:
    (first,) = runs.run(["logits"], batch([[5, 6]]))
    runs.run(["logits"], batch([[9, 9]]))
    assert first.tolist() == [[11, 2]]


@pytest.mark.parametrize(("size", "held"), [(1, 32), (32, 32), (33, 64), (1024, 1024), (1025, 2048)])
def test_a_step_holds_what_is_asked_for(size: int, held: int) -> None:
    assert step(size, LENGTHS) == held


def test_a_cuda_graph_is_asked_for_only_where_shapes_are_fixed() -> None:
    assert options("CUDAExecutionProvider", {}, None, stepped=True)["enable_cuda_graph"] == "1"
    assert "enable_cuda_graph" not in options("CUDAExecutionProvider", {}, None)
    assert "enable_cuda_graph" not in options("CPUExecutionProvider", {}, None, stepped=True)
