"""A model as the judge: it grades answers from 1 to 5."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Complete = Callable[[str], str]
"""Anything that completes a prompt: an endpoint (`endpoint.py`), a local model, a fake."""
WORST, BEST = 1, 5
RIGHT = 4
"""The least grade of an answer that counts as right."""
_GRADE = """You grade answers. Compare the answer given with the right one: other words are fine, other facts are not.
5 says the same. 4 says the same with a slip that does not matter. 3 says a part of it. 2 is near and wrong.
1 is wrong or no answer.

Question: {question}
{gold}
Answer given: {answer}

Reply with the grade, one digit."""


class ModelJudge:
    """Asks a model. Its prompts are its own; what it says that is no grade counts as none."""

    def __init__(self, complete: Complete) -> None:
        """`complete` should be greedy, so that a grade can be had again."""
        self._complete = complete

    def grade(self, question: str, answer: str, gold: Sequence[str]) -> int | None:
        """1 (wrong) to 5 (says the same); None when the model gives no grade. An empty answer is 1, unasked."""
        if not answer.strip():
            return WORST
        right = "\n".join(f"Right answer: {each}" for each in gold)
        return grade_in(self._complete(_GRADE.format(question=question, gold=right, answer=answer)))


def grade_in(reply: str) -> int | None:
    """The first grade that a reply has; None where it has none, "10" among them."""
    digit = re.search(rf"(?<!\d)[{WORST}-{BEST}](?!\d)", reply)
    return int(digit[0]) if digit else None


def scaled(grade: int) -> float:
    """A grade as 0 to 100, as the planning agent's paper reports it."""
    return 100 * (grade - WORST) / (BEST - WORST)
