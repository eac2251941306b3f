"""A process that hangs is told from one that is busy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from time import monotonic

import pytest

from quizglass_server.engines.llama.link.prompt import EngineStats
from quizglass_server.engines.llama.process.heartbeat import HeartbeatOptions, hang

QUICK = HeartbeatOptions(interval_s=0.001, silent_s=0.01)


async def beats(*stats: EngineStats, then_silent: bool = False) -> AsyncIterator[EngineStats]:
    for each in stats:
        yield each
    if then_silent:
        await asyncio.Event().wait()


async def test_a_process_without_heartbeats_hangs() -> None:
    assert "no heartbeat" in await hang(beats(then_silent=True), QUICK)


async def test_a_process_that_falls_silent_hangs() -> None:
    lively = EngineStats(beat=monotonic(), busy=True)
    assert "no heartbeat" in await hang(beats(*[lively] * 5, then_silent=True), QUICK)


async def test_an_engine_too_long_in_one_call_hangs_though_the_process_sends_heartbeats() -> None:
    options = HeartbeatOptions(silent_s=10)
    stuck = EngineStats(beat=monotonic() - 11, busy=True)
    assert "one call" in await hang(beats(EngineStats(beat=monotonic()), stuck), options)


@pytest.mark.parametrize("work", ["active", "waiting"])
async def test_an_engine_that_leaves_its_work_lying_hangs(work: str) -> None:
    stuck = replace(EngineStats(beat=monotonic() - 11), **{work: 1})
    assert "work to do" in await hang(beats(stuck), HeartbeatOptions(silent_s=10))


async def test_an_idle_engine_may_be_silent_for_ever() -> None:
    options = HeartbeatOptions(silent_s=10)
    with pytest.raises(StopAsyncIteration):
        await hang(beats(*[EngineStats(beat=monotonic() - 1000, busy=False)] * 3), options)


async def test_a_model_measured_to_be_slow_gets_more_time() -> None:
    options = HeartbeatOptions(silent_s=10)
    assert options.call_limit_s(EngineStats()) == 10
    assert options.call_limit_s(EngineStats(step_us=(1000, 2000), prefill_us=90_000)) == 10
    assert options.call_limit_s(EngineStats(step_us=(1000, 3_000_000), prefill_us=2_000_000)) == 60
    slow = EngineStats(beat=monotonic() - 30, busy=True, prefill_us=2_000_000)
    with pytest.raises(StopAsyncIteration):
        await hang(beats(slow), options)


async def test_what_the_stream_raises_is_passed_on() -> None:
    async def broken() -> AsyncIterator[EngineStats]:
        yield EngineStats()
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await hang(broken(), QUICK)


async def test_ending_the_watch_ends_reading() -> None:
    closed = asyncio.Event()
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[EngineStats]:
        try:
            begun.set()
            await asyncio.Event().wait()
            yield EngineStats()
        finally:
            closed.set()

    watching = asyncio.create_task(hang(endless(), HeartbeatOptions(interval_s=60)))
    await begun.wait()
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert closed.is_set()
