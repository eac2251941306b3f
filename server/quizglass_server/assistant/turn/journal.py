"""What happened in a turn: its events, its evidence, what each stage cost and what was skipped.

Knows no models and no policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter

from quizglass import values
from quizglass.values import (
    AnswerDelta,
    Confirmed,
    EvidenceFound,
    Origin,
    Plan,
    PlanMade,
    Provisional,
    SkippedStep,
    StageTiming,
    StepEnded,
    TurnEvent,
    Withdrawn,
)
from quizglass_server.assistant.turn.branches import current_branch, current_round
from quizglass_server.assistant.turn.stages import noted
from quizglass_server.domain.turns import Evidence, StepDetail
from quizglass_server.observe import tracing
from quizglass_server.scheduling.clock import stage_clock
from quizglass_server.steps.language.wording import same_wording
from quizglass_server.steps.step import Telling

_Identity = tuple[Origin, str, str]

MOST_DETAILS = 24
"""Most inputs of a step that are reported, and most results."""


@dataclass(slots=True)
class Span:
    """When a stage ran, in seconds; `started` since the turn was accepted."""

    stage: str
    started: float
    duration: float = 0.0
    engine: float = 0.0


class Journal:
    """The record of one turn; its clock starts when the turn is accepted.

    Args:
        emit: takes each event, in order.
        explains: whether every step is reported; if not, nothing is collected for that.
    """

    def __init__(self, emit: Callable[[TurnEvent], None], *, explains: bool = False) -> None:
        self._emit = emit
        self._explains = explains
        self._began = perf_counter()
        self._steps: list[StepEnded] = []
        """Steps that are reported once the evidence that they found has its number."""
        self._begun = False
        self._waiting: list[Evidence] = []
        self.evidence: list[Evidence] = []
        self.skipped: list[SkippedStep] = []
        self.timings: list[StageTiming] = []
        self.plan: Plan | None = None
        """The latest plan."""
        self.searched = False
        """Whether a lookup was asked for, whatever came of it."""
        self._provisional: str | None = None
        self.answering = False
        """Whether any piece of an answer was sent."""
        self.prompt_tokens = 0
        """Tokens that models were given to read."""
        self.written_tokens = 0
        """Tokens that models wrote."""

    def emit(self, event: TurnEvent) -> None:
        """Tell of an event."""
        if isinstance(event, PlanMade):
            self.plan = event.plan
        self.answering = self.answering or isinstance(event, AnswerDelta)
        here, branch = current_round(), current_branch()
        self._emit(replace(event, round=here, branch=branch) if here or branch else event)
        self._begun = True
        waiting, self._waiting = self._waiting, []
        self.found(waiting)

    def found(self, items: Sequence[Evidence]) -> list[Evidence]:
        """Number evidence ("1", "2", ... within the turn), keep it, and tell what is new.

        What an earlier search found keeps its number, and is sent again only when the generator is first shown it.
        """
        earlier = {_identity(item): place for place, item in enumerate(self.evidence)}
        numbered, told = [], []
        for item in items:
            place = earlier.get(_identity(item))
            if place is None:
                now = replace(item, id=str(len(self.evidence) + 1))
                self.evidence.append(now)
                told.append(now)
            else:
                before = self.evidence[place]
                now = replace(item, id=before.id)
                if now.used and not before.used:
                    self.evidence[place] = now
                    told.append(now)
            numbered.append(now)
        self._tell_steps()
        if told:
            self.emit(EvidenceFound(tuple(told)))
        return numbered

    def came_along(self, item: Evidence) -> None:
        """Tell evidence that no search brought, such as words in the picture; never as the first event of the turn."""
        if self._begun:
            self.found([item])
        else:
            self._waiting.append(item)

    def propose(self, text: str) -> None:
        """Show an answer that may still be taken back, as `settle` or another proposal will say."""
        self.settle(None)
        if text.strip():
            self.emit(Provisional(text))
            self._provisional = text

    def settle(self, answer: str | None) -> None:
        """Confirm the proposed answer, if there is one, or withdraw it; None: there is no answer."""
        proposed, self._provisional = self._provisional, None
        if proposed is not None:
            self.emit(Confirmed() if answer is not None and same_wording(answer, proposed) else Withdrawn())

    def skip(self, step: str, reason: str, role: str = "", tell: Callable[[], Telling] | None = None) -> None:
        """Note a step that was left out before it began."""
        self.note_skipped(step, reason)
        self.ended(Span(step, self._now()), role, tell, reason)

    def note_skipped(self, step: str, reason: str) -> None:
        """Note a step for `Done.skipped`, once a round."""
        here = current_round()
        if all((skipped.step, skipped.round) != (step, here) for skipped in self.skipped):
            self.skipped.append(SkippedStep(step, reason, here))

    @contextmanager
    def stage(self, name: str) -> Iterator[Span]:
        """Time a stage, however it ends, together with the engines called inside."""
        span, here = Span(name, self._now()), current_round()
        with stage_clock() as clock, noted(name), tracing.stage(name) as traced:
            try:
                yield span
            finally:
                self.prompt_tokens += clock.tokens
                self.written_tokens += clock.written
                span.duration = self._now() - span.started
                span.engine = min(clock.us / 1e6, span.duration)
                self.timings.append(StageTiming(name, span.duration, span.engine, here))
                traced.used(span.engine, clock.tokens, clock.written)

    def ended(self, span: Span, role: str, tell: Callable[[], Telling] | None, reason: str = "") -> None:
        """Tell of a step, if the turn is to be explained: once the evidence that it brought has its number.

        Args:
            span: when it ran.
            role: what did it.
            tell: its inputs and results; only called when it is reported.
            reason: why it did not finish.
        """
        if not self._explains:
            return
        inputs, outputs = (tuple(islice(details, MOST_DETAILS)) for details in (tell() if tell else ((), ())))
        here, times = current_round(), (span.started, span.duration, span.engine)
        step = StepEnded(span.stage, role, *times, inputs, outputs, reason, round=here, branch=current_branch())
        self._steps.append(step)
        self._tell_steps()

    def close(self) -> None:
        """Tell of the steps whose evidence was never numbered: the turn ends."""
        self._tell_steps(all_of_them=True)

    def _tell_steps(self, *, all_of_them: bool = False) -> None:
        numbers = {_identity(item): item for item in self.evidence} if self._steps else {}
        waiting, self._steps = self._steps, []
        for step in waiting:
            outputs = tuple(_numbered(detail, numbers) for detail in step.outputs)
            if all_of_them or not any(map(_waits, outputs)):
                self._emit(replace(step, outputs=outputs))
            else:
                self._steps.append(step)

    def _now(self) -> float:
        return perf_counter() - self._began


def _waits(detail: values.StepDetail) -> bool:
    return isinstance(detail, StepDetail) and detail.evidence is not None and not detail.evidence_id


def _numbered(detail: values.StepDetail, numbers: Mapping[_Identity, Evidence]) -> values.StepDetail:
    evidence = detail.evidence if isinstance(detail, StepDetail) else None
    item = None if evidence is None else numbers.get(_identity(evidence))
    return detail if item is None else replace(detail, evidence_id=item.id)


def _identity(item: Evidence) -> _Identity:
    return (item.origin, item.entry_id, item.text)
