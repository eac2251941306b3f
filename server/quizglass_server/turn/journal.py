"""What happened in a turn: its events, its evidence, what each stage cost and what was skipped.

Knows no models and no policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter_ns

from quizglass_server.domain.turns import Evidence, EvidenceFound, SkippedStep, StageTiming, TurnEvent
from quizglass_server.scheduling.clock import EngineClock, stage_clock


class Journal:
    """The record of one turn.

    Args:
        emit: takes each event, in order.
    """

    def __init__(self, emit: Callable[[TurnEvent], None]) -> None:
        self.emit = emit
        self.evidence: list[Evidence] = []
        self.skipped: list[SkippedStep] = []
        self.timings: list[StageTiming] = []

    def found(self, items: Sequence[Evidence]) -> list[Evidence]:
        """Number evidence ("1", "2", ... within the turn), keep it, and tell of it unless there is none."""
        first = len(self.evidence) + 1
        numbered = [replace(item, id=str(first + position)) for position, item in enumerate(items)]
        self.evidence.extend(numbered)
        if numbered:
            self.emit(EvidenceFound(tuple(numbered)))
        return numbered

    def skip(self, step: str, reason: str) -> None:
        """Note a step that was left out, once."""
        if all(skipped.step != step for skipped in self.skipped):
            self.skipped.append(SkippedStep(step, reason))

    @contextmanager
    def stage(self, name: str) -> Iterator[EngineClock]:
        """Time a stage, however it ends; engines called inside add to the clock."""
        started = perf_counter_ns()
        with stage_clock() as clock:
            try:
                yield clock
            finally:
                duration_us = (perf_counter_ns() - started) // 1000
                self.timings.append(StageTiming(name, duration_us, min(clock.us, duration_us)))
