"""Picks the part of the picture that a question is about, by its position words.

The image encoder learnt on the same three views, so the shares here are part of the starter models.
"""

from __future__ import annotations

import re

from quizglass_server.domain import RGB

WHOLE, LEFT, MIDDLE, RIGHT = "whole", "left", "middle", "right"

_NAMES = {LEFT: "left", RIGHT: "right", MIDDLE: "middle|cent(?:re|er)"}
# "left" and "right" have other meanings ("who left it", "is it right that"), so only phrases of place count.
_PHRASES = (
    r"\b(?:on|at|to|in|from) (?:the |my |your )?(?:far |very |upper |lower )?(?:{name})\b",
    r"\b(?:{name})(?:most|[- ]hand)\b",
    r"\bthe (?:{name}) (?:one|side|half|part|edge|end|third)\b",
    r"\b(?:{name}) (?:side|half|part|edge|third) of\b",
)
_PATTERNS = {
    view: re.compile("|".join(phrase.format(name=name) for phrase in _PHRASES), re.IGNORECASE)
    for view, name in _NAMES.items()
}


def view_of(question: str) -> str:
    """The view a question asks for: left, middle, right, or whole when it names none or several."""
    named = [view for view, pattern in _PATTERNS.items() if pattern.search(question)]
    return named[0] if len(named) == 1 else WHOLE


def crop(pixels: RGB, view: str) -> RGB:
    """A view of a picture, full height: its left, central or right half, or all of it. Shares memory with `pixels`."""
    width = pixels.shape[1]
    half = width // 2
    if view == WHOLE or half == 0:
        return pixels
    start = {LEFT: 0, MIDDLE: (width - half) // 2, RIGHT: width - half}[view]
    return pixels[:, start : start + half]
