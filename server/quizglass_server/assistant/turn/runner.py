"""Runs the steps of one turn: the one place where they are timed, fitted into the budget, cut, learned and skipped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.errors import BudgetExceeded, EngineLost, KnowledgeLost, Overloaded, RoleMissing, SourceFailed
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.scheduling.priority import let_others_pass
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.steps.decide import VERIFICATION
from quizglass_server.steps.step import Step

logger = logging.getLogger(__name__)

P = ParamSpec("P")
Result = TypeVar("Result")

LAST_STEP = "generate"
"""The step that the others leave time for, unless a policy ends in others."""
_CLOSING_S, _CLOSING_SHARE = 0.05, 0.05
"""What the answer leaves for the verdict and the last messages: seconds, and share of the budget, at most."""

_PASSING_SHARE = 0.1
"""Share of the time that is left for which a step waits for others, at most."""
_ROOM = 1.1
"""Factor on the usual cost of steps for which time is left: a step that is cut off ends a moment later."""


class StepRunner:
    """Times steps, leaves out those that no longer fit, and cuts off those that take too long.

    Time for the answer is reserved: a step begins only if its usual cost and that of writing the answer fit into what
    is left of the budget. When time gets short, fine reranking is left out first, then further rounds, then
    verification: each begins only if those after it still fit, as far as there is time for them at all.

    Args:
        budget: time left; no step runs past it.
        resources: what fills the roles of steps, and what steps usually cost.
        journal: takes timings and skipped steps.
        needed_by: who asks for the steps, named in errors.
        ending: names of the steps that write the answer.
    """

    def __init__(
        self,
        budget: Budget,
        resources: Resources,
        journal: Journal,
        needed_by: str,
        ending: Sequence[str] = (LAST_STEP,),
    ) -> None:
        self._budget = budget
        self._resources = resources
        self._costs = resources.costs
        self._journal = journal
        self._needed_by = needed_by
        self._ending = ending
        self._tasks: list[asyncio.Task[Any]] = []
        self.next_round: Sequence[str] = ()
        """Steps, by name, of the round that may follow this one."""
        self.has_answer = False
        """Whether the policy has an answer already: then another one is left out if the engine has no room for it."""

    async def run(self, step: Step[Concatenate[Any, P], Result], *args: P.args, **kwargs: P.kwargs) -> Result | None:
        """Run a step with what fills its role.

        Returns:
            Its result; None when it was left out (noted as BUDGET or FAILED), as is a search of a knowledge store
            that does not answer, or when nothing fills the role of an optional step.

        Raises:
            RoleMissing: nothing fills the role of a step that is not optional.
            EngineLost: always passed on, optional or not.
            Exception: whatever a step that is not optional raises.
        """
        filling = self._resources.filling(step.role)
        if filling is not None:
            return await self.run_on(filling, step, *args, **kwargs)
        if step.optional:
            return None
        raise RoleMissing(step.role, self._needed_by)

    async def run_on(
        self, filling: object, step: Step[Concatenate[Any, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result | None:
        """As `run`, with `filling` in the role."""
        await let_others_pass(_PASSING_SHARE * self._budget.left_s)
        size, reserve = step.size(*args, **kwargs), self._reserve(step)
        result: Result | None = None
        if not self._begins(step, size, reserve):
            self._journal.skip(step.name, "BUDGET", step.role, lambda: step.told(None, *args, **kwargs))
            return None
        started, reason = self._budget.left_s, "CANCELLED"
        limit = asyncio.timeout(started - reserve)
        try:
            with self._journal.stage(step.name) as span, due_within(started - reserve):
                async with limit:
                    result = await step.work(filling, *args, **kwargs)
            self._costs.took(step.name, started - self._budget.left_s, size)
            reason = ""
        except Exception as error:
            reason = "FAILED"
            cut = isinstance(error, BudgetExceeded) or (isinstance(error, TimeoutError) and limit.expired())
            if cut:
                self._costs.was_cut(step.name, started - self._budget.left_s, size)
                reason = "BUDGET"
            else:
                reason = self._left_out(step, error)
            if not (step.answers and cut):  # an answer that was cut off is one
                self._journal.note_skipped(step.name, reason)
        finally:
            del limit  # which refers to the task; how a task was cancelled refers to this frame
            self._journal.ended(span, step.role, lambda: step.told(result, *args, **kwargs), reason)
        return result

    def fits(self, steps: Sequence[str], *, further: bool) -> bool:
        """Whether the usual cost of a round of these steps, by name, and of answering still fits.

        A further round also leaves time for verification, which is of no use before anything was looked up.
        """
        verification = self._verification() if further else 0.0
        if self._budget.fits(self._usual(*dict.fromkeys((*steps, *self._ending))) + verification):
            return True
        for step in steps:
            self._costs.was_skipped(step)
        self._journal.skip("rounds", "BUDGET")
        return False

    def begin(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Begin work beside the steps, which ends with the turn at the latest."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def end(self) -> None:
        """End all that was begun and still runs."""
        for task in self._tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                logger.debug("a step that was not waited for failed", exc_info=outcome)
        self._tasks.clear()

    def _begins(self, step: Step[Any, Any], size: float, reserve: float) -> bool:
        if step.answers:
            return self._budget.left_s > reserve
        if self._budget.fits(self._costs.usual(step.name, size) + reserve):
            return True
        self._costs.was_skipped(step.name)
        return False

    def _reserve(self, step: Step[Any, Any]) -> float:
        """Seconds that the step leaves to what comes after it."""
        if step.answers:
            return min(_CLOSING_S, _CLOSING_SHARE * self._budget.total_s)
        if step.after or step.name in VERIFICATION:
            return 0.0
        written = self._ending.index(step.name) + 1 if step.name in self._ending else 0
        answer = self._usual(*self._ending[written:]) + _ROOM * self._usual(*step.leaves)
        return answer + self._wanted_after(answer) if step.spare else answer

    def _wanted_after(self, answer: float) -> float:
        """Seconds of another round and of verification, as far as there is time for them."""
        verification = self._verification()
        another = self._usual(*self.next_round) + verification
        return next((wish for wish in (another, verification) if self._budget.fits(answer + wish)), 0.0)

    def _verification(self) -> float:
        return max(map(self._costs.usual, VERIFICATION))

    def _left_out(self, step: Step[Any, Any], error: Exception) -> str:
        """Why a turn goes on without a step that failed; raises the error where it does not."""
        if isinstance(error, (EngineLost, RoleMissing)):
            raise error
        if isinstance(error, Overloaded) and (self.has_answer or not step.answers):
            return "BUDGET"  # the engine does not begin what it cannot do in this time
        if step.optional or isinstance(error, KnowledgeLost):  # an answer without lookups is better than none
            if not isinstance(error, SourceFailed):  # that was logged when it began to fail
                logged = isinstance(error, KnowledgeLost)  # that was, too, but turns lose much by it
                about = {"step": step.name}
                why = None if logged else error
                logger.warning("step failed; the turn goes on without it", exc_info=why, extra=about)
            return "FAILED"
        raise error

    def _usual(self, *steps: str) -> float:
        return sum(map(self._costs.usual, steps))
