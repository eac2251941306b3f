"""Where a turn's milliseconds go, by plan: every one of them is in one row.

Turns are explained, so that each step tells when it ran; that costs a millisecond or two, which stands where it falls.
A moment in which several steps ran is shared among them. What no step covers is the event loop's, or was spent waiting
for a core; what the client waits beyond the turn is its own, gRPC's, and the frame's way to the server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from rich.console import Console
from rich.table import Table

from bench.latency.setup import OURS, Setup
from bench.latency.timed import PLANS, WARM_UP, ask, frame_of
from bench.results import Row
from bench.sections import Part
from quizglass.values import StepEnded
from quizglass_client import Answer, Client

GROUPS = {
    "decode": "decoding the frame",
    "gate": "words looked for",
    "read": "words read",
    "plan": "deciders",
    "act": "deciders",
    "judge": "deciders",
    "detect": "detector",
    "embed": "encoders and search",
    "image_search": "encoders and search",
    "text_search": "encoders and search",
    "links": "encoders and search",
    "rerank": "reranker",
    "verify": "check of the answer",
}
"""Of each step; the others are the generator's."""
GENERATOR, BETWEEN, BEYOND = "generator", "between steps: event loop, waiting for a core", "client and gRPC"
TOTAL = "total"

Spans = Mapping[str, tuple[float, float]]
"""Row to milliseconds, and those of them inside engines."""


def run(setup: Setup) -> Part:
    """Ask explained turns, and account for each."""
    found: dict[str, list[Spans]] = {plan: [] for plan in PLANS}
    trial = setup.trial()
    questions = trial.questions[: setup.count(400, 40)]
    with setup.server(OURS) as server, Client(server.target, timeout=120) as client:
        for number, question in enumerate(questions):
            setup.say(f"spans: question {number + 1} of {len(questions)}")
            turn, answer = ask(client, question, frame_of(question), explain=True)
            if number >= WARM_UP and turn.plan:
                found[turn.plan].append(spans(answer, turn.waited))
    table = {plan: means(turns) for plan, turns in found.items() if turns}
    counts = {plan: len(turns) for plan, turns in found.items()}
    show(table, counts)
    rows = [Row(f"explained turn planned {plan}, mean", of[TOTAL][0], "ms") for plan, of in table.items()]
    return Part(rows, {"turns": counts, "table": table})


def spans(answer: Answer, waited: float) -> Spans:
    """Every millisecond of a turn.

    Args:
        answer: explained.
        waited: milliseconds that its client waited.
    """
    taken: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    steps = [step for step in answer.steps if step.duration]
    begins = min((step.started for step in steps), default=0.0)
    ends = answer.done.total
    edges = sorted({begins, ends, *(step.started for step in steps), *(_end(step) for step in steps)})
    for low, high in pairwise(edges):
        running = [step for step in steps if step.started <= low and _end(step) >= high]
        for step in running:
            share = 1e3 * (high - low) / len(running)
            row = taken[GROUPS.get(step.name, GENERATOR)]
            row[0] += share
            row[1] += share * min(1.0, step.engine / step.duration)
        if not running:
            taken[BETWEEN][0] += 1e3 * (high - low)
    covered = sum(ms for ms, _ in taken.values())
    taken[BEYOND][0] = waited - covered
    return {row: (ms, engine) for row, (ms, engine) in taken.items()}


def means(turns: Sequence[Spans]) -> dict[str, tuple[float, float]]:
    """Of all turns, those without the row too: only so the rows add up."""
    rows = list(dict.fromkeys([*GROUPS.values(), GENERATOR, BETWEEN, BEYOND]))
    found = {row: tuple(fmean(turn.get(row, (0.0, 0.0))[side] for turn in turns) for side in (0, 1)) for row in rows}
    total, engines = (sum(of[side] for of in found.values()) for side in (0, 1))
    return {TOTAL: (total, engines), **{row: (of[0], of[1]) for row, of in found.items()}}


def show(table: Mapping[str, Spans], counts: Mapping[str, int]) -> None:
    """Print it: milliseconds, and in brackets those inside engines."""
    shown = Table("mean ms (inside engines)", *(f"{plan} ({counts[plan]})" for plan in table))
    for row in next(iter(table.values()), {}):
        cells = (table[plan][row] for plan in table)
        shown.add_row(row, *(f"{ms:.1f} ({engine:.1f})" if engine else f"{ms:.1f}" for ms, engine in cells))
    Console(width=120).print(shown)


def _end(step: StepEnded) -> float:
    return step.started + step.duration
