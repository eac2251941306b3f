"""What each of the engine's finer parts earns: the same work with it and without it.

A session is two generator processes, a whole one and one without a part, that take turns on the same prompts and
pictures: one session a part, and one in which nothing is left out. What the whole processes of different sessions
differ by is the spread that a part must beat in some measure. Sessions are bounded in time and kept as soon as they
end, so that an interrupted run of the same code goes on with --resume; models that are not asked for keep theirs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import isfinite, nan
from pathlib import Path
from statistics import fmean, median
from time import perf_counter

import quizglass_server
from bench.busy import busy
from bench.engine.contenders.contender import Ask, Contender, complete, in_turn, together, wall
from bench.engine.contenders.ours import Ours, new_picture
from bench.engine.contenders.running import ANSWER_TOKENS, CONTEXT, long_prompts
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.figures import percentile
from bench.engine.generator.lesser_child import FULL, PARTS
from bench.engine.generator.pictures import disturbed
from bench.fingerprints import code
from bench.results import Row
from bench.sections import Part, Store

_CHILD = Path(__file__).with_name("lesser_child.py")
_MODELS = ("starter", "0.5B")
_STREAMS, _AGAIN = 4, 3
"""Prompts that nobody has seen, and how many of them are asked again."""
_STREAM_TOKENS = {"starter": 60}
"""Of the stream that is disturbed; the starter hardly ever writes more."""
_LONG_STREAM = 48
_PICTURE_TOKENS = 8
_BUSY_START = {"costs kept up to date"}
"""The part for a machine that was busy when the engine measured itself: both processes of its session begin so."""
_QUESTIONS = ("What is this?", "Who made the thing in the picture?")
_LATER = "What colour is it?"
_SESSION_S = 90.0
"""A session that takes longer is ended; what it has measured counts."""
_STUCK = 3
"""A process without its part did not finish if it was at work for so many times what the whole one takes."""
_ROUNDS_S = 75.0
"""No round begins that would end later."""
_LEAST_SPREAD = 0.02
"""Of any measure, however alike the processes happen to be."""
MEASURES = {
    "wall": (f"{_STREAMS} text streams, wall", "s"),
    "first": (f"{_STREAMS} text streams, mean first token", "s"),
    "stall": (f"{_STREAMS} text streams, longest gap between tokens", "s"),
    "again": (f"{_AGAIN} of them asked again, wall", "s"),
    "both": ("two questions about a new picture at once, mean first token", "s"),
    "second": ("another question about it, first token", "s"),
    "gap": ("gap beside a picture, p99", "s"),
}


@dataclass
class Session:
    """What a whole process and one without a part took: by measure, seconds of each round."""

    whole: dict[str, list[float]] = field(default_factory=dict)
    lesser: dict[str, list[float]] = field(default_factory=dict)
    unfinished: str = ""
    """What went wrong."""


@dataclass(frozen=True)
class _Work:
    """What both processes of a session do in one round."""

    asks: Sequence[Ask]
    stream: Ask
    side: int
    round_: int


async def run(setup: Setup) -> Part:
    """Every part, for the models that are asked for; rows of these and of those that were measured before."""
    store = Store(setup.folder / ("without-quick" if setup.quick else "without"))
    for shape in setup.shapes():
        await _of_shape(setup, shape, store)
    part = Part()
    for model in _MODELS:
        sessions = {name: session for name in PARTS if (session := _kept(store, model, name)) is not None}
        part.rows += rows(model, sessions)
        part.data[model] = {name: vars(session) for name, session in sessions.items()}
    return part


async def _of_shape(setup: Setup, shape: Shape, store: Store) -> None:
    how = {"code": code(quizglass_server)}
    for name in PARTS:
        kept = store.load(_file(shape.name, name))
        if not setup.resume or (kept is not None and kept[1] != how):
            store.forget(_file(shape.name, name))
    if not (todo := [name for name in PARTS if _kept(store, shape.name, name) is None]):
        return
    tokens = _STREAM_TOKENS.get(shape.name, _LONG_STREAM)
    prompts = await long_prompts(setup, shape, setup.rounds * _STREAMS)
    streams = await long_prompts(setup, shape, setup.rounds, tokens)
    work = [
        _Work([Ask(prompts.pop(), ANSWER_TOKENS) for _ in range(_STREAMS)], Ask(stream, tokens), shape.side, index)
        for index, stream in enumerate(streams)
    ]
    for number, name in enumerate(todo, 1):
        say = partial(_say, setup, f"{shape.name}: {number} of {len(todo)}, without {name}")
        session = await _session(setup, shape, name, work, say)
        if session.unfinished or session.lesser:
            say(session.unfinished or "measured")
            store.save(_file(shape.name, name), Part(data=vars(session)), how)
        else:
            say("nothing measured: the machine is too busy")


def _say(setup: Setup, where: str, what: str) -> None:
    setup.say(f"{where}: {what}")


def _file(model: str, name: str) -> str:
    return f"{model}-{'-'.join(name.split())}"


def _kept(store: Store, model: str, name: str) -> Session | None:
    record = store.load(_file(model, name))
    return None if record is None else Session(**record[0].data)


async def _session(setup: Setup, shape: Shape, name: str, work: Sequence[_Work], say: partial[None]) -> Session:
    """Start both, and let them take turns for as many rounds as there is time for."""
    session = Session()
    processes: list[Ours] = []
    spent: dict[str, float] = {}
    began = perf_counter()

    async def turn(process: Contender, work: _Work) -> None:
        turn_began = perf_counter()
        try:
            await _round(process, session, work)
        finally:
            spent[process.name] = perf_counter() - turn_began

    try:
        async with asyncio.timeout(_SESSION_S):
            async with busy(setup.threads, 0) if name in _BUSY_START else nullcontext():
                for process, part in (("whole", FULL), ("lesser", name)):
                    say(f"starting the {process} one")
                    processes.append(await _start(setup, shape, part))
                    processes[-1].name = process
            for each in work:
                round_began = perf_counter()
                say(f"round {each.round_ + 1} of at most {len(work)}")
                await in_turn(processes, each.round_, partial(turn, work=each))
                now = perf_counter()
                if now - began + now - round_began > _ROUNDS_S:
                    break
    except TimeoutError:
        lesser, whole = spent.get("lesser", 0.0), spent.get("whole", 0.0)
        if whole and lesser > _STUCK * whole:
            session.unfinished = f"not done after {lesser:.0f} s, where the whole one takes {whole:.0f}"
    except Exception as error:  # it may be the part's absence that breaks it, which is worth a row
        cause = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
        session.unfinished = f"{type(cause).__name__}: {cause}"
    finally:
        for running in processes:
            await running.close()
    return session


async def _start(setup: Setup, shape: Shape, part: str) -> Ours:
    return await Ours.start(shape, setup.threads, CONTEXT, program=(sys.executable, "-P", str(_CHILD), part))


async def _round(contender: Contender, session: Session, work: _Work) -> None:
    """One round of one of them; what has been measured counts, also when it is ended in between."""
    took = session.whole if contender.name == "whole" else session.lesser

    def note(measure: str, seconds: float) -> None:
        if isfinite(seconds):  # some answers have no token
            took.setdefault(measure, []).append(seconds)

    timed = await together(contender, work.asks)
    note("wall", wall(timed))
    note("first", fmean(each.first for each in timed))
    note("stall", max((b - a for each in timed for a, b in pairwise(each.times)), default=nan))
    note("again", wall(await together(contender, work.asks[:_AGAIN])))
    picture = new_picture(work.side, work.round_)
    both = await together(contender, [Ask(question, _PICTURE_TOKENS, picture) for question in _QUESTIONS])
    note("both", fmean(each.first for each in both))
    note("second", (await complete(contender, Ask(_LATER, _PICTURE_TOKENS, picture))).first)
    gaps = await disturbed(contender, work.stream, work.side, work.round_ + 1)
    note("gap", percentile(gaps, 0.99))


def rows(model: str, sessions: Mapping[str, Session]) -> list[Row]:
    """Of each part the measure that suffers most without it, and whether by more than the spread."""
    spread = _spreads(sessions)
    table = []
    for name, session in sessions.items():
        ratio = {
            measure: median(session.lesser[measure]) / median(session.whole[measure])
            for measure in spread
            if session.lesser.get(measure) and session.whole.get(measure)
        }
        if session.unfinished:
            table.append(Row(f"{model}: without {name} (earns; did not finish)", None, "", session.unfinished))
        if not ratio or name == FULL:
            continue
        worst = max(ratio, key=lambda measure: (ratio[measure] - 1) / spread[measure])
        earns = "earns" if ratio[worst] > 1 + spread[worst] else "earns nothing"
        what, unit = MEASURES[worst]
        label = f"{model}: without {name} ({earns}; spread {spread[worst]:.0%}): {what}"
        without, with_ = median(session.lesser[worst]), median(session.whole[worst])
        table.append(Row(label, without, unit, "with", with_, ratio[worst]))
    return table


def _spreads(sessions: Mapping[str, Session]) -> dict[str, float]:
    """By measure, how far two whole processes that began alike are usually apart: nine times of ten by no more."""
    spreads = {}
    alike = [session for name, session in sessions.items() if name not in _BUSY_START]
    for measure in MEASURES:
        medians = [median(values) for each in alike if (values := each.whole.get(measure))]
        if (full := sessions.get(FULL)) is not None and (values := full.lesser.get(measure)):
            medians.insert(1, median(values))
        apart = [abs(later / earlier - 1) for earlier, later in pairwise(medians)]
        if medians:
            spreads[measure] = max(percentile(apart, 0.9) if apart else 0.0, _LEAST_SPREAD)
    return spreads
