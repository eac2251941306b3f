"""Tells a process that hangs from one that is busy.

Three things can go silent: the process as a whole (its event loop sends no heartbeat), its engine thread (inside one
native call for far longer than such calls take, or anywhere else with work to do), and the thread that encodes
pictures. Silence of the process is counted in this process's own ticks and not by the clock, so that being stopped
ourselves for an hour makes nobody else late.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

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
    silent_s = 0.0
    try:
        while silent_s < options.silent_s:
            done, _ = await asyncio.wait({reading}, timeout=options.interval_s)
            if not done:
                silent_s += options.interval_s
                continue
            silent_s = 0.0
            stats = reading.result()
            spent_s, limit_s = monotonic() - stats.beat, options.call_limit_s(stats)
            if spent_s > limit_s and (stats.busy or stats.active or stats.waiting):
                where = "in one call" if stats.busy else "silent with work to do"
                return f"its engine has been {where} for {spent_s:.1f} s, more than {limit_s:.1f} s"
            spent_s, limit_s = stats.encoding_us / 1e6, options.encode_limit_s(stats)
            if spent_s > limit_s:
                return f"a picture has been encoded for {spent_s:.1f} s, more than {limit_s:.1f} s"
            reading = asyncio.ensure_future(anext(heartbeats))
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await reading
    return f"no heartbeat for {silent_s:.1f} s"
