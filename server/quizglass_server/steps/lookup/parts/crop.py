"""Picks the parts of a picture that a question may be about, by its position words.

How wide they are belongs to the bundle (`tuning.Views`), because an image encoder is at home with the widths it has
seen. A thing that fills a view matches best, and how many things a picture shows is not known: so a place is cut in
several widths, and a question that names none is looked up by the whole picture and by its parts. Where these find
nothing, a bundle may have smaller squares tried: a thing that is small in a busy photograph fills one of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from quizglass.values import Region
from quizglass_bundle.tuning import Views
from quizglass_server.domain.turns import Picture

LEFT, MIDDLE, RIGHT = "left", "middle", "right"
_APART = 0.6
_EVEN = 1e-9
"""Of a quotient that is a whole number but for rounding."""

_NAMES = {LEFT: "left", RIGHT: "right", MIDDLE: "middle|cent(?:re|er)"}
# "left" and "right" have other meanings ("who left it", "is it right that"), so only phrases of place count.
_PHRASES = (
    r"\b(?:on|at|to|in|from) (?:the |my |your )?(?:far |very |upper |lower )?(?:{name})\b",
    r"\b(?:{name})(?:most|[- ]hand)\b",
    r"\bthe (?:{name}) (?:one|side|half|part|edge|end|third)\b",
    r"\b(?:{name}) (?:side|half|part|edge|third) of\b",
)
_PATTERNS = {
    place: re.compile("|".join(phrase.format(name=name) for phrase in _PHRASES), re.IGNORECASE)
    for place, name in _NAMES.items()
}


@dataclass(frozen=True, slots=True)
class View:
    """A part of a picture, full height."""

    place: str
    """left, middle or right."""
    width: float = 1.0
    """Share of the picture's; 1 is the whole picture, wherever it is."""


WHOLE = View(MIDDLE)
Part = View | Region
"""What a picture is looked up by."""


def place_of(question: str) -> str | None:
    """The place a question names; None when it names none or several."""
    named = [place for place, pattern in _PATTERNS.items() if pattern.search(question)]
    return named[0] if len(named) == 1 else None


def with_place(question: str, place: str, other: str | None) -> str:
    """The question with the place that it names (`place_of`) replaced by another one, or without any."""

    def replaced(phrase: re.Match[str]) -> str:
        if re.match(r"(?:on|at|to|in|from)\b", phrase[0], re.IGNORECASE):
            return {None: "", MIDDLE: "in the middle"}.get(other, f"on the {other}")
        if other is None and not phrase[0].lower().startswith("the "):
            return ""  # "leftmost"
        return " ".join(re.sub(_NAMES[place], other or "", phrase[0], flags=re.IGNORECASE).split())

    changed = _PATTERNS[place].sub(replaced, question, count=1)
    return re.sub(r"\s+(?=[.,?!]|$)", "", " ".join(changed.split()))


def views_of(question: str, views: Views) -> tuple[View, ...]:
    """The views a question is looked up by, each once."""
    place = place_of(question)
    wanted = [
        View(at, width) if width < 1 else WHOLE
        for width in (views.unplaced if place is None else views.placed)
        for at in ((LEFT, MIDDLE, RIGHT) if place is None else (place,))
    ]
    return tuple(dict.fromkeys(wanted))


def squares_of(question: str, picture: Picture, sides: Sequence[float]) -> tuple[Region, ...]:
    """Squares that cover a picture, in rows; none of a picture that is no larger than they are.

    Args:
        question: one that names a place is looked up by those squares alone whose middle is there.
        picture: what is covered.
        sides: of the squares, as shares of the picture's shorter side. Neighbours lie at most `_APART` sides apart.
    """
    place, width, height = place_of(question), picture.width, picture.height
    first, last = {None: (0.0, 1.0), LEFT: (0.0, 0.5), MIDDLE: (0.25, 0.75), RIGHT: (0.5, 1.0)}[place]
    squares = []
    for side in (share * min(width, height) for share in sides):
        across, down = side / width, side / height
        squares += [Region(left, top, left + across, top + down) for top in _starts(down) for left in _starts(across)]
    return tuple(each for each in squares if each.area < 1 and first <= (each.left + each.right) / 2 <= last)


def _starts(length: float) -> list[float]:
    """Where stretches of this length begin that cover 0 to 1 evenly."""
    count = ceil((1 - length) / (_APART * length) - _EVEN) + 1
    return [(1 - length) * at / (count - 1) for at in range(count)] if count > 1 else [(1 - length) / 2]


def region_of(view: Part) -> Region:
    """Where a part is, of any picture."""
    if isinstance(view, Region):
        return view
    start = {LEFT: 0.0, MIDDLE: (1 - view.width) / 2, RIGHT: 1 - view.width}[view.place]
    return Region(start, 0.0, start + view.width, 1.0)


def crop(picture: Picture, view: Part) -> Picture:
    """A part of a picture, sharing its memory; the picture itself when it is all of it."""
    if isinstance(view, Region):
        return _cut(picture, view)
    size = int(picture.width * view.width)
    if view.width >= 1 or size == 0:
        return picture
    start = {LEFT: 0, MIDDLE: (picture.width - size) // 2, RIGHT: picture.width - size}[view.place]
    return picture.part(start, 0, start + size, picture.height)


def _cut(picture: Picture, region: Region) -> Picture:
    """At least one pixel, whole ones."""
    height, width = picture.height, picture.width
    top, left = min(int(region.top * height), height - 1), min(int(region.left * width), width - 1)
    bottom, right = max(ceil(region.bottom * height), top + 1), max(ceil(region.right * width), left + 1)
    return picture.part(left, top, right, bottom)
