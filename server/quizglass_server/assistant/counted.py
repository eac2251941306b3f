"""Counts a turn and spans it in its trace, from what it tells and how it ends; the latest are kept for `explain`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, time

from quizglass.values import AbstainReason, AnswerDelta, Done, PlanMade, Provisional, TurnEvent
from quizglass_server.errors import (
    BudgetExceeded,
    EngineFailed,
    EngineLost,
    FilterFailed,
    KnowledgeFailed,
    QuizglassError,
    Unexpected,
)
from quizglass_server.network.login import current_login
from quizglass_server.observe import metrics, tracing
from quizglass_server.observe.recent import RECENT, RecentTurn

_FAILURES = (EngineLost, EngineFailed, KnowledgeFailed, FilterFailed, BudgetExceeded)
"""What is no fault of the request."""


@contextmanager
def counted(id: str, policy: str, tell: Callable[[TurnEvent], None]) -> Iterator[Callable[[TurnEvent], None]]:
    """Run a turn in the block, which hands its events to what this gives; they are passed on to `tell`."""
    turn = _Turn(policy, tell)
    with tracing.turn(id, policy) as span:
        try:
            yield turn.tell
        except BaseException as error:
            turn.failed(error)
            raise
        finally:
            span.ended(turn.plan, turn.outcome, turn.reason)
            metrics.TURNS.add(policy, turn.plan, turn.outcome)
            if metrics.collected():
                RECENT.append(turn.told(id))


class _Turn:
    def __init__(self, policy: str, tell: Callable[[TurnEvent], None]) -> None:
        self._policy = policy
        self._tell = tell
        self._began = perf_counter()
        self._first_words: float | None = None
        self._end: Done | None = None
        self.plan = ""
        self.outcome = "failed"
        self.reason = ""

    def failed(self, error: BaseException) -> None:
        """Note why there is no answer; where its end was told, there is one, and its client may have left since."""
        if self._end is not None:
            return
        if isinstance(error, asyncio.CancelledError):
            self.outcome = "cancelled"
        elif isinstance(error, QuizglassError):
            self.outcome = "failed" if isinstance(error, _FAILURES) else "refused"
            self.reason = error.code
        else:
            self.outcome, self.reason = "failed", Unexpected.code

    def tell(self, event: TurnEvent) -> None:
        """Pass an event on, then count what it says."""
        self._tell(event)
        if isinstance(event, AnswerDelta | Provisional) and self._first_words is None:
            self._first_words = perf_counter() - self._began
            metrics.FIRST_WORDS_SECONDS.observe(self._first_words, self._policy)
        elif isinstance(event, PlanMade):
            self.plan = event.plan.value if event.plan else ""
        elif isinstance(event, Done):
            self._done(event)

    def told(self, id: str) -> RecentTurn:
        """The report on the turn once it has ended."""
        timings, skipped = (self._end.timings, self._end.skipped) if self._end else ((), ())
        how = self._policy, self.plan, self.outcome, self.reason, perf_counter() - self._began, self._first_words
        stages = tuple((took.stage, took.duration, took.engine) for took in timings)
        left_out = tuple((each.step, each.reason) for each in skipped)
        return RecentTurn(id, time(), current_login().name, *how, stages, left_out)

    def _done(self, done: Done) -> None:
        self._end, self.reason = done, done.abstain_reason.value
        self.outcome = "answered" if done.abstain_reason is AbstainReason.NONE else "abstained"
        metrics.TURN_SECONDS.observe(perf_counter() - self._began, self._policy)
        for took in done.timings:
            metrics.STAGE_SECONDS.observe(took.duration, took.stage)
            if took.engine:
                metrics.ENGINE_SECONDS.observe(took.engine, took.stage)
        for left_out in done.skipped:
            metrics.SKIPPED.add(left_out.step, left_out.reason)
