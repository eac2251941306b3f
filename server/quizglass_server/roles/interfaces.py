"""What policies and steps may ask of a model, whoever executes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quizglass_server.domain.regions import Detection, Region
from quizglass_server.domain.turns import RGB, GenerationEnd, Picture, PlanDecision, Token, Turn, Vector
from quizglass_server.models.prompts import PromptValue

SUPPORTED = "supported"
"""The verifier's label for an answer that its evidence supports; any other says that it does not."""


class Planner(Protocol):
    """Decides what has to be looked up, in one prefill pass."""

    async def plan(self, turn: Turn, words: str) -> PlanDecision:
        """Plan for a turn; `words` are the words read in its picture."""
        ...

    async def look_at(self, picture: Picture) -> None:
        """Do what a plan for this picture needs and its words do not decide."""
        ...


class ToolRouter(Protocol):
    """Decides what has to be looked up for a draft answer, in one prefill pass."""

    async def route(self, turn: Turn, words: str, draft: str) -> PlanDecision:
        """Plan for a turn whose question was answered from memory with `draft`."""
        ...


class DomainRouter(Protocol):
    """Tells what kind of question is asked about what kind of picture."""

    async def domains(self, picture: Picture, question: str) -> list[tuple[str, float]]:
        """Every domain that the model knows, with its probability."""
        ...


class Detector(Protocol):
    """Finds things in pictures by words for them."""

    async def detect(self, picture: Picture, phrases: Sequence[str], least_score: float) -> list[Detection]:
        """Where the picture shows what the phrases say with at least this probability, likeliest first."""
        ...


class CoarseReranker(Protocol):
    """Compares passages with a picture, cheaply."""

    async def compare(self, picture: Picture, passages: Sequence[str]) -> list[float]:
        """How well each passage ("<title>: <chunk>") goes with the picture: a cosine, -1 to 1, in order."""
        ...


class Reranker(Protocol):
    """Scores how well passages answer a query."""

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Probability of "yes" for each passage ("<title>: <chunk>"), 0 to 1, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and what the generator was given for it."""

    turn: Turn
    words: str
    """Read in the picture."""
    evidence: Sequence[str]
    """Lines "<title>: <text>"."""
    answer: str


class Verifier(Protocol):
    """Judges answers by their evidence, in one prefill pass."""

    async def check(self, answered: Answered) -> list[tuple[str, float]]:
        """Each judgement that the model knows with its probability; one of them is "supported"."""
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

    async def find(self, picture: Picture) -> Region | None:
        """The part of a picture that may show words, cheaply; None when nothing does."""
        ...

    async def read(self, picture: Picture, part: Region | None = None) -> list[str]:
        """Lines of words in a part of a picture or in all of it, top to bottom, left to right."""
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
