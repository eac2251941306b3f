"""A model that runs for work nothing waits for any more ends, and is ready for the next."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.ending import Interest, current_interest
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature
from quizglass_server.errors import EngineFailed

MINUTES, FEW = 1e9, 3.0
"""Times that the model adds one; the first takes minutes."""
Row = NDArray[np.float32]


@pytest.fixture
def pool() -> Iterator[EnginePool]:
    made = EnginePool(1)
    yield made
    made.close()


@pytest.fixture
def counter(tmp_path: Path) -> OnnxSession:
    """y = x + 1 + 1 + ..., as often as x says."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["still"]),
            helper.make_node("Add", ["value", "one"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, [1, 1]),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [1, 1]),
        ],
        [helper.make_tensor("one", TensorProto.FLOAT, [1, 1], [1.0])],
    )
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Cast", ["most"], ["turns"], to=TensorProto.INT64),
        helper.make_node("Loop", ["turns", "", "x"], ["y"], body=body),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])
    model = helper.make_model(
        helper.make_graph(nodes, "counter", [given], [made]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    onnx.save(model, tmp_path / "counter.onnx")
    signature = Signature("y", {"x": InputRange((1, 1), (1, 1), (1, 1))})
    return OnnxSession(tmp_path / "counter.onnx", signature, OnnxOptions(provider="cpu"))


def row(value: float) -> Row:
    return np.full((1, 1), value, np.float32)


async def test_a_run_ends_when_the_work_that_it_is_in_is_cancelled(counter: OnnxSession, pool: EnginePool) -> None:
    begun, failed = threading.Event(), list[EngineFailed]()

    def work() -> None:
        begun.set()
        try:
            counter.run({"x": row(MINUTES)})
        except EngineFailed as error:
            failed.append(error)
            raise

    task = asyncio.create_task(pool.run(work))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(60):
        assert await pool.run(lambda: counter.run({"x": row(FEW)}).tolist()) == [[6.0]]
    assert len(failed) == 1


async def test_a_batched_run_ends_when_its_only_request_is_cancelled(counter: OnnxSession, pool: EnginePool) -> None:
    begun = threading.Event()

    def execute(rows: Sequence[Row]) -> list[float]:
        begun.set()
        return [float(counter.run({"x": each})[0, 0]) for each in rows]

    batcher = Batcher[Row, float](pool, execute, lambda _: 1, BatchLimits(8, 8))
    task = asyncio.create_task(batcher.run(lambda: [row(MINUTES)]))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    async with asyncio.timeout(60):
        assert await batcher.run(lambda: [row(FEW)]) == [6.0]


async def test_a_shared_run_goes_on_until_the_last_of_its_requests_is_cancelled(pool: EnginePool) -> None:
    gate, held, runs, interests = threading.Event(), threading.Event(), list[list[str]](), list[Interest | None]()

    def execute(rows: Sequence[str]) -> list[str]:
        runs.append(list(rows))
        interests.append(current_interest())
        held.set()
        assert gate.wait(30)
        raise EngineFailed("ended")

    batcher = Batcher[str, str](pool, execute, len, BatchLimits(8, 8))
    busy = threading.Event()
    first = pool.submit(lambda: busy.wait(30))
    both = [batcher.submit(lambda name=name: [name]) for name in ("a", "b")]  # type: ignore[misc]
    busy.set()
    assert first.result(30)
    assert held.wait(30)
    (interest,) = interests
    assert interest is not None
    both[0].cancel()
    assert not interest.lost
    both[1].cancel()
    assert interest.lost
    gate.set()
    await pool.run(lambda: None)
    assert runs == [["a", "b"]], "none is run again by itself"


async def test_work_that_nothing_waits_for_any_more_is_ended_where_it_begins_to_run_a_model(
    counter: OnnxSession, pool: EnginePool
) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert cancelled.wait(30)
        counter.run({"x": row(MINUTES)})

    submitted = pool.submit(work)
    assert await asyncio.to_thread(begun.wait, 30)
    assert not submitted.cancel()
    cancelled.set()
    with pytest.raises(EngineFailed):
        await asyncio.to_thread(submitted.result, 60)
