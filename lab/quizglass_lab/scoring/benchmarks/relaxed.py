"""Relaxed accuracy of InfoSeek (Chen et al., 2023): numbers within a range, texts and times by any accepted wording."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_MARKS = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_RANGE_DASH = re.compile(r"(?<=\d)-")


def relaxed_match(answer: str, accepted: Sequence[str], limits: tuple[float, float] | None = None) -> bool:
    """Whether an answer counts as right.

    Args:
        answer: as it was given.
        accepted: wordings of a text or a time (of a time InfoSeek lists the years before and after too).
        limits: of a number: the accepted range. Two numbers in an answer are a range of their own, which is right
            inside the limits, or where their overlap is at least half of their union.

    An answer without a number is wrong where one is expected; the published script takes it for 0.
    """
    if limits is None:
        return _normalised(answer) in map(_normalised, accepted)
    numbers = numbers_in(answer)
    if not numbers:
        return False
    low, high = min(limits), max(limits)
    if len(numbers) == 1 or numbers[0] > numbers[1]:
        return low <= numbers[0] <= high
    first, second = numbers[:2]
    if low <= first and second <= high:
        return True
    shared = max(0.0, min(high, second) - max(low, first))
    return 2 * shared >= (high - low) + (second - first) - shared


def _normalised(text: str) -> str:
    """As the published script does it: marks go and leave no space, so that "U.S." is "US"."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_MARKS)).split())


def numbers_in(text: str) -> list[float]:
    """The numbers of a text; a dash behind a digit parts two numbers and is no sign."""
    return [float(each.replace(",", "")) for each in _NUMBER.findall(_RANGE_DASH.sub(" - ", text))]
