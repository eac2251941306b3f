"""Work that the engine still does for a request that nobody waits for any more, in its own count of decode steps.

The first token needs no step beyond the prompt's and every other one step, so what the engine has counted in the end
beyond the tokens that its caller saw is what it did in vain: the step that was running, at most.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import aclosing
from random import Random
from time import monotonic

from bench.engine.contenders.contender import PATIENCE_S, Ask
from bench.engine.contenders.ours import Ours, parts
from bench.engine.contenders.running import CONTEXT
from bench.engine.contenders.setup import Setup
from bench.engine.figures import words
from bench.results import at_most, measured
from bench.sections import Part
from quizglass_server.engines.llama.link.prompt import Finished, Piece, Urgency

_TOKENS = 64
_PROMPT_WORDS = 40
_AMPLE_S = 5.0
"""Until the deadline when a request is sent: enough for all of its answer."""
_HELD_BEYOND_S = 0.02
_QUIET_S = 0.15
"""The engine has stopped when its count stands still for so long."""


async def run(setup: Setup) -> Part:
    """Cancelled in the middle of a stream, alone and for a new question, and deadlines in the middle of a stream.

    The 0.5B shape alone: a step of the starter's takes less time than a message to its caller, so a caller could not
    tell a step too many from a token that is still on its way.
    """
    part = Part()
    trials, deadlines = setup.count(40, 3), setup.count(10, 2)
    for shape in (each for each in setup.shapes() if each.name != "starter"):
        ours = await Ours.start(shape, setup.threads, CONTEXT)
        try:
            cancelled = [await _cancelled(setup, ours, trial, trials) for trial in range(trials)]
            anew = [await _asked_anew(setup, ours, trial, trials) for trial in range(trials)]
            late = [await _deadline(setup, ours, trial, deadlines) for trial in range(deadlines)]
        finally:
            await ours.close()
        steps = [count for count, _ in late]
        part.rows += [
            at_most(f"{shape.name}: decode steps after a cancel, most of {trials}", max(cancelled), "steps", 1),
            at_most(f"{shape.name}: decode steps after a new question, most of {trials}", max(anew), "steps", 1),
            at_most(f"{shape.name}: decode steps after a deadline, most of {deadlines}", max(steps), "steps", 1),
            measured(f"{shape.name}: told after a deadline that passed", [1e3 * beyond for _, beyond in late], "ms"),
        ]
        part.data[shape.name] = {"cancelled": cancelled, "anew": anew, "deadline": steps}
    return part


async def _cancelled(setup: Setup, ours: Ours, trial: int, trials: int) -> int:
    """Steps beyond those of the tokens that came before the caller left."""
    setup.say(f"cancel {trial + 1} of {trials}")
    ask = Ask(words(_PROMPT_WORDS, 7000 + trial), _TOKENS)
    prompt = await _prompt_steps(ours, ask)
    before = await _steps(ours)
    seen = await _leave(ours, ask, Random(trial).randrange(2, _TOKENS // 2))
    return await _quiet(ours) - before - prompt - (seen - 1)


async def _asked_anew(setup: Setup, ours: Ours, trial: int, trials: int) -> int:
    """Steps beyond those of the tokens that came before the caller left for a new question, and of that one.

    The new one is answered with one token, for which a step beyond its prompt's would be the old one's.
    """
    setup.say(f"new question {trial + 1} of {trials}")
    old, new = Ask(words(_PROMPT_WORDS, 7500 + trial), _TOKENS), Ask(words(_PROMPT_WORDS, 9000 + trial), 1)
    prompts = await _prompt_steps(ours, old) + await _prompt_steps(ours, new)
    before = await _steps(ours)
    seen = await _leave(ours, old, Random(trial).randrange(2, _TOKENS // 2))
    await _leave(ours, new, 2)  # to its end
    return await _quiet(ours) - before - prompts - (seen - 1)


async def _leave(ours: Ours, ask: Ask, wanted: int) -> int:
    """Ask, and leave when so many tokens have come, or all; how many that were."""
    seen = 0
    client = await ours.process.client()
    async with asyncio.timeout(PATIENCE_S), aclosing(client.generate(parts(ask), ask.tokens)) as stream:
        async for item in stream:
            seen += isinstance(item, Piece)
            if seen == wanted:
                break
    return seen


async def _deadline(setup: Setup, ours: Ours, trial: int, trials: int) -> tuple[int, float]:
    """Steps beyond those of the tokens that came before the deadline, and seconds until the caller was told.

    A deadline that cannot be met is refused at once, so the process is held up until one is over that could have been.
    """
    setup.say(f"deadline {trial + 1} of {trials}")
    ask = Ask(words(_PROMPT_WORDS, 8000 + trial), _TOKENS)
    prompt = await _prompt_steps(ours, ask)
    wanted = Random(trial).randrange(2, _TOKENS // 2)
    before = await _steps(ours)
    until = monotonic() + _AMPLE_S
    items: list[Piece | Finished] = []
    enough = asyncio.Event()

    async def read() -> float:
        """All items; when the last one came."""
        client = await ours.process.client()
        async with aclosing(client.generate(parts(ask), ask.tokens, Urgency(deadline=until))) as stream:
            async for item in stream:
                items.append(item)
                if len(items) >= wanted:
                    enough.set()
        return monotonic()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        await enough.wait()
        seen, resumed = await _hold_up(ours, until, items)
    end = items[-1]
    if not isinstance(end, Finished) or end.reason != "deadline":
        raise RuntimeError(f"a deadline that passed ended with {end}")
    return await _quiet(ours) - before - prompt - (seen - 1), reading.result() - resumed


async def _hold_up(ours: Ours, until: float, items: list[Piece | Finished]) -> tuple[int, float]:
    """Stop the process until the deadline is over: how many items it had sent by then, and when it went on."""
    pid = ours.process.pid
    if pid is None:
        raise RuntimeError("the generator process is gone")
    os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(until - monotonic() + _HELD_BEYOND_S)
        seen = len(items)  # with those that were on their way when it stopped
    finally:
        os.kill(pid, signal.SIGCONT)
    return seen, monotonic()


async def _prompt_steps(ours: Ours, ask: Ask) -> int:
    """What the prompt alone takes once it is kept, as it is when it is asked again."""
    steps = 0
    for _ in range(2):
        before = await _steps(ours)
        client = await ours.process.client()
        async with asyncio.timeout(PATIENCE_S), aclosing(client.generate(parts(ask), 1)) as stream:
            async for _item in stream:
                pass
        steps = await _quiet(ours) - before
    return steps


async def _steps(ours: Ours) -> int:
    return (await (await ours.process.client()).stats()).decode_steps


async def _quiet(ours: Ours) -> int:
    """The count once it stands still."""
    async with asyncio.timeout(PATIENCE_S):
        count = await _steps(ours)
        while True:
            await asyncio.sleep(_QUIET_S)
            now = await _steps(ours)
            if now == count:
                return count
            count = now
