"""Which line breaks of a paragraph its writer meant: people note one fact a line, and programs wrap prose.

Where prose is wrapped, each line is as full as the widest allows, and the next one goes on in the middle of a sentence.
"""

from __future__ import annotations

import re
from itertools import pairwise

from quizglass_server.domain.sentence_ends import ends_sentence

_NARROWEST, _NARROWEST_NAMED, _WIDEST = 40, 60, 100
"""Characters of the longest line of wrapped prose: at least; of two lines of which the second begins as a sentence
does, at least and at most."""
_LIKE = 0.7
"""Of the longest line, the length that all lines of wrapped prose but the last have at least."""
_MARK = re.compile(r"(?:[-*+•–]|\d{1,2}[.)])\s")
_LABEL = re.compile(r"[^\W_](?:[^\n:.!?]{0,28}[^\W_)])?:(?=\s|$)")
"""As in "battery: one PX625"."""
_WORD = re.compile(r"\w")
_OPEN = re.compile(
    r"(?:[,(/&+–—-]|\b(?:of|the|an?|and|or|with|from|my|our|its|their|your|is|are|was|were|than|as|und|oder|mit))$"
)
_LINKING = re.compile(r"(?:and|or|but|nor|which|because|than|und|oder|aber)\b")


def unwrapped(block: str) -> str:
    """A paragraph with wrapped prose on one line, and each item of a list, labelled value or noted fact on its own."""
    raw = [line for line in block.splitlines() if line.strip()]
    lines = [" ".join(line.split()) for line in raw]
    widest, prose = max(map(len, lines), default=0), _is_prose(lines)
    items, listed = list[list[str]](), False
    for at, line in enumerate(lines):
        hangs = listed and raw[at][:1].isspace() and not _MARK.match(line)
        if items and (hangs or not _begins(lines[at - 1], line, 0 if prose else widest)):
            items[-1].append(line)
        else:
            items.append([line])
            listed = _MARK.match(line) is not None
    return "\n".join(map(" ".join, items))


def _begins(line: str, following: str, widest: int) -> bool:
    """Whether a line break is meant. `widest`: characters of the longest line; 0: it is prose."""
    if _MARK.match(following) or not (_WORD.search(line) and _WORD.search(following)):
        return True
    if not widest or _runs_on(line, following):
        return False
    if not following[0].islower() or _LABEL.match(following) or ends_sentence(line, following):
        return True
    return widest < _NARROWEST or _fits(following, line, widest)


def _runs_on(line: str, following: str) -> bool:
    """Whether two lines are one by their words: the first one leaves off at "of", or the second begins with "and"."""
    return _OPEN.search(line) is not None or _LINKING.match(following) is not None


def _fits(following: str, line: str, widest: int) -> bool:
    """Whether the next line's first word had room on a line, so that no program has wrapped it there."""
    return len(line) + 1 + len(following.split(maxsplit=1)[0]) <= widest


def _is_prose(lines: list[str]) -> bool:
    """Whether a paragraph is prose that was wrapped: lines of like length that go on within sentences."""
    told = [line for line in lines if _WORD.search(line)]
    widest = max(map(len, told), default=0)
    if widest < _NARROWEST or any(len(line) < _LIKE * widest for line in told[:-1]):
        return False
    if sum(_LABEL.match(line) is not None for line in told) >= max(2, len(told) / 2):
        return False
    breaks = list(pairwise(told))
    if any(_runs_on(*each) or (each[1][0].islower() and not ends_sentence(*each)) for each in breaks):
        return True
    return len(breaks) == 1 and _NARROWEST_NAMED <= len(told[0]) <= _WIDEST and not ends_sentence(*breaks[0])
