"""The generator stopped by `SIGSTOP` in the middle of streams: it must be noticed, and the next one serve.

With the patience of a server that is to notice it after a second; the setting `generator_hang_s` has more.
"""

from __future__ import annotations

import asyncio
import os
import signal
from time import perf_counter

from bench.engine.contenders.contender import PATIENCE_S, Ask, complete
from bench.engine.contenders.ours import Ours
from bench.engine.contenders.running import CONTEXT
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import starter
from bench.engine.figures import words
from bench.engine.server.kills import NEVER, serving, streams
from bench.results import at_most, measured
from bench.sections import Part
from quizglass_server.engines.generator.process.breaker import BreakerOptions
from quizglass_server.engines.generator.process.watch import WatchOptions
from quizglass_server.errors import QuizglassError

_SILENT_S = 1.0
_TOLD_S = 10.0
"""A caller that has heard nothing for so long was never told."""


async def run(setup: Setup) -> Part:
    """Hang after hang, each when the one before is mended."""
    hangs = setup.count(30, 2)
    patience = WatchOptions(interval_s=0.1, silent_s=_SILENT_S)
    breaker = BreakerOptions(deaths=NEVER, longest_delay_s=0.1)
    ours = await Ours.start(starter(setup.bundle), setup.threads, CONTEXT, watch=patience, breaker=breaker)
    told_s: list[float] = []
    again_s: list[float] = []
    untold = unrecovered = 0
    try:
        for number in range(hangs):
            setup.say(f"process: hang {number + 1} of {hangs}")
            await serving(ours)
            over = asyncio.Event()
            tasks, flowing = streams(ours, number, over)
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*(event.wait() for event in flowing))
            over.set()
            stopped = perf_counter()
            if ours.process.pid is not None:
                os.kill(ours.process.pid, signal.SIGSTOP)
            done, pending = await asyncio.wait(tasks, timeout=_TOLD_S)
            untold += len(pending)
            for task in pending:
                task.cancel()
            told_s += [at - stopped for task in done if (at := task.result()) is not None]
            try:
                await complete(ours, Ask(words(30, 10_000 * number + 7), 8))  # an answer may have no words
            except (QuizglassError, TimeoutError):
                unrecovered += 1
            again_s.append(perf_counter() - stopped)
    finally:
        await ours.close()
    rows = [
        at_most(f"{hangs} hangs: callers that were never told", untold, "streams", 0),
        at_most(f"{hangs} hangs: the next question without an answer", unrecovered, "questions", 0),
        measured(f"{hangs} hangs, noticed after {_SILENT_S:g} s: callers told", told_s, "s"),
        measured(f"{hangs} hangs, noticed after {_SILENT_S:g} s: the next question is answered", again_s, "s"),
    ]
    return Part(rows, {"told_s": told_s, "again_s": again_s})
