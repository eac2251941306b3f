"""The score of Encyclopedic-VQA (Mensink et al., ICCV 2023): equal after normalisation, else what BEM says."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence

from quizglass_lab.scoring.benchmarks.vqa import vqa_normalised

Equivalence = Callable[[str, str, str], float]
"""Probability, 0 to 1, that two answers to a question say the same: (question, reference, candidate)."""
MULTI_ANSWER = "multi_answer"
_MARKS = str.maketrans("", "", string.punctuation + "‘’´`")
_ANSWERS = {"true": "yes", "entailment": "yes", "false": "no", "contradiction": "no"}
_OPENING = re.compile(r"\bthe answer is\b")


def encyclopedic_match(answer: str, references: Sequence[str], answer_type: str = "") -> bool:
    """Whether an answer equals a reference; of several answers (`&&`) at least half of all that either names."""
    if answer_type != MULTI_ANSWER:
        return _normalised(answer) in filter(None, map(_normalised, references))
    named = _parts(re.sub(r" and | & ", ",", answer).split(","))
    wanted = [_parts(reference.split("&&")) for reference in references]
    return any(2 * len(named & each) >= len(named | each) for each in wanted if each)


def encyclopedic_score(
    question: str, answer: str, references: Sequence[str], answer_type: str, equivalent: Equivalence
) -> float:
    """1 for a match or where BEM gives a reference at least one half, else 0."""
    if encyclopedic_match(answer, references, answer_type):
        return 1.0
    several = answer_type == MULTI_ANSWER
    texts = [each.replace("&&", ",") if several else each for each in references]
    return float(any(equivalent(question, text, answer) >= 0.5 for text in texts))


def _parts(texts: Sequence[str]) -> set[str]:
    return {plain for text in texts if (plain := _normalised(text))}


def _normalised(text: str) -> str:
    words = vqa_normalised(_OPENING.sub(" ", text.lower().translate(_MARKS))).split()
    return " ".join(_ANSWERS.get(word, word) for word in words)
