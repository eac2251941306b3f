"""The words of a turn that stay on the server; those that cross the wire are declared in `quizglass.values`.

Nothing here knows gRPC, models or engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from quizglass import values
from quizglass.values import Exchange
from quizglass_bundle.inputs.resizing import RGB as RGB

Vector = NDArray[np.float32]
"""Embedding, one-dimensional, L2-normalised."""


def owned(content: bytes, owner: str) -> bytes:
    """A hash of content as the key of data kept for one owner: 32 bytes; the hash itself without an owner."""
    return sha256(owner.encode() + b"\0" + content).digest() if owner else content


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A decoded frame, or a part of one. Two are the same when their keys are; the pixels are never written to."""

    sha256: bytes
    """32 bytes: of a frame the hash of the encoded bytes, of a part the hash of its frame's and its place."""
    pixels: RGB
    owner: str = ""
    """Tenant and address of the client that sent it; empty: it is the operator's."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picture) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def key(self) -> bytes:
        """What work on it is kept by: 32 bytes, others for each owner.

        The time of an answer does not show whether another client has sent the same picture.
        """
        return owned(self.sha256, self.owner)

    def part(self, left: int, top: int, right: int, bottom: int) -> Picture:
        """The pixels from left and top to before right and bottom; the picture itself when these are all."""
        if (left, top, right, bottom) == (0, 0, self.width, self.height):
            return self
        name = sha256(self.sha256 + f" {left} {top} {right} {bottom}".encode()).digest()
        return Picture(name, self.pixels[top:bottom, left:right], self.owner)

    @property
    def width(self) -> int:
        """Pixels."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.pixels.shape[0])


@dataclass(frozen=True, slots=True)
class Turn:
    """One question about zero or one picture."""

    id: str
    """32 hexadecimal digits."""
    question: str
    picture: Picture | None = None
    history: tuple[Exchange, ...] = ()
    max_answer_tokens: int = 0
    """0: the bundle's own limit."""
    session: str = ""
    """The client's name for its session; empty: none."""
    remember: bool = False
    """Whether the picture is to be remembered."""
    recall: bool = False
    """Whether the answer may come from what is remembered."""
    other_than: tuple[str, ...] = ()
    """Texts that name things which the question is not about ("the other one")."""
    asked_last: str = ""
    """What is asked, where the question has an earlier one in front that it goes on from: "And where?"; else empty."""
    explain: bool = False
    """Whether the client gets every step, with its inputs and results."""
    answer_grammar: str = ""
    """Grammar (GBNF) that the answer has to follow; empty: it is plain text."""
    stays_here: bool = False
    """Whether nothing of it may leave this machine: sources that are remote stay shut."""


@dataclass(frozen=True, slots=True)
class Evidence(values.Evidence):
    """A chunk or picture that was brought back, as steps work on it."""

    coarse_score: float | None = None
    """Of the coarse reranker, if there is one: the passage's largest dot product with the query vectors of picture and
    question together."""
    via: Evidence | None = None
    """The passage that names this one's entry, where that is how it was found."""
    trust: float = 1.0
    """Of the source that brought it, more than 0; the store's is 1."""

    @property
    def coarse(self) -> float:
        """The score that a reranker's finer one is multiplied by."""
        return self.search_score if self.coarse_score is None else self.coarse_score


@dataclass(frozen=True, slots=True)
class StepDetail(values.StepDetail):
    """One thing that a step was given or brought, before its evidence has a number."""

    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of generated text. Its text may be empty while a character is incomplete."""

    text: str
    probability: float
    """Probability of the token under the model, 0 to 1."""


@dataclass(frozen=True, slots=True)
class GenerationEnd:
    """How a generation ended."""

    reason: str
    """stop, length, cancelled or deadline."""
    prompt_tokens: int
    answer_tokens: int
