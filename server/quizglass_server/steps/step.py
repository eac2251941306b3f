"""What a step is: a function over one model or store, with what the runner of a turn has to know about it.

    @step("rerank", role="reranker", optional=True)
    async def rerank(reranker: Reranker, query: str, passages: Sequence[Evidence]) -> list[Evidence]: ...

A step that is called directly is that function. `assistant.turn.runner` runs it in a turn: it passes the model or store
that fills the role as the first argument, times the step, fits it into the budget, cuts it off when its time is over,
and notes a step that it left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, ParamSpec, TypeVar

from quizglass_server.domain.turns import StepDetail

P = ParamSpec("P")
Result = TypeVar("Result", covariant=True)

Telling = tuple[Iterable[StepDetail], Iterable[StepDetail]]
"""What a step was given, and what it returned, as texts for explained turns."""


def _untold(*_: object, **__: object) -> Telling:
    return (), ()


def _any_size(*_: object, **__: object) -> float:
    return 1.0


@dataclass(frozen=True)
class Step(Generic[P, Result]):
    """A step of a turn."""

    work: Callable[P, Awaitable[Result]]
    """The function; its first argument is what fills the role."""
    name: str
    """Its name in timings, learned costs and skipped steps."""
    role: str
    """A role of the bundle, "knowledge", "memory", "pictures" or "keypoints"; empty: the caller passes what does."""
    optional: bool = False
    """Whether the turn goes on without it when it fails or nothing fills its role."""
    after: bool = False
    """Whether it runs when the answer is written, so that no time has to be left for one."""
    answers: bool = False
    """Whether it writes the answer: then it begins whatever it usually costs, and is cut off when the time is over."""
    spare: bool = False
    """Whether it is left out first: it begins only if another round and the check of the answer still fit after it."""
    leaves: tuple[str, ...] = ()
    """Names of steps, besides the answer, for which it leaves time: it helps them and must not crowd them out."""
    size: Callable[..., float] = _any_size
    """How much there is to do, from all arguments but the first: costs are learned per unit of it."""
    told: Callable[..., Telling] = _untold
    """What to tell of a run, from its result (None: it has none) and all arguments but the first; called for explained
    turns only."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[Result]:
        """Do it outside of any turn."""
        return self.work(*args, **kwargs)

    def named(self, name: str, role: str = "") -> Step[P, Result]:
        """The same step under another name, with learned costs of its own; and for another role, if one is given."""
        return replace(self, name=name, role=role or self.role)


def step(
    name: str,
    *,
    role: str = "",
    optional: bool = False,
    after: bool = False,
    answers: bool = False,
    spare: bool = False,
    leaves: tuple[str, ...] = (),
    size: Callable[..., float] = _any_size,
    told: Callable[..., Telling] = _untold,
) -> Callable[[Callable[P, Awaitable[Result]]], Step[P, Result]]:
    """Make a function a step; see `Step`."""
    return lambda work: Step(work, name, role, optional, after, answers, spare, leaves, size, told)
