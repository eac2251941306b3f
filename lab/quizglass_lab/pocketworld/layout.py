"""Free scenes (format 2): one to six things of any size at any place, overlapping a little.

Never more than OVERLAP of a thing lies under or over others, by their boxes.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace

from quizglass_lab.pocketworld.arrangement import Box, box_of, tilt_of, turned_about_middle
from quizglass_lab.pocketworld.drawing.faults import MOST_HIDDEN
from quizglass_lab.pocketworld.scenes import (
    BACKDROP_COUNT,
    FAULTS,
    SPOILED,
    Board,
    Fault,
    Placed,
    Scene,
    carrier,
)
from quizglass_lab.pocketworld.world import Thing

MOST_THINGS = 6
OVERLAP = 0.3
"""Of the smaller thing's box, and of any thing's box in sum."""
ASKED_SIZE = 0.27
"""Least width or height of a thing that is asked about, as a share of the picture."""
_SCALES = {1: (0.42, 0.85), 2: (0.28, 0.54), 3: (0.24, 0.46), 4: (0.22, 0.4), 5: (0.2, 0.36), 6: (0.18, 0.32)}
_COVER_SCALE = (0.7, 0.85)
_BAND = 0.2  # of the picture's height is left to a sign
_MARGIN = 0.01
_SMALL_LETTERS = 0.011
_TRIES, _SHRINK = 30, 0.94


def free_scene(
    things: Sequence[Thing],
    rng: random.Random,
    *,
    asked: Collection[str] = (),
    sign: str | None = None,
    spoiled: bool = False,
    fault_share: float = 0.4,
) -> Scene:
    """Place one to six things anywhere; those with the ids `asked` are at least ASKED_SIZE wide or high.

    A share `fault_share` of the scenes has a fault, a weaker one with a sign; `spoiled` makes the sign unreadable.
    Raises ValueError for any other number of things.
    """
    if not 1 <= len(things) <= MOST_THINGS:
        raise ValueError(f"things: a free scene shows 1 to {MOST_THINGS} things, not {len(things)}; pass fewer")
    covered = sign is not None and not spoiled and carrier(things) != "sign"
    board = _board(rng, spoiled) if sign and not covered else None
    fault = _fault(len(things), sign, rng, fault_share)
    seed = rng.getrandbits(32)
    placer = _Placer(rng, tilt_of(fault, seed), _room(board), rng.choice((0.0, 0.1, OVERLAP, OVERLAP)))
    placed = placer.place([_sized(thing, len(things), covered, asked, rng) for thing in things], asked)
    if fault and fault.name == "truncation":
        placed = placer.push_out(placed, fault.strength)
    in_order = sorted(placed, key=lambda p: p.centre or (0.5, 0.5))
    return Scene(tuple(in_order), rng.randrange(BACKDROP_COUNT), sign, fault, seed, board)


def overlap(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0.0) * max(high, 0.0)


def area(box: Box) -> float:
    """A box's area, as a share of the picture's."""
    return (box[2] - box[0]) * (box[3] - box[1])


def intersection_over_union(one: Box, other: Box) -> float:
    """What two boxes share of the area that either covers, 0 to 1; 0 where neither has an area."""
    shared = overlap(one, other)
    union = area(one) + area(other) - shared
    return shared / union if union else 0.0


def _board(rng: random.Random, spoiled: bool) -> Board:
    centre = (0.5 + rng.uniform(-0.02, 0.02), rng.choice((0.1, 0.9)))
    if not spoiled:
        return Board(centre)
    way = rng.choice(SPOILED)
    return Board(centre, _SMALL_LETTERS, way) if way == "small" else Board(centre, spoiled=way)


def _room(board: Board | None) -> tuple[float, float]:
    """Top and bottom of the space that is left to the things."""
    if board is None:
        return _MARGIN, 1 - _MARGIN
    return (_BAND, 1 - _MARGIN) if board.centre[1] < 0.5 else (_MARGIN, 1 - _BAND)


def _fault(count: int, sign: str | None, rng: random.Random, fault_share: float) -> Fault | None:
    if rng.random() >= fault_share:
        return None
    # Among several things some hide others already, and a hand over one would hide its neighbours too.
    kinds = FAULTS if count == 1 and sign is None else [name for name in FAULTS if name != "occlusion"]
    return Fault(rng.choice(kinds), round(rng.uniform(0.3, 1.0) * (0.5 if sign else 1.0), 3))


def _sized(thing: Thing, count: int, covered: bool, asked: Collection[str], rng: random.Random) -> Placed:
    low, high = _COVER_SCALE if covered else _SCALES[count]
    scale, angle, mirror = rng.uniform(low, high), rng.uniform(-7, 7), rng.random() < 0.5
    placed = Placed(thing, "middle", round(scale, 3), round(angle, 2), mirror, (0.5, 0.5))
    if thing.id in asked:
        return replace(placed, scale=max(placed.scale, _least_scale(placed)))
    return placed


def _least_scale(placed: Placed) -> float:
    """The scale at which the thing is ASKED_SIZE wide or high."""
    left, top, right, bottom = box_of(replace(placed, scale=0.5), (0.5, 0.5), 0.0)
    return round(0.5 * ASKED_SIZE / max(right - left, bottom - top) + 0.001, 3)


class _Placer:
    """Finds places by trying; where there is no room for all, things that are not asked about get smaller."""

    def __init__(self, rng: random.Random, tilt: float, room: tuple[float, float], most: float) -> None:
        self._rng = rng
        self._tilt = tilt
        self._room = room
        self._most = most
        """Of the boxes' areas, how much may overlap."""

    def place(self, things: list[Placed], asked: Collection[str]) -> list[Placed]:
        while True:
            placed = self._attempt(sorted(things, key=lambda p: (p.thing.id not in asked, -p.scale)))
            if placed is not None:
                return placed
            things = [self._smaller(p, _least_scale(p) if p.thing.id in asked else 0.0) for p in things]

    def _smaller(self, placed: Placed, least: float) -> Placed:
        return replace(placed, scale=max(least, round(placed.scale * _SHRINK, 3)))

    def push_out(self, things: list[Placed], strength: float) -> list[Placed]:
        """Move the leftmost or rightmost thing partly beyond the border."""
        side = self._rng.choice((-1, 1))
        outer = max(things, key=lambda p: side * self._box(p)[2 if side > 0 else 0])
        left, _, right, _ = self._box(outer)
        free = 1 - right if side > 0 else left
        x, y = outer.centre or (0.5, 0.5)
        # The picture's tilt turns a way sideways into one that is hardly shorter.
        moved = replace(outer, centre=(x + side * (free + MOST_HIDDEN * strength * (right - left)), y))
        others = [p for p in things if p is not outer]
        return [*others, moved] if self._fits(self._box(moved), [self._box(p) for p in others], OVERLAP) else things

    def _attempt(self, things: list[Placed]) -> list[Placed] | None:
        placed: list[Placed] = []
        boxes: list[Box] = []
        for thing in things:
            at = self._spot(thing, boxes)
            if at is None:
                return None
            placed.append(at)
            boxes.append(self._box(at))
        return placed

    def _spot(self, thing: Placed, others: Sequence[Box]) -> Placed | None:
        left, top, right, bottom = box_of(thing, (0.5, 0.5), self._tilt)
        xs = (_MARGIN + 0.5 - left, 1 - _MARGIN + 0.5 - right)
        ys = (self._room[0] + 0.5 - top, self._room[1] + 0.5 - bottom)
        if xs[0] > xs[1] or ys[0] > ys[1]:
            return None
        for _ in range(_TRIES):
            x, y = self._rng.uniform(*xs), self._rng.uniform(*ys)
            box = (left + x - 0.5, top + y - 0.5, right + x - 0.5, bottom + y - 0.5)
            if self._fits(box, others, self._most):
                upright = turned_about_middle((x, y), -self._tilt)
                return replace(thing, slot=_third(x), centre=(round(upright[0], 4), round(upright[1], 4)))
        return None

    def _fits(self, box: Box, others: Sequence[Box], most: float) -> bool:
        """Whether no box is hidden by, or hides, more than `most` of a smaller one, nor any in sum."""
        shared = [overlap(box, other) for other in others]
        if sum(shared) > most * area(box):
            return False
        for other, part in zip(others, shared, strict=True):
            if part and part + sum(overlap(other, third) for third in others if third is not other) > most * area(
                other
            ):
                return False
        return True

    def _box(self, placed: Placed) -> Box:
        return box_of(placed, placed.centre or (0.5, 0.5), self._tilt)


def _third(x: float) -> str:
    return "left" if x < 1 / 3 else "middle" if x < 2 / 3 else "right"
