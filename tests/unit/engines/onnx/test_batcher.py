"""Requests for one model that share runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.clock import record_engine, stage_clock
from quizglass_server.scheduling.priority import Priority, at_priority

LIMITS = BatchLimits(tokens=100, rows=8)


class Model:
    """Upper-cases words; a bad word fails the whole run. Can be held still, to let requests gather."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.held = threading.Event()

    def __call__(self, rows: Sequence[str]) -> list[str]:
        self.runs.append(list(rows))
        self.held.set()
        assert self.gate.wait(30)
        record_engine(1000)
        if any("bad" in row for row in rows):
            raise EngineFailed("a bad row")
        return [row.upper() for row in rows]

    def hold(self) -> None:
        self.gate.clear()
        self.held.clear()


def words(*rows: str) -> Callable[[], Sequence[str]]:
    return lambda: rows


async def held(model: Model, batcher: Batcher[str, str]) -> asyncio.Task[list[str]]:
    """A run that keeps the engine busy until the gate opens."""
    model.hold()
    task = asyncio.create_task(batcher.run(words("first")))
    await asyncio.to_thread(model.held.wait, 30)
    return task


async def begun(*tasks: asyncio.Task[list[str]]) -> None:
    """Let tasks hand in their requests."""
    for _ in tasks:
        await asyncio.sleep(0)


