"""Scenes: which things a picture shows, where, the background, and its faults.

A scene is data; `draw.draw_scene` turns it into pixels, from the scene alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_lab.pocketworld.world import Thing

SLOTS = {1: ("middle",), 2: ("left", "right"), 3: ("left", "middle", "right")}
"""Slots from left to right, by the number of things."""
SPOILED = ("blurred", "dark", "small")
"""Why a sign cannot be read."""
FAULTS = ("blur", "dark", "tilt", "truncation", "occlusion", "noise")
BACKDROP_COUNT = 8
_SCALES = {1: (0.55, 0.85), 2: (0.44, 0.49), 3: (0.315, 0.345)}
_SIGN_SCALE = 0.66
_COVER_SCALE = (0.7, 0.85)
_COVERS = {"book": "cover", "packet": "label"}
_SIGN_FAULT = 0.5


@dataclass(frozen=True)
class Placed:
    """A thing in a scene: `scale` is its width as a share of the picture's, `angle` in degrees clockwise.

    `centre` (x, y as shares of the picture, before the camera tilts) is where it stands in a free scene, `slot` then
    the third of the picture it stands in; None in format 1, where the slot decides. `arrangement.boxes` tells what
    each thing covers of the picture, in both.
    """

    thing: Thing
    slot: str
    scale: float
    angle: float
    mirror: bool
    centre: tuple[float, float] | None = None


@dataclass(frozen=True)
class Board:
    """How a free scene shows its sign: the height of the letters as a share of the picture's, and what spoils them."""

    centre: tuple[float, float]
    letters: float = 0.09
    spoiled: str = ""
    """One of SPOILED, too far for anybody to read; empty for a sign that can be read."""


@dataclass(frozen=True)
class Fault:
    """A fault of the camera or of the moment; `name` one of FAULTS or "none", `strength` in 0..1."""

    name: str
    strength: float


@dataclass(frozen=True)
class Scene:
    """What one picture shows.

    `things` go from left to right; `backdrop` in 0..BACKDROP_COUNT-1; `sign` is printed on a board;
    `seed` decides what is left to chance while drawing: jitter of position, the grain of noise. In a free scene
    things have a `centre`, and `board` says where and how the sign is printed; None with words: on the only thing.
    """

    things: tuple[Placed, ...]
    backdrop: int
    sign: str | None
    fault: Fault | None
    seed: int
    board: Board | None = None

    @property
    def free(self) -> bool:
        """Whether the things stand where they like (format 2) rather than in slots."""
        return any(placed.centre is not None for placed in self.things)

    @property
    def words(self) -> str | None:
        """The printed words, as far as they can be read."""
        return None if self.board and self.board.spoiled else self.sign


def printed_on(scene: Scene) -> str:
    """Say what carries the scene's words: "cover" of its only book, "label" of its only packet, or a "sign"."""
    return "sign" if scene.board else carrier([placed.thing for placed in scene.things])


def carrier(things: Sequence[Thing]) -> str:
    """What carries the words of a scene with these things, unless a board is put up."""
    return _COVERS.get(things[0].kind, "sign") if len(things) == 1 else "sign"


def make_scene(
    things: Sequence[Thing], rng: random.Random, *, sign: str | None = None, fault_share: float = 0.4
) -> Scene:
    """Place one to three things, from left to right in the order given.

    A share `fault_share` of the scenes has a fault; with a sign it is weaker, so that its words stay readable.
    See `printed_on` for what carries the words of `sign`.
    Raises ValueError for any other number of things.
    """
    slots = SLOTS.get(len(things))
    if slots is None:
        raise ValueError(f"things: a scene shows 1 to 3 things, not {len(things)}; pass fewer or make several scenes")
    placed = tuple(_place(thing, slot, len(things), sign, rng) for thing, slot in zip(things, slots, strict=True))
    fault = None
    if rng.random() < fault_share:
        strength = rng.uniform(0.3, 1.0) * (_SIGN_FAULT if sign else 1.0)
        covered = sign and carrier(things) != "sign"
        fault = Fault(rng.choice([f for f in FAULTS if not (covered and f == "occlusion")]), round(strength, 3))
    return Scene(placed, rng.randrange(BACKDROP_COUNT), sign, fault, rng.getrandbits(32))


def _place(thing: Thing, slot: str, count: int, sign: str | None, rng: random.Random) -> Placed:
    low, high = _SCALES[count]
    if sign and count == 1:
        low, high = _COVER_SCALE if carrier([thing]) != "sign" else (low, _SIGN_SCALE)
    return Placed(thing, slot, round(rng.uniform(low, high), 3), round(rng.uniform(-7, 7), 2), rng.random() < 0.5)
