"""What a step is: a function over one model or store, with all that running it in a turn has to know.

    @step("rerank", role="reranker", optional=True)
    async def rerank(reranker: Reranker, query: str, passages: Sequence[Evidence]) -> list[Evidence]: ...

Called, it is the function. `turn.runner` runs it in a turn: finds what fills the role, which is the first argument,
times it, fits it into the budget, cuts it off, and notes that it was left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, ParamSpec, TypeVar

from quizglass_server.domain.turns import StepDetail

P = ParamSpec("P")
Result = TypeVar("Result", covariant=True)

Telling = tuple[Iterable[StepDetail], Iterable[StepDetail]]
"""What a step was given, and what it brought."""


def _untold(*_: object, **__: object) -> Telling:
    return (), ()


def _any_size(*_: object, **__: object) -> float:
    return 1.0


@dataclass(frozen=True)
class Step(Generic[P, Result]):
    """A step of a turn."""

    work: Callable[P, Awaitable[Result]]
    """What it does; its first argument is what fills the role."""
    name: str
    """As in timings, learned costs and skipped steps."""
    role: str
    """A role of the bundle, "knowledge", "memory" or "pictures"; empty: whoever runs it says what fills it."""
    optional: bool = False
    """Whether the turn goes on without it when it fails or nothing fills its role."""
    after: bool = False
    """Whether the answer is there already, so that no time is kept for one."""
    answers: bool = False
    """Whether it is the answer: begun whatever it usually costs, and at the end cut off instead of left out."""
    spare: bool = False
    """Whether it is the first to go: begun only if another round and the check of the answer still fit after it."""
    leaves: tuple[str, ...] = ()
    """Names of steps that it leaves time for, besides the answer: it makes them better, and must not cost them."""
    size: Callable[..., float] = _any_size
    """How much there is to do, by its arguments but the first: costs are learned by size."""
    told: Callable[..., Telling] = _untold
    """What to tell of a run, by its result (None: it has none) and its arguments but the first; called only for turns
    that are to be explained."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[Result]:
        """Do it outside of any turn."""
        return self.work(*args, **kwargs)

    def named(self, name: str, role: str = "") -> Step[P, Result]:
        """The same under another name, with costs of its own, and of another role if one is given."""
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
