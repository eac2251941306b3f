"""Runs the steps of one turn inside its budget. Knows no models: a step is whatever can be awaited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

from quizglass_server.errors import BudgetExceeded, EngineLost, KnowledgeLost, Overloaded, RoleMissing
from quizglass_server.scheduling.budget import Budget
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.turn.journal import Journal

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

LAST_STEP = "generate"
"""The step that the others leave time for."""


class StepRunner:
    """Times steps, leaves out those that no longer fit, and cuts off those that take too long.

    What counts as left is the budget without the usual cost of generating: evidence that leaves no time for an answer
    is of no use.
    """

    def __init__(self, budget: Budget, costs: StepCosts, journal: Journal) -> None:
        self._budget = budget
        self._costs = costs
        self._journal = journal

    async def run(
        self, step: str, work: Callable[[], Awaitable[_Result]], *, optional: bool = False, last: bool = False
    ) -> _Result | None:
        """Run a step.

        Args:
            step: its name, as in timings and skipped steps.
            work: starts it.
            optional: whether the turn goes on without it when it fails.
            last: whether the answer is there already, so that no time is kept for one.

        Returns:
            Its result; None when it was left out (noted as BUDGET or FAILED), as is a search of a knowledge store
            that does not answer.

        Raises:
            EngineLost, RoleMissing: always passed on, optional or not.
            Exception: whatever a step that is not optional raises.
        """
        reserve = 0.0 if last else self._costs.usual(LAST_STEP)
        if not self._budget.fits(self._costs.usual(step) + reserve):
            self._costs.was_skipped(step)
            self._journal.skip(step, "BUDGET")
            return None
        started = monotonic()
        seconds = self._budget.left_s - reserve
        limit = asyncio.timeout(seconds)
        try:
            with self._journal.stage(step), due_within(seconds):
                async with limit:
                    result = await work()
        except (EngineLost, RoleMissing):
            raise
        except Exception as error:
            if isinstance(error, BudgetExceeded) or (isinstance(error, TimeoutError) and limit.expired()):
                self._costs.was_cut(step, monotonic() - started)
                self._journal.skip(step, "BUDGET")
            elif isinstance(error, Overloaded):
                self._journal.skip(step, "BUDGET")  # the engine does not begin what it cannot do in this time
            elif optional or isinstance(error, KnowledgeLost):  # an answer without lookups is better than none
                told = not isinstance(error, KnowledgeLost)  # that was logged once, when it was lost
                log.warning("step failed; the turn goes on without it", exc_info=told, extra={"step": step})
                self._journal.skip(step, "FAILED")
            else:
                raise
            return None
        self._costs.took(step, monotonic() - started)
        return result
