"""Claim precision and recall: the right share of an answer's claims, and the share of right claims that it makes.

CogPlanner's measure: claims are taken from both answers and matched. Where the gold claims are given one by one, as
pocketworld does, only the answer has to be taken apart and no judge is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quizglass_lab.scoring.answers import normalise, words_of

Supports = Callable[[str, str], bool]
"""Whether a text says what a claim says: (text, claim)."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True, slots=True)
class ClaimScore:
    """Precision and recall of an answer's claims against the gold claims, each 0 to 1."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 0 to 1; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def claim_score(answer: Sequence[str], gold: Sequence[str], supports: Supports) -> ClaimScore:
    """Claims of an answer against gold claims.

    A claim of the answer is right when the gold claims together support it; a gold claim is said when the claims of
    the answer together support it. An answer without claims has a precision of 0.

    Raises:
        ValueError: no gold claims.
    """
    if not gold:
        raise ValueError("gold: no claims; claim recall is of questions whose claims are known")
    # A line each: claims without full stops must not become one sentence that says what none of them does.
    said, told = "\n".join(answer), "\n".join(gold)
    right = sum(supports(told, claim) for claim in answer)
    return ClaimScore(right / len(answer) if answer else 0.0, sum(supports(said, claim) for claim in gold) / len(gold))


def sentences(text: str) -> list[str]:
    """The sentences of a text: its claims, where each sentence makes one, as pocketworld's answers do."""
    return [part.strip() for part in _SENTENCES.split(text) if normalise(part)]


def contains_words(text: str, claim: str) -> bool:
    """Whether every word of a claim stands in one sentence of a text: exact enough where wordings are known."""
    words = set(words_of(claim))
    return any(words <= set(words_of(sentence)) for sentence in sentences(text))