async def test_a_cancelled_request_leaves_those_it_was_batched_with_whole(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, LIMITS)
    first = await held(model, batcher)
    model.held.clear()
    waiting = [asyncio.create_task(batcher.run(words(f"row {n}"))) for n in range(3)]
    await begun(*waiting)
    waiting[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[1]
    model.gate.set()
    assert await first == ["FIRST"]
    assert await waiting[0] == ["ROW 0"]
    assert await waiting[2] == ["ROW 2"]
    assert model.runs == [["first"], ["row 0", "row 2"]]


async def test_a_request_that_is_cancelled_while_it_runs_leaves_the_others_whole(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, LIMITS)
    first = await held(model, batcher)
    waiting = [asyncio.create_task(batcher.run(words(f"row {n}"))) for n in range(3)]
    await begun(*waiting)
    model.gate.set()
    await first
    model.hold()
    late = asyncio.create_task(batcher.run(words("late")))
    await asyncio.to_thread(model.held.wait, 30)
    waiting[0].cancel()
    late.cancel()
    model.gate.set()
    assert [await task for task in waiting[1:]] == [["ROW 1"], ["ROW 2"]]
    assert await batcher.run(words("again")) == ["AGAIN"]


async def test_no_row_waits_for_a_batch_and_queued_rows_go_together(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, LIMITS)
    assert await batcher.run(words("alone")) == ["ALONE"]
    first = await held(model, batcher)
    tasks = [asyncio.create_task(batcher.run(words(f"r{n}"))) for n in range(5)]
    await begun(*tasks)
    model.gate.set()
    await first
    assert [await task for task in tasks] == [[f"R{n}"] for n in range(5)]
    assert model.runs == [["alone"], ["first"], [f"r{n}" for n in range(5)]]


async def test_only_the_request_with_the_bad_row_fails(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, LIMITS)
    first = await held(model, batcher)
    tasks = [asyncio.create_task(batcher.run(words(row, "good"))) for row in ("fine", "bad!", "okay")]
    await begun(*tasks)
    model.gate.set()
    await first
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert (results[0], results[2]) == (["FINE", "GOOD"], ["OKAY", "GOOD"])
    assert isinstance(results[1], EngineFailed)


async def test_what_cannot_be_prepared_fails_alone(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, LIMITS)

    def broken() -> Sequence[str]:
        raise ValueError("no such field")

    good, bad = asyncio.create_task(batcher.run(words("good"))), asyncio.create_task(batcher.run(broken))
    assert await good == ["GOOD"]
    with pytest.raises(ValueError, match="no such field"):
        await bad
    assert await batcher.run(words()) == []


async def test_the_engines_time_is_shared_by_tokens(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, BatchLimits(tokens=100, rows=8, padding=1.0))
    first = await held(model, batcher)

    async def timed(row: str) -> int:
        with stage_clock() as clock:
            await batcher.run(words(row))
        return clock.us

    tasks = [asyncio.create_task(timed(row)) for row in ("x" * 10, "y" * 30)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    model.gate.set()
    await first
    assert [await task for task in tasks] == [250, 750]


@pytest.mark.parametrize(("prompts", "read"), [(True, [10, 30]), (False, [0, 0])])
async def test_every_stage_counts_the_tokens_of_its_own_prompts(
    pool: EnginePool, prompts: bool, read: list[int]
) -> None:
    batcher = Batcher(pool, Model(), len, BatchLimits(tokens=100, rows=8, padding=1.0), prompts=prompts)

    async def counted(*rows: str) -> int:
        with stage_clock() as clock:
            await batcher.run(words(*rows))
        return clock.tokens

    assert list(await asyncio.gather(counted("x" * 4, "x" * 6), counted("y" * 30))) == read


async def test_urgent_rows_take_no_background_rows_along(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, LIMITS)
    first = await held(model, batcher)
    with at_priority(Priority.BACKGROUND):
        imported = asyncio.create_task(batcher.run(words(*(f"p{n:02}" for n in range(20)))))
    await begun(imported)
    query = asyncio.create_task(batcher.run(words("ask")))
    await begun(query)
    model.gate.set()
    await first
    assert await query == ["ASK"]
    assert len(await imported) == 20
    assert ["ask"] in model.runs
    assert [len(run) for run in model.runs if run not in (["first"], ["ask"])] == [8, 8, 4]


async def test_background_work_that_meets_as_many_turns_as_fill_a_run_is_not_forgotten(pool: EnginePool) -> None:
    """The turns wait for their own busy thread while the background's is free."""
    busy, go_on = threading.Event(), threading.Event()
    pool.submit(lambda: busy.set() or go_on.wait(30))
    await asyncio.to_thread(busy.wait, 30)
    batcher = Batcher(pool, Model(), len, BatchLimits(tokens=100, rows=2))
    turns = [batcher.submit(words(row)) for row in ("now", "too")]
    with at_priority(Priority.BACKGROUND):
        imported = batcher.submit(words("passage"))
        pool.submit(lambda: None).result(30)  # the background's thread has met all three
    go_on.set()
    assert [turn.result(30) for turn in turns] == [["NOW"], ["TOO"]]
    assert imported.result(30) == ["PASSAGE"]


@pytest.mark.parametrize("workers", [1, 2])
async def test_no_turn_waits_for_background_work(workers: int) -> None:
    pool = EnginePool(workers)
    model, other = Model(), Model()
    imports, turns = Batcher(pool, model, len, BatchLimits(4, 1)), Batcher(pool, other, len, LIMITS)
    model.hold()
    with at_priority(Priority.BACKGROUND):
        task = asyncio.create_task(imports.run(words("a", "b", "c")))
    await asyncio.to_thread(model.held.wait, 30)
    assert await turns.run(words("now")) == ["NOW"]
    assert model.runs == [["a"]]
    model.gate.set()
    assert await task == ["A", "B", "C"]
    pool.close()


async def test_closing_leaves_no_waiter(pool: EnginePool) -> None:
    model = Model()
    batcher = Batcher(pool, model, len, LIMITS)
    first = await held(model, batcher)
    waiting = asyncio.create_task(batcher.run(words("late")))
    await begun(waiting)
    closing = asyncio.create_task(asyncio.to_thread(pool.close))
    with pytest.raises(EngineFailed, match="stopping"):
        await waiting
    model.gate.set()
    assert await first == ["FIRST"]
    await closing
    with pytest.raises(EngineFailed, match="stopping"):
        await batcher.run(words("later"))


def runs_of(
    lengths: Sequence[Sequence[int]], limits: BatchLimits, workers: int
) -> tuple[list[list[int]], list[list[str]]]:
    """Runs (lengths of their rows), and results, of requests that are handed in at once."""
    runs: list[list[int]] = []
    lock = threading.Lock()

    def execute(rows: Sequence[str]) -> list[str]:
        with lock:
            runs.append([len(row) for row in rows])
        return [row.upper() for row in rows]

    async def all_of_them() -> list[list[str]]:
        batcher = Batcher(pool, execute, len, limits)
        requests = [["x" * length for length in request] for request in lengths]
        return await asyncio.gather(*(batcher.run(words(*request)) for request in requests))

    pool = EnginePool(workers)
    try:
        return runs, asyncio.run(all_of_them())
    finally:
        pool.close()


@given(
    st.lists(st.lists(st.integers(1, 60), max_size=9), max_size=12),
    st.builds(BatchLimits, st.integers(1, 200), st.integers(1, 9), st.floats(0, 1)),
    st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_every_row_runs_once_within_the_limits(lengths: list[list[int]], limits: BatchLimits, workers: int) -> None:
    runs, results = runs_of(lengths, limits, workers)
    assert [[len(row) for row in request] for request in results] == lengths
    assert sorted(length for run in runs for length in run) == sorted(x for request in lengths for x in request)
    for run in runs:
        assert len(run) <= limits.rows
        assert len(run) == 1 or len(run) * max(run) <= limits.tokens
        assert len(run) * max(run) - sum(run) <= limits.padding * len(run) * max(run) + 1e-9


def test_rows_of_like_length_share_a_run() -> None:
    runs, _ = runs_of([[9, 3, 8, 3]], BatchLimits(20, 8), 1)
    assert sorted(map(sorted, runs)) == [[3, 3], [8, 9]]
    runs, _ = runs_of([[5, 5, 5]], BatchLimits(100, 2), 1)
    assert sorted(map(len, runs)) == [1, 2]
    runs, _ = runs_of([[50, 1]], BatchLimits(20, 8), 1)
    assert sorted(runs) == [[1], [50]]
