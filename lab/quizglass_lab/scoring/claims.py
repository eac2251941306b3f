"""Claim precision and recall: the right share of an answer's claims, and the share of right claims that it makes.

CogPlanner's measure: claims are taken from both answers and matched. A model does it as in the paper (`ModelClaims`);
rules do it where there is none, exactly where the gold claims are given one by one, as pocketworld does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quizglass_lab.scoring.answers import normalise, words_of

Complete = Callable[[str], str]
"""Anything that completes a prompt: an endpoint (`endpoint.py`), a local model, a fake."""
Supports = Callable[[str, str], bool]
"""Whether a text says what a claim says: (text, claim)."""
_EXTRACT = """List every claim that this answer to a question makes, one a line, each a sentence that stands alone.
Write no other line. Write nothing if it makes none.

Question: {question}
Answer: {answer}"""
_ENTAIL = """Does the text say that the claim is true? Reply with yes or no.

Question: {question}
Text: {text}
Claim: {claim}"""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
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


def claims_by_rules(answer: str, gold: str, claims: Sequence[str] = ()) -> ClaimScore:
    """Claim precision and recall without a model: each sentence is a claim, matched by its words.

    Args:
        answer: as it was given.
        gold: the standard answer, whose sentences are the gold claims where these are not known.
        claims: the gold claims, as statements. Without them a gold answer may be a bare phrase, so a sentence of the
            answer that has all words of a gold sentence is right too, whatever else it says.

    Raises:
        ValueError: neither gold claims nor a gold answer with words.
    """
    if claims:
        return claim_score(sentences(answer), claims, contains_words)

    def supports(text: str, claim: str) -> bool:
        return contains_words(text, claim) or any(contains_words(claim, part) for part in sentences(text))

    told = sentences(gold)
    said = claim_score(sentences(answer), told, supports)
    return ClaimScore(said.precision, claim_score(sentences(answer), told, contains_words).recall)


class ModelClaims:
    """A model takes answers apart into claims and says which the other answer supports."""

    def __init__(self, complete: Complete) -> None:
        """`complete` should be greedy, so that a score can be had again."""
        self._complete = complete

    def score(self, question: str, answer: str, gold: str, claims: Sequence[str] = ()) -> ClaimScore:
        """Claims of an answer against those of the gold answer, or against known ones.

        A gold answer in which the model finds no claim is one claim itself.
        """

        def supports(text: str, claim: str) -> bool:
            reply = self._complete(_ENTAIL.format(question=question, text=text, claim=claim))
            return normalise(reply).startswith("yes")

        return claim_score(self._claims(question, answer), claims or self._claims(question, gold) or [gold], supports)

    def _claims(self, question: str, answer: str) -> list[str]:
        if not answer.strip():
            return []
        reply = self._complete(_EXTRACT.format(question=question, answer=answer))
        return [text for line in reply.splitlines() if (text := _BULLET.sub("", line).strip())]
