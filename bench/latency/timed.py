"""One turn as its client saw it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from PIL import Image

from bench.worlds import picture
from quizglass_client import Answer, AnswerDelta, Client, Event
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.answers import exact_match

PLANS = ("none", "image", "text", "both")
WARM_UP = 12
"""First turns of a server, which are not counted."""
_BUDGET_S = 60
_GATE, _READING, _PLANNING, _DETECTING, _EMBEDDING = "gate", "read", "plan", "detect", "embed"


class TimedTurn:
    """One turn as the client saw it, in milliseconds."""

    def __init__(self, answer: Answer, waited: float, first: float | None) -> None:
        self.plan = str(answer.plan.plan) if answer.plan else ""
        self.text = answer.done.answer
        self.waited = waited
        self.first = first
        """To the first piece of the answer; None when there was none."""
        self.stages: dict[str, tuple[float, float]] = {}
        """What a stage took and what of it was inside engines, all times together that it ran."""
        for t in answer.done.timings:
            took, engine = self.stages.get(t.stage, (0.0, 0.0))
            self.stages[t.stage] = took + t.duration * 1e3, engine + t.engine * 1e3
        self._engines = [(t.stage, t.engine * 1e3) for t in answer.done.timings]
        """One for each run of a stage, in the order in which they ended."""

    @property
    def own(self) -> float:
        """Waited beyond the engines. Of those that worked beside each other, the side that worked longer counts.

        While the gate and the reader look for words, a plan is made as if there were none, and where words are read
        the picture is looked up meanwhile. All else follows one after the other.
        """
        looking = self._engine(_GATE) + self._engine(_READING)
        beside = self._engine(_DETECTING) + self._engine(_EMBEDDING) if _READING in self.stages else 0.0
        if _GATE in self.stages:
            beside += next((engine for stage, engine in self._engines if stage == _PLANNING), 0.0)
        return self.waited - sum(engine for _, engine in self._engines) + min(looking, beside)

    def _engine(self, wanted: str) -> float:
        return self.stages.get(wanted, (0.0, 0.0))[1]


@dataclass(frozen=True)
class Pair:
    """A question, and the turn of each server about it."""

    question: Question
    of: dict[str, TimedTurn]

    def right(self, name: str) -> bool:
        """Whether a server's answer is exactly right after normalisation."""
        return exact_match(self.of[name].text, self.question.answer, self.question.aliases)


def ask(client: Client, question: Question, frame: bytes, *, explain: bool = False) -> tuple[TimedTurn, Answer]:
    """Ask, and time it."""
    return ask_of(client, question.text, frame, history=question.history, explain=explain)


def ask_of(
    client: Client, text: str, frame: bytes, *, history: Sequence[tuple[str, str]] = (), explain: bool = False
) -> tuple[TimedTurn, Answer]:
    """The same of any question."""
    events: list[Event] = []
    first = None
    began = perf_counter()
    for event in client.ask(text, frame, history=history, budget=_BUDGET_S, explain=explain):
        events.append(event)
        if first is None and isinstance(event.payload, AnswerDelta):
            first = (perf_counter() - began) * 1e3
    waited = (perf_counter() - began) * 1e3
    answer = Answer.of(events)
    return TimedTurn(answer, waited, first), answer


def frame_of(question: Question) -> bytes:
    """Its picture as a camera sends it, as JPEG."""
    out = io.BytesIO()
    Image.open(io.BytesIO(picture(question))).save(out, "JPEG", quality=90)
    return out.getvalue()
