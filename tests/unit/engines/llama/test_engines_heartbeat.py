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
HALF_A_SECOND = HeartbeatOptions(interval_s=0.5, silent_s=10)


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
    stuck = EngineStats(beat=1.0, busy=True)
    assert "one call for 10.5 s" in await hang(beats(*[stuck] * 22), HALF_A_SECOND)
    with pytest.raises(StopAsyncIteration):
        await hang(beats(*[stuck] * 21), HALF_A_SECOND)


@pytest.mark.parametrize("work", ["active", "waiting"])
async def test_an_engine_that_leaves_its_work_lying_hangs(work: str) -> None:
    stuck = replace(EngineStats(beat=1.0), **{work: 1})
    assert "work to do" in await hang(beats(*[stuck] * 22), HALF_A_SECOND)


async def test_a_picture_that_is_never_done_hangs_the_process_though_its_engine_goes_on() -> None:
    stuck = [EngineStats(beat=tick, encoding_us=500_000 * tick, encode_us=600_000) for tick in range(30)]
    assert "encoded for 12.5 s, more than 12.0 s" in await hang(beats(*stuck), HALF_A_SECOND)


async def test_pictures_one_after_the_other_are_not_one_that_is_never_done() -> None:
    """Each as long as heartbeats are apart, so that every heartbeat finds the next one a little further."""
    with pytest.raises(StopAsyncIteration):
        await hang(beats(*[EngineStats(beat=tick, encoding_us=1000 * tick) for tick in range(100)]), HALF_A_SECOND)


async def test_who_was_stopped_with_a_process_at_work_does_not_take_it_for_one_that_hangs() -> None:
    """This one alone, so that heartbeats are read late; then both."""
    long_ago = monotonic() - 1000
    late = [EngineStats(beat=long_ago + tick, busy=True, active=1) for tick in range(100)]
    stopped = EngineStats(beat=long_ago + 200, busy=True, active=1, encoding_us=500_000_000)
    with pytest.raises(StopAsyncIteration):
        await hang(beats(*late, stopped, stopped), HALF_A_SECOND)


async def test_an_idle_engine_may_be_silent_for_ever() -> None:
    with pytest.raises(StopAsyncIteration):
        await hang(beats(*[EngineStats(beat=1.0, busy=False)] * 30), HALF_A_SECOND)


async def test_a_model_measured_to_be_slow_gets_more_time() -> None:
    options = HeartbeatOptions(silent_s=10)
    assert options.call_limit_s(EngineStats()) == 10
    assert options.call_limit_s(EngineStats(step_us=(1000, 2000), prefill_us=90_000)) == 10
    assert options.call_limit_s(EngineStats(step_us=(1000, 3_000_000), prefill_us=2_000_000)) == 60
    slow = EngineStats(beat=1.0, busy=True, prefill_us=2_000_000)
    with pytest.raises(StopAsyncIteration):
        await hang(beats(*[slow] * 60), HALF_A_SECOND)


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
