"""A script of a few lines beside the server: the same models, everything always looked up, one generation."""

from __future__ import annotations

from statistics import median
from time import perf_counter

from bench.latency.plain_script import PlainScript
from bench.latency.setup import OURS, Setup
from bench.latency.timed import WARM_UP, TimedTurn, ask, frame_of
from bench.results import Row, against
from bench.sections import Part
from bench.worlds import in_own_order
from quizglass_client import Client
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.answers import exact_match

_SCRIPT = "script"
_TIMES, _RIGHT_TIMES = 1.1, 2.0


def run(setup: Setup) -> Part:
    """Every question of both, in an order drawn for each."""
    questions = setup.trial().questions[: setup.count(400, 40)]
    took: dict[str, list[float]] = {OURS: [], _SCRIPT: []}
    right: dict[str, list[bool]] = {OURS: [], _SCRIPT: []}
    with (
        setup.server(OURS) as server,
        Client(server.target, timeout=120) as client,
        PlainScript(setup.bundle, setup.world) as script,
    ):

        def answer(name: str, question: Question, frame: bytes) -> str:
            if name == _SCRIPT:
                return script.answer(question.text, frame)
            turn: TimedTurn = ask(client, question, frame)[0]
            return turn.text

        for number, question in enumerate(questions):
            setup.say(f"beside a script: question {number + 1} of {len(questions)}")
            frame = frame_of(question)
            for name in in_own_order(question.id, (OURS, _SCRIPT)):
                began = perf_counter()
                text = answer(name, question, frame)
                waited = (perf_counter() - began) * 1e3
                if number < WARM_UP:
                    continue
                right[name].append(exact_match(text, question.answer, question.aliases))
                if question.group == "none":
                    took[name].append(waited)
    shares = {name: 100 * sum(of) / len(of) for name, of in right.items()}
    times = shares[OURS] / max(shares[_SCRIPT], 1e-9)
    title = "questions that need nothing looked up, p50"
    return Part(
        [
            against(title, took[OURS], "ms", "a script", took[_SCRIPT], _TIMES),
            Row(
                f"answers right of {len(right[OURS])}",
                shares[OURS],
                "%",
                "a script",
                shares[_SCRIPT],
                times,
                f">= {_RIGHT_TIMES:g}x peer",
                times >= _RIGHT_TIMES,
            ),
        ],
        {"took": took, "median_ms": {name: median(of) for name, of in took.items()}},
    )
