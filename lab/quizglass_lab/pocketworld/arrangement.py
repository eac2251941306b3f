"""Where the things of a scene come to lie in its picture: tilt, centres, depth and boxes, from the scene alone."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from quizglass_lab.pocketworld.drawing.canvas import Point
from quizglass_lab.pocketworld.drawing.extent import extent
from quizglass_lab.pocketworld.drawing.faults import MOST_HIDDEN, MOST_TILT
from quizglass_lab.pocketworld.scenes import Fault, Placed, Scene, printed_on

Box = tuple[float, float, float, float]
"""left, top, right, bottom, as shares of the picture."""
_SLOT_X = {"left": 0.0, "middle": 0.5, "right": 1.0}
_FEET = {"car": 0.34, "boat": 0.38, "dish": 0.42}


@dataclass(frozen=True)
class Arrangement:
    """`centres` of the things before the tilt (degrees, clockwise); `sign_up`: where format 1 puts its sign.

    `rng` is where chance stands after all this, for what else is drawn.
    """

    tilt: float
    centres: tuple[Point, ...]
    sign_up: bool
    rng: random.Random


def arrange(scene: Scene) -> Arrangement:
    """Settle everything about a scene's places."""
    rng = random.Random(scene.seed)
    fault = scene.fault or Fault("none", 0.0)
    tilt = _tilt(fault, rng)
    up = rng.random() < 0.5
    shift = 0.0 if scene.free else _truncation(scene, fault, rng)
    return Arrangement(tilt, tuple(_centre(placed, scene, shift, up, rng) for placed in scene.things), up, rng)


def tilt_of(fault: Fault | None, seed: int) -> float:
    """How far a scene of this seed and fault is turned, in degrees clockwise."""
    return _tilt(fault or Fault("none", 0.0), random.Random(seed))


def foot(kind: str) -> float:
    """Where a thing of a kind touches the ground, in its square."""
    return _FEET.get(kind, 0.48)


def depth_order(scene: Scene, arrangement: Arrangement) -> list[int]:
    """Indices of the things, the farthest first: in a free scene what stands lower in the picture is nearer."""
    order = list(range(len(scene.things)))
    if not scene.free:
        return order
    return sorted(order, key=lambda i: ground(scene.things[i], arrangement.centres[i]))


def ground(placed: Placed, centre: Point) -> float:
    """How far down a thing touches the ground, as a share of the picture: the lower, the nearer."""
    return centre[1] + foot(placed.thing.kind) * placed.scale


def boxes(scene: Scene) -> tuple[Box, ...]:
    """What each thing covers of the picture, without its shadow, cut at the borders; what hides it is not taken off."""
    arrangement = arrange(scene)
    return tuple(
        box_of(placed, centre, arrangement.tilt)
        for placed, centre in zip(scene.things, arrangement.centres, strict=True)
    )


def box_of(placed: Placed, centre: Point, tilt: float) -> Box:
    """The box of a thing that stands at `centre` in a picture tilted by so many degrees, cut at the borders."""
    x, y = turned_about_middle(centre, tilt)
    turn = math.radians(placed.angle + tilt)
    c, s = placed.scale * math.cos(turn), placed.scale * math.sin(turn)
    side = -1.0 if placed.mirror else 1.0
    look = placed.thing.look
    hull = extent(look.kind, look.shape, look.params)
    across = [side * c * px - s * py for px, py in hull]
    down = [side * s * px + c * py for px, py in hull]
    return (
        min(max(x + min(across), 0.0), 1.0),
        min(max(y + min(down), 0.0), 1.0),
        min(max(x + max(across), 0.0), 1.0),
        min(max(y + max(down), 0.0), 1.0),
    )


def turned_about_middle(at: Point, degrees: float) -> Point:
    """Rotate a point of the unit square about its middle, clockwise on the screen."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y = at[0] - 0.5, at[1] - 0.5
    return 0.5 + x * c - y * s, 0.5 + x * s + y * c


def _tilt(fault: Fault, rng: random.Random) -> float:
    return rng.choice((-1.0, 1.0)) * MOST_TILT * fault.strength if fault.name == "tilt" else 0.0


def _truncation(scene: Scene, fault: Fault, rng: random.Random) -> float:
    """How far the things move sideways, as a share of the picture, so that one reaches beyond the border."""
    if fault.name != "truncation" or not scene.things:
        return 0.0
    side = rng.choice((-1.0, 1.0))
    outer = scene.things[0 if side < 0 else -1]
    free = 0.5 - abs(_home(outer, scene)[0] - 0.5) - outer.scale / 2
    return side * (free + MOST_HIDDEN * fault.strength * outer.scale)


def _home(placed: Placed, scene: Scene) -> Point:
    """The middle of a thing's slot, before jitter."""
    if len(scene.things) == 1:
        return 0.5, 0.5
    edge = placed.scale / 2 + 0.01
    return min(max(_SLOT_X[placed.slot], edge), 1 - edge), 0.5


def _centre(placed: Placed, scene: Scene, shift: float, sign_up: bool, rng: random.Random) -> Point:
    if placed.centre is not None:
        return placed.centre
    x, y = _home(placed, scene)
    one = len(scene.things) == 1
    reach = (0.06, 0.04) if one else (0.006, 0.08)
    if shift:
        reach = (0.0, reach[1])
    if scene.sign and printed_on(scene) == "sign":
        y += 0.09 if sign_up else -0.09
    return x + shift + rng.uniform(-reach[0], reach[0]), y + rng.uniform(-reach[1], reach[1])
