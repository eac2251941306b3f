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
    Evidence,
    EvidenceFound,
    Plan,
    PlanMade,
    SkippedStep,
    StageTiming,
    TurnEvent,
)
from quizglass_server.scheduling.clock import EngineClock, stage_clock
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
        self.answering = False
        """Whether any piece of an answer was told."""
        self.prompt_tokens = 0
        """Of all that the generator was given, where it says."""

    def emit(self, event: TurnEvent) -> None:
        """Tell of an event."""
        if isinstance(event, PlanMade):
            self.plan = event.decision.plan
        self.answering = self.answering or isinstance(event, AnswerDelta)
        here, branch = current_round(), current_branch()
        self._emit(replace(event, round=here, branch=branch) if here or branch else event)
        self._begun = True
        waiting, self._waiting = self._waiting, []
        self.found(waiting)

    def found(self, items: Sequence[Evidence]) -> list[Evidence]:
        """Number evidence ("1", "2", ... within the turn), keep it, and tell of it unless there is none."""
        first = len(self.evidence) + 1
        numbered = [replace(item, id=str(first + position)) for position, item in enumerate(items)]
        self.evidence.extend(numbered)
        if numbered:
            self.emit(EvidenceFound(tuple(numbered)))
        return numbered

    def came_along(self, item: Evidence) -> None:
        """Tell of evidence that nobody searched for, but never as the first event of the turn."""
        if self._begun:
            self.found([item])
        else:
            self._waiting.append(item)

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
                duration_us = (perf_counter_ns() - started) // 1000
                self.timings.append(StageTiming(name, duration_us, min(clock.us, duration_us), here))
