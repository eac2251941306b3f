"""What is gained by doing things at the same time: planning in parallel, several queries, memory beside evidence.

The two ways are measured by turns, on questions of their own: a second question about the same picture would find the
generator's prefix of the first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from statistics import median
from time import perf_counter
from typing import TypeVar

from bench.policies.given import PLANNING, busy_s
from bench.policies.stage import Setup, Stage, of_family
from bench.results import Row, against, ratio, spread
from bench.sections import Part
from quizglass_lab.pocketworld.questions import Question
from quizglass_server.assistant.turn.toolbox import Toolbox
from quizglass_server.policies.core_mmrag import from_evidence

One = TypeVar("One")
Two = TypeVar("Two")

_QUERIES = 4
_WARM_UP = 3


async def planning(setup: Setup, stage: Stage) -> Part:
    """Time in which CogPlanner reformulates or decides, of questions of three hops."""
    parallel, sequential = "cogplanner-parallel+", "cogplanner-sequential+"
    questions = of_family(stage.trial, "founder-birthplace", "both", 2 * (setup.count(100, 3) + _WARM_UP))
    times: dict[str, list[float]] = {parallel: [], sequential: []}
    for number, question in enumerate(questions):
        setup.say(f"planning: question {number + 1} of {len(questions)}")
        policy = (parallel, sequential)[number % 2]
        outcome = await stage.ask(question, policy)
        if number >= 2 * _WARM_UP:
            times[policy].append(busy_s(outcome.spans, PLANNING) * 1e3)
    ours, theirs = times[parallel], times[sequential]
    of = ratio(median(theirs), median(ours))
    name = f"planning time, sequential over parallel ({spread(theirs)})"
    peer = f"parallel ({spread(ours)})"
    ok = of is not None and of >= 1.1
    return Part([Row(name, median(theirs), "ms", peer, median(ours), of, ">= 1.1x peer", ok)], dict(times))


async def searches(setup: Setup, stage: Stage) -> Part:
    """Wall time of one text search with four queries, against one with one; no query comes twice."""
    asked = [q.gold_query for q in stage.trial.questions if q.hops]
    fresh = iter(dict.fromkeys(asked))
    four: list[float] = []
    one: list[float] = []
    question = stage.trial.questions[0]
    for number in range(setup.count(60, 3) + _WARM_UP):
        queries = [query for query, _ in zip(fresh, range(_QUERIES + 1), strict=False)]
        if len(queries) <= _QUERIES:
            break
        for chosen, times in ((queries[:_QUERIES], four), (queries[_QUERIES:], one))[:: 1 if number % 2 else -1]:
            async with stage.tools(question) as tools:
                taken = await _timed(lambda chosen=chosen, tools=tools: tools.search_text(chosen))  # type: ignore[misc]
            if number >= _WARM_UP:
                times.append(taken)
    name = f"text search with {_QUERIES} sub-queries"
    return Part([against(name, four, "ms", "one query", one, 1.7)], {"four": four, "one": one})


class _InTurn(Toolbox):
    """Branches one after the other."""

    async def together(self, one: Awaitable[One], two: Awaitable[Two]) -> tuple[One, Two]:
        return await one, await two


async def branches(setup: Setup, stage: Stage) -> Part:
    """Stages 1 to 3 of CoRe-MMRAG: memory beside choosing and answering from the entry; and with all before them."""
    pictured = by_turns(q for q in stage.trial.questions if q.hops and q.hops[0].action == "image")
    rows: list[Row] = []
    data: dict[str, list[float]] = {}
    for seen in (True, False):
        times: dict[type[Toolbox], list[float]] = {Toolbox: [], _InTurn: []}
        for number, (question, which) in enumerate(islice(pictured, 2 * (setup.count(60, 3) + _WARM_UP))):
            setup.say(f"branches: question {number + 1}")
            kind = (Toolbox, _InTurn)[which]
            taken = await _stages(stage, question, kind, seen=seen)
            if number >= 2 * _WARM_UP:
                times[kind].append(taken)
        name = "y_int beside choosing and y_ext" + ("" if seen else ", with reading, embedding and looking up")
        bar = 0.75 if seen else None
        rows.append(against(name, times[Toolbox], "ms", "one after the other", times[_InTurn], bar))
        data |= {name: times[Toolbox], f"{name}, in turn": times[_InTurn]}
    return Part(rows, data)


def by_turns(questions: Iterable[Question]) -> Iterator[tuple[Question, int]]:
    """Each question with the way that it goes to, 0 or 1: by turns among those that need the same.

    Kinds of questions come in turn themselves: of two ways that took every other one, each would get other kinds.
    """
    ways: dict[tuple[str | None, int], int] = {}
    for question in questions:
        needs = question.group, len(question.hops)
        ways[needs] = 1 - ways.get(needs, len(ways) % 2)
        yield question, ways[needs]


async def _stages(stage: Stage, question: Question, kind: type[Toolbox], *, seen: bool) -> float:
    """Milliseconds; `seen`: the picture is read, embedded and in the generator before."""
    async with stage.tools(question, kind) as tools:
        state = tools.start()
        if seen:
            await tools.search_image(limit=1)
            await tools.rewrite(state)
        return await _timed(lambda: tools.together(tools.write("answer", state), from_evidence(state, tools)))


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds that something takes."""
    began = perf_counter()
    await work()
    return (perf_counter() - began) * 1e3
