"""Tells a process that hangs from one that is busy.

Two things can go silent: the process as a whole, which then answers no request, and its engine, which then sends
nothing of the requests under way. An engine that computes is given more patience: a picture of a large model, or a long
prompt, may take a while. All of it is counted in checks, seen or missed, and not by the clock: when this process or
both are stopped for an hour, what was under way then is late by one check.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.config.settings import GeneratorOptions
from quizglass_server.errors import QuizglassError

COMPUTING = 12
"""So many times as long may an engine be silent that computes."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How much silence is suspicious."""

    interval_s: float = 0.5
    """Between two checks."""
    silent_s: float = GeneratorOptions.generator_hang_s
    """Silence that makes a process hang."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What is known of a process from outside."""

    pending: int
    """Requests under way."""
    heard: float
    """When the server last sent something of them; any clock."""
    processor_s: float
    """Processor time that it has had."""
    patience_s: float = 0.0
    """Silence that its requests put up with, if that is more than what is suspicious."""


async def hang(alive: Callable[[], Awaitable[None]], signs: Callable[[], Signs], options: WatchOptions) -> str:
    """Wait until a process hangs.

    Args:
        alive: returns when it answers; raises QuizglassError when it does not.
        signs: of its work now.
        options: how patient to be.

    Returns:
        How it hangs, in words.
    """
    missed_s = silent_s = computing_s = 0.0
    before = signs()
    while True:
        await asyncio.sleep(options.interval_s)
        try:
            async with asyncio.timeout(options.interval_s):
                await alive()
            missed_s = 0.0
        except (QuizglassError, TimeoutError):
            missed_s += 2 * options.interval_s
        now = signs()
        most_s = max(options.silent_s, now.patience_s) if now.pending else options.silent_s
        if missed_s >= most_s:
            return f"no answer for {missed_s:.1f} s"
        if not now.pending or now.heard != before.heard:
            silent_s = computing_s = 0.0
        elif now.processor_s > before.processor_s:
            computing_s += options.interval_s
        else:
            silent_s += options.interval_s
        if silent_s >= most_s or computing_s >= COMPUTING * most_s:
            return f"nothing of its {now.pending} requests for {silent_s + computing_s:.1f} s"
        before = now


def processor_s(pid: int) -> float:
    """Processor time that a process has had, seconds; ascending all the time where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return asyncio.get_running_loop().time()
