"""Counts a turn in the metrics, from what it tells and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from quizglass.values import AbstainReason, AnswerDelta, Done, PlanMade, Provisional, TurnEvent
from quizglass_server.errors import (
    BudgetExceeded,
    EngineFailed,
    EngineLost,
    FilterFailed,
    KnowledgeFailed,
    QuizglassError,
)
from quizglass_server.observe import metrics

_FAILURES = (EngineLost, EngineFailed, KnowledgeFailed, FilterFailed, BudgetExceeded)
"""What is no fault of the request."""


@contextmanager
def counted(policy: str, tell: Callable[[TurnEvent], None]) -> Iterator[Callable[[TurnEvent], None]]:
    """Run a turn in the block, which hands its events to what this gives; they are passed on to `tell`."""
    turn = _Turn(policy, tell)
    outcome = "failed"
    try:
        yield turn.tell
        outcome = turn.outcome
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    except QuizglassError as error:
        outcome = "failed" if isinstance(error, _FAILURES) else "refused"
        raise
    finally:
        metrics.TURNS.add(policy, turn.plan, outcome)


class _Turn:
    def __init__(self, policy: str, tell: Callable[[TurnEvent], None]) -> None:
        self._policy = policy
        self._tell = tell
        self._began = perf_counter()
        self._spoken = False
        self.plan = ""
        self.outcome = "failed"

    def tell(self, event: TurnEvent) -> None:
        """Pass an event on, then count what it says."""
        self._tell(event)
        if isinstance(event, AnswerDelta | Provisional) and not self._spoken:
            self._spoken = True
            metrics.FIRST_WORDS_SECONDS.observe(perf_counter() - self._began, self._policy)
        elif isinstance(event, PlanMade):
            self.plan = event.plan.value if event.plan else ""
        elif isinstance(event, Done):
            self._done(event)

    def _done(self, done: Done) -> None:
        self.outcome = "answered" if done.abstain_reason is AbstainReason.NONE else "abstained"
        metrics.TURN_SECONDS.observe(perf_counter() - self._began, self._policy)
        for took in done.timings:
            metrics.STAGE_SECONDS.observe(took.duration, took.stage)
            if took.engine:
                metrics.ENGINE_SECONDS.observe(took.engine, took.stage)
        for left_out in done.skipped:
            metrics.SKIPPED.add(left_out.step, left_out.reason)
