"""Finds where a picture shows what a question asks about, to look those parts up: QA-Dragon's image agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from quizglass.values import Region
from quizglass_server.domain.regions import Detection
from quizglass_server.domain.turns import Picture, StepDetail
from quizglass_server.roles.detector import Detector
from quizglass_server.steps.lookup.crop import LEFT, MIDDLE, RIGHT, place_of
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import texts
from quizglass_server.steps.tuning import Tuning

ANYTHING = "object"
"""What is looked for when a question names no thing."""
_MOST_WORDS = 3
_SMALLEST = 0.01
"""Boxes under this share of the picture show nothing that could be recognised."""
_ROOM = 1.2
_MOST_AHEAD = 6
"""Parts that are embedded before there is a question; 92 % of pocketworld's questions look up none but these."""
_HAVING = re.compile(r"\s+of(?=\s+(?:this|that|these|those|the|my|your|it|its|them)\b)")
_WHO = re.compile(r"\s+(?:(?:in|at|on|from) )?(?:who|that|which|where)\b")
_WORD = re.compile(r"[\w'-]+")
_POINTER = re.compile(r"\b(?:this|that|these|those|the|my|your)\s+")
# Left, right and middle are not told to the detector: `crop.place_of` knows them.
_WHERE = re.compile(
    r"\s+(?:(?:at|in|on) the (?:top|bottom|front|back)"
    r"|(?:beside|next to|behind|above|below|under|(?:to the )?(?:left|right) of) (?:the|this|that|my|your) [\w'-]+)"
)
_FRAMES = (["picture"], ["photo"], ["photograph"], ["image"])
_SIDES = {LEFT: 0.0, MIDDLE: 0.5, RIGHT: 1.0}
# What cannot be part of a thing's name ends it.
_ENDS = frozenset(
    """a about above am an and are as at be been before behind below beside born bottom bred built by called can come
    comes cooked cost costs could described designed did do does first for founded from front grow grown grows had
    has have here how i if in is it its kept known left lie lies live lives located made me middle my named next of
    on one or packed painted parked planted printed right say says served should side sold stand stands than that
    the there these they this those three to top two under used was we weigh weighs were what when where which who
    whose why will with work works would written wrote you your""".split()  # noqa: SIM905
)


def phrases_of(question: str) -> list[str]:
    """What a question names with "this", "the" and the like, a few words each; "object" when it names nothing.

    What is told apart by its neighbour or height keeps that: "bird right of the packet", "boat at the top". What a
    thing has is left out, such as the maker in "the maker of this car", and what is called by its name where the
    question also names something by sight: "this dish or the Terbindor".
    """
    text, named, end = question.lower(), list[str](), 0
    by_name: set[str] = set()
    for pointer in _POINTER.finditer(text):
        if pointer.start() < end:
            continue
        name = ""
        for word in islice(_WORD.finditer(text, pointer.end()), _MOST_WORDS):
            if word[0] in _ENDS:
                break
            name, end = f"{name} {word[0]}", word.end()
        if name.split()[:1] in _FRAMES:
            continue
        if name and (having := _HAVING.match(text, end)):
            end = having.end()
        elif name and (who := _WHO.match(text, end)) and _POINTER.search(text, who.end()):
            end = who.end()
        elif name:
            where, who = _WHERE.match(text, end), _WHO.match(text, end)
            named.append(" ".join((name + (where[0] if where else "")).split()))
            if question[pointer.end() : pointer.end() + 1].isupper():
                by_name.add(named[-1])
            end = where.end() if where else who.end() if who else end
    named = list(dict.fromkeys(named))
    return [phrase for phrase in named if phrase not in by_name] or named or [ANYTHING]


def _told(regions: list[Region] | None, _: Picture, question: str, __: Tuning, phrases: Sequence[str] = ()) -> Telling:
    named = texts("phrase", *(phrases or phrases_of(question)))
    return named, [StepDetail("box", region=region) for region in regions or ()]


@step("detect", role="detector", optional=True, leaves=("embed", "image_search"), told=_told)
async def find_regions(
    detector: Detector, picture: Picture, question: str, tuning: Tuning, phrases: Sequence[str] = ()
) -> list[Region]:
    """The likeliest `boxes` boxes of what is asked about, above the threshold; may be none. See `around`.

    Args:
        detector: finds things by words for them.
        picture: where they are looked for.
        question: says where in the picture, and what where no phrases do.
        tuning: the threshold, and how many.
        phrases: things, a few words each.
    """
    detections = await detector.detect(picture, list(phrases) or phrases_of(question), tuning.detect_accept)
    return chosen(detections, place_of(question), tuning)


def _told_ahead(regions: list[Region] | None, _: Picture, __: Tuning) -> Telling:
    return (), [StepDetail("part", region=region) for region in regions or ()]


@step("guess", role="detector", optional=True, told=_told_ahead)
async def likely_regions(detector: Detector, picture: Picture, tuning: Tuning) -> list[Region]:
    """What the next question about a picture is likely to be looked up by: the parts that show what was lately asked
    about, likeliest first, as `find_regions` would give them.
    """
    detections = await detector.guess(picture, tuning.detect_accept, tuning.boxes)
    squares = [around(each.region, picture) for each in detections if each.region.area >= _SMALLEST]
    return list(dict.fromkeys(squares))[:_MOST_AHEAD]


def chosen(found: Sequence[Detection], place: str | None, tuning: Tuning) -> list[Region]:
    """The first of the boxes, the likeliest of each phrase before others.

    If the question names a place, of those there; where none is, those that come nearest to it are first: of two in the
    middle, one is "on the left".
    """
    large = [each for each in found if each.region.area >= _SMALLEST]
    there = [each for each in large if place is None or _place(each.region) == place]
    if place is not None and not there:
        there = sorted(large, key=lambda each: abs(_middle(each.region) - _SIDES[place]))
    best = {each.phrase: each for each in reversed(there)}
    return [each.region for each in sorted(there, key=lambda each: best[each.phrase] is not each)][: tuning.boxes]


def around(region: Region, picture: Picture) -> Region:
    """What a box is looked up by: the square of pixels around it, a fifth wider than its longer side.

    Pictures of entries have such room too, and a square is not distorted. It ends where the picture does.
    """
    side = _ROOM * max((region.right - region.left) * picture.width, (region.bottom - region.top) * picture.height)
    wide, high = side / picture.width / 2, side / picture.height / 2
    x, y = (region.left + region.right) / 2, (region.top + region.bottom) / 2
    return Region(max(x - wide, 0.0), max(y - high, 0.0), min(x + wide, 1.0), min(y + high, 1.0))


def _middle(region: Region) -> float:
    return (region.left + region.right) / 2


def _place(region: Region) -> str:
    middle = _middle(region)
    return LEFT if middle < 1 / 3 else MIDDLE if middle <= 2 / 3 else RIGHT
