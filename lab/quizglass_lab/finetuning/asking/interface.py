"""What may be asked of a model, whatever runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from quizglass_bundle.inputs.prompts import Values

MOST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Ask:
    """One prompt: the task names the template, which is filled from values and shows pictures, the wearer's first."""

    task: str
    values: Values
    pictures: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote to a prompt."""

    text: str
    """The text written, with what a served model leaves to the calculator worked out."""
    probabilities: tuple[float, ...] = ()
    """Probability of every token, 0 to 1; empty where the model does not say."""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a model gives each label of a choice, and what that cost."""

    shares: tuple[float, ...]
    """Probability of each label, in their order; together 1."""
    prompt_tokens: int = 0
    seconds: float = 0.0

    @property
    def best(self) -> int:
        """Place of the likeliest label."""
        return max(range(len(self.shares)), key=self.shares.__getitem__)


class AskedModel(Protocol):
    """Completes prompts and chooses among letters."""

    @property
    def name(self) -> str:
        """Name of the model, without secrets."""
        ...

    @property
    def parallel(self) -> int:
        """How many callers at once it gains from."""
        ...

    def shows_entries(self, task: str) -> bool:
        """Whether the task's prompt shows pictures of entries besides the wearer's own."""
        ...

    def write(self, asks: Sequence[Ask], most_tokens: int = MOST_TOKENS) -> list[Written]:
        """Complete every prompt greedily."""
        ...

    def choose(self, asks: Sequence[Ask], labels: Sequence[str]) -> list[Chosen]:
        """How likely each label, such as " A", is as the continuation of every prompt."""
        ...


def letters(count: int) -> list[str]:
    """Labels of a prompt that gives a choice of `count`: " A", " B", ... as the server has them."""
    return [f" {chr(ord('A') + index)}" for index in range(count)]
