"""Finds where a picture shows what a question asks about, to look those parts up: QA-Dragon's image agent."""

from __future__ import annotations

from collections.abc import Sequence

from quizglass.values import Region
from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.regions import Detection
from quizglass_server.domain.turns import Picture, StepDetail
from quizglass_server.roles.detector import Detector
from quizglass_server.steps.language.phrases import phrases_of
from quizglass_server.steps.lookup.parts.crop import LEFT, MIDDLE, RIGHT, place_of
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import texts

_SMALLEST = 0.01
"""Boxes under this share of the picture show nothing that could be recognised."""
_ROOM = 1.2
_MOST_AHEAD = 6
"""Parts that are embedded before there is a question; 92 % of pocketworld's questions look up none but these."""
_SIDES = {LEFT: 0.0, MIDDLE: 0.5, RIGHT: 1.0}


def _told(regions: list[Region] | None, _: Picture, question: str, __: Tuning, phrases: Sequence[str] = ()) -> Telling:
    named = texts("phrase", *(phrases or phrases_of(question)))
    return named, [StepDetail("box", region=region) for region in regions or ()]


@step("detect", role="detector", optional=True, leaves=("embed", "image_search"), told=_told)
async def find_regions(
    detector: Detector, picture: Picture, question: str, tuning: Tuning, phrases: Sequence[str] = ()
) -> list[Region]:
    """The likeliest `boxes` boxes of the question's subject, above the threshold; may be none. See `around`.

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
