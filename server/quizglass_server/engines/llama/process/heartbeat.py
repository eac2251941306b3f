"""Tells a process that hangs from one that is busy.

Three things can go silent: the process as a whole (its event loop sends no heartbeat), its engine thread (inside one
native call for far longer than such calls take, or anywhere else with work to do), and the thread that encodes
pictures. All of it is counted in heartbeats, seen or missed, and not by the clock: when this process or both are
stopped for an hour, what was under way then is late by a heartbeat.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from quizglass_server.config.options import GeneratorOptions
from quizglass_server.engines.llama.link.prompt import EngineStats

CALL_COSTS = 20
"""A native call may take so many times what the dearest kind of call was measured to take."""


@dataclass(frozen=True, slots=True)
class HeartbeatOptions:
    """How much silence is suspicious."""

    interval_s: float = 0.5
    """Between two heartbeats."""
    silent_s: float = GeneratorOptions.generator_hang_s
    """Silence that makes a process hang; more for a model whose calls were measured to be slow."""

    def call_limit_s(self, stats: EngineStats) -> float:
        """Most seconds that one native call of this model may take."""
        dearest_us = max((stats.prefill_us, *stats.step_us))
        return max(self.silent_s, CALL_COSTS * dearest_us / 1e6)

    def encode_limit_s(self, stats: EngineStats) -> float:
        """Most seconds that a picture of this model may take."""
        return max(self.silent_s, CALL_COSTS * stats.encode_us / 1e6)


async def hang(heartbeats: AsyncIterator[EngineStats], options: HeartbeatOptions) -> str:
    """Wait until the process that sends these heartbeats hangs.

    Returns:
        How it hangs, in words.

    Raises:
        StopAsyncIteration: there are no more heartbeats; or whatever reading them raises.
    """
    reading = asyncio.ensure_future(anext(heartbeats))
    watched = _Watched(options)
    silent_s = 0.0
    try:
        while silent_s < options.silent_s:
            done, _ = await asyncio.wait({reading}, timeout=options.interval_s)
            if not done:
                silent_s += options.interval_s
                continue
            silent_s = 0.0
            if stuck := watched.stuck(reading.result()):
                return stuck
            reading = asyncio.ensure_future(anext(heartbeats))
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await reading
    return f"no heartbeat for {silent_s:.1f} s"


class _Watched:
    """For how long heartbeats have shown the same call, and the same picture being encoded."""

    def __init__(self, options: HeartbeatOptions) -> None:
        self._options = options
        self._before = EngineStats()
        self._in_call_s = self._encoding_s = 0.0

    def stuck(self, stats: EngineStats) -> str:
        """Take in a heartbeat: how the engine hangs, in words; empty where it does not."""
        before, self._before = self._before, stats
        at_work = stats.busy or stats.pending > 0
        self._in_call_s = self._longer(self._in_call_s, at_work and stats.beat == before.beat)
        self._encoding_s = self._longer(self._encoding_s, stats.encoding_us >= before.encoding_us > 0)
        limit_s = self._options.call_limit_s(stats)
        if self._in_call_s > limit_s:
            where = "in one call" if stats.busy else "silent with work to do"
            return f"its engine has been {where} for {self._in_call_s:.1f} s, more than {limit_s:.1f} s"
        limit_s = self._options.encode_limit_s(stats)
        # One picture after the other may look like one: it says itself how long it has taken.
        spent_s = min(self._encoding_s, stats.encoding_us / 1e6)
        if spent_s > limit_s:
            return f"a picture has been encoded for {spent_s:.1f} s, more than {limit_s:.1f} s"
        return ""

    def _longer(self, seconds: float, goes_on: bool) -> float:
        return seconds + self._options.interval_s if goes_on else 0.0
