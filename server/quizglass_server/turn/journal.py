"""What happened in a turn: its events, its evidence, what each stage cost and what was skipped.

Knows no models and no policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter_ns

from quizglass_server.domain.turns import (
    AnswerDelta,
    Confirmed,
    Evidence,
    EvidenceFound,
    Origin,
    Plan,
    PlanMade,
    Provisional,
    SkippedStep,
    StageTiming,
    TurnEvent,
    Withdrawn,
)
from quizglass_server.scheduling.clock import EngineClock, stage_clock
from quizglass_server.steps.wording import same_wording
from quizglass_server.turn.branches import current_branch, current_round


class Journal:
    """The record of one turn.

    Args:
        emit: takes each event, in order.
    """

    def __init__(self, emit: Callable[[TurnEvent], None]) -> None:
        self._emit = emit
        self._begun = False
        self._waiting: list[Evidence] = []
        self.evidence: list[Evidence] = []
        self.skipped: list[SkippedStep] = []
        self.timings: list[StageTiming] = []
        self.plan: Plan | None = None
        """The last one that was made."""
        self.searched = False
        """Whether a lookup was asked for, whatever came of it."""
        self._provisional: str | None = None
        self.answering = False
        """Whether any piece of an answer was told."""
        self.prompt_tokens = 0
        """Of all that models were given to read."""

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
        """Number evidence ("1", "2", ... within the turn), keep it, and tell of it unless there is none.

        What an earlier search brought back keeps its number, and is told of again only when it is shown for the first
        time.
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
        if told:
            self.emit(EvidenceFound(tuple(told)))
        return numbered

    def came_along(self, item: Evidence) -> None:
        """Tell of evidence that nobody searched for, but never as the first event of the turn."""
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

    def skip(self, step: str, reason: str) -> None:
        """Note a step that was left out, once in a round."""
        here = current_round()
        if all((skipped.step, skipped.round) != (step, here) for skipped in self.skipped):
            self.skipped.append(SkippedStep(step, reason, here))

    @contextmanager
    def stage(self, name: str) -> Iterator[EngineClock]:
        """Time a stage, however it ends; engines called inside add to the clock."""
        started, here = perf_counter_ns(), current_round()
        with stage_clock() as clock:
            try:
                yield clock
            finally:
                self.prompt_tokens += clock.tokens
                duration = (perf_counter_ns() - started) / 1e9
                self.timings.append(StageTiming(name, duration, min(clock.us / 1e6, duration), here))


def _identity(item: Evidence) -> tuple[Origin, str, str]:
    return (item.origin, item.entry_id, item.text)
