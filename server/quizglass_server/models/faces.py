"""What policies and steps may ask of a model, whoever executes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quizglass_server.domain import RGB, GenerationEnd, Picture, PlanDecision, Token, Turn, Vector
from quizglass_server.models.prompts import PromptValue


class Planner(Protocol):
    """Decides what has to be looked up, in one prefill pass."""

    async def plan(self, turn: Turn, words: str) -> PlanDecision:
        """Plan for a turn; `words` are the words read in its picture."""
        ...

    async def look_at(self, picture: Picture) -> None:
        """Do what a plan for this picture needs and its words do not decide."""
        ...


class Reranker(Protocol):
    """Scores how well passages answer a query."""

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Probability of "yes" for each passage ("<title>: <chunk>"), 0 to 1, in order."""
        ...


class ImageEncoder(Protocol):
    """Embeds pictures for image search."""

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the model file: vectors of different fingerprints do not compare."""
        ...

    async def embed(self, pictures: Sequence[RGB]) -> list[Vector]:
        """One vector a picture."""
        ...


class TextEncoder(Protocol):
    """Embeds queries and passages for text search."""

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the model file: vectors of different fingerprints do not compare."""
        ...

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a query."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a passage ("<title>: <chunk>")."""
        ...

    def count_tokens(self, text: str) -> int:
        """Length of a text in the encoder's own tokens."""
        ...


class Reader(Protocol):
    """Reads printed words in pictures (OCR)."""

    async def read(self, picture: Picture) -> list[str]:
        """Lines of words, top to bottom, left to right."""
        ...


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """What the generator is to complete."""

    task: str
    """Name of a prompt of the bundle's generator: answer, rewrite, plan."""
    values: Mapping[str, PromptValue]
    """Values of the template; see `PromptTemplate.render`."""
    picture: Picture | None = None
    max_tokens: int = 0
    """0: the bundle's own limit."""


class Generator(Protocol):
    """Writes text about pictures and evidence."""

    def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        """Stream tokens, then one end. Closing the iterator cancels; at most one more decode step is spent."""
        ...

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        """Probability of each label as the continuation, normalised over the labels."""
        ...

    async def score(self, request: GenerationRequest, answer: str) -> list[float]:
        """Log-probability (natural) of each token of a given answer to the prompt, in order."""
        ...

    async def prepare(self, picture: Picture) -> None:
        """Read a picture before the question's prompt is known, behind all other work; cancelling drops it."""
        ...
