"""Pictures of pocketworld: a reference picture of one thing, and scenes.

A picture follows from the look or the scene alone: the same scene gives the same pixels.
"""

from __future__ import annotations

import math
import random
from string import capwords

from PIL import Image

from quizglass_export.pocketworld.drawing.backdrops import BACKDROPS
from quizglass_export.pocketworld.drawing.canvas import Colour, Pen, Point, mix, oval
from quizglass_export.pocketworld.drawing.faults import MOST_HIDDEN, MOST_TILT, occlude, spoil
from quizglass_export.pocketworld.drawing.form import Form, jittered
from quizglass_export.pocketworld.drawing.kinds import draw_kind
from quizglass_export.pocketworld.drawing.lettering import board, paste_board, two_lines
from quizglass_export.pocketworld.scenes import Fault, Placed, Scene, printed_on
from quizglass_export.pocketworld.world import COLOURS, Look

_PLAIN: Colour = (232, 231, 227)
_FINE = 320
"""From this size on pictures are drawn twice as large and averaged: smooth edges where a person looks."""
_LETTERS = 0.09
_COVER_MIDDLE: Point = (0.02, 0.12)
_COVER_MIDDLES: dict[str, Point] = {"wide": (0.1, 0.03)}
_COVER_ROOM = 0.5
_FEET = {"car": 0.34, "boat": 0.38, "dish": 0.42}
_SLOT_X = {"left": 0.0, "middle": 0.5, "right": 1.0}


def draw_thing(look: Look, size: int, *, label: str | None = None) -> Image.Image:
    """Return the reference picture of a thing: RGB, size x size, a plain light backdrop, no fault.

    `label` is printed on a board below the thing.
    """
    fine = size * (2 if size >= _FINE else 1)
    picture = Image.new("RGB", (fine, fine), _PLAIN)
    middle, width = ((0.5, 0.43), 0.7) if label else ((0.5, 0.5), 0.8)
    _draw_look(_pen(picture, look, (middle[0] * fine, middle[1] * fine), width * fine, 0.0, False), look)
    if label:
        paste_board(picture, board((capwords(label),), fine, _LETTERS), (0.5 * fine, 0.91 * fine), 0.0)
    return picture if fine == size else picture.reduce(2)


def draw_scene(scene: Scene, size: int = 448) -> Image.Image:
    """Return the picture of a scene: RGB, size x size."""
    rng = random.Random(scene.seed)
    fault = scene.fault or Fault("none", 0.0)
    fine = size * (2 if size >= _FINE else 1)
    tilt = rng.choice((-1.0, 1.0)) * MOST_TILT * fault.strength if fault.name == "tilt" else 0.0
    picture = Image.new("RGB", (fine, fine), _PLAIN)
    BACKDROPS[scene.backdrop % len(BACKDROPS)](Pen(picture, (fine / 2, fine / 2), fine, tilt))
    up = rng.random() < 0.5
    shift = _truncation(scene, fault, rng)
    pens = [
        _draw_placed(picture, placed, _centre(placed, scene, shift, up, rng), tilt, fine) for placed in scene.things
    ]
    if fault.name == "occlusion" and pens:
        occlude(rng.choice(pens), fault.strength, rng)
    if scene.sign and printed_on(scene) != "sign":
        _print_on_cover(picture, scene.things[0], scene.sign, pens[0], tilt)
    elif scene.sign:
        at = _turned((0.5 + rng.uniform(-0.02, 0.02), 0.1 if up else 0.9), tilt)
        panel = board((capwords(scene.sign),), fine, _LETTERS)
        paste_board(picture, panel, (at[0] * fine, at[1] * fine), tilt + rng.uniform(-1.5, 1.5))
    if fine != size:
        picture = picture.reduce(2)
    return spoil(picture, fault.name, fault.strength, scene.seed)


def _print_on_cover(picture: Image.Image, placed: Placed, words: str, pen: Pen, tilt: float) -> None:
    """Print words on a book's cover or a packet's label; `pen` is in the thing's place, not turned by its own."""
    panel = board(two_lines(capwords(words)), picture.width, _LETTERS, placed.scale * _COVER_ROOM)
    x, y = _COVER_MIDDLES.get(placed.thing.look.shape, _COVER_MIDDLE)
    at = pen.pixels([(-x if placed.mirror else x, y)])[0]
    paste_board(picture, panel, at, tilt + placed.angle)


def _truncation(scene: Scene, fault: Fault, rng: random.Random) -> float:
    """How far the things move sideways, as a share of the picture, so that one reaches beyond the border."""
    if fault.name != "truncation" or not scene.things:
        return 0.0
    side = rng.choice((-1.0, 1.0))
    outer = scene.things[0 if side < 0 else -1]
    free = 0.5 - abs(_home(outer, scene)[0] - 0.5) - outer.scale / 2
    return side * (free + MOST_HIDDEN * fault.strength * outer.scale)


def _home(placed: Placed, scene: Scene) -> Point:
    """The middle of a thing's place, before jitter."""
    if len(scene.things) == 1:
        return 0.5, 0.5
    edge = placed.scale / 2 + 0.01
    return min(max(_SLOT_X[placed.slot], edge), 1 - edge), 0.5


def _centre(placed: Placed, scene: Scene, shift: float, sign_up: bool, rng: random.Random) -> Point:
    x, y = _home(placed, scene)
    one = len(scene.things) == 1
    reach = (0.06, 0.04) if one else (0.006, 0.08)
    if shift:
        reach = (0.0, reach[1])
    if scene.sign and printed_on(scene) == "sign":
        y += 0.09 if sign_up else -0.09
    return x + shift + rng.uniform(-reach[0], reach[0]), y + rng.uniform(-reach[1], reach[1])


def _turned(at: Point, degrees: float) -> Point:
    """Rotate a point of the unit square about its middle, clockwise on the screen."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y = at[0] - 0.5, at[1] - 0.5
    return 0.5 + x * c - y * s, 0.5 + x * s + y * c


def _draw_placed(picture: Image.Image, placed: Placed, centre: Point, tilt: float, size: int) -> Pen:
    """Draw one thing with its shadow; return a pen in its place that is neither turned nor mirrored by its own."""
    x, y = _turned(centre, tilt)
    at, width = (x * size, y * size), placed.scale * size
    look = placed.thing.look
    level = Pen(picture, at, width, tilt)
    foot = _FEET.get(look.kind, 0.48)
    under = level.pixels([(0.0, foot)])[0]
    ground = picture.getpixel((min(max(round(under[0]), 0), size - 1), min(max(round(under[1]), 0), size - 1)))
    if isinstance(ground, tuple):
        level.shape(oval(0.0, foot, 0.44, 0.05), mix((ground[0], ground[1], ground[2]), (0, 0, 0), 0.18), edge=False)
    _draw_look(_pen(picture, look, at, width, tilt + placed.angle, placed.mirror), look)
    return level


def _pen(picture: Image.Image, look: Look, centre: Point, width: float, angle: float, mirror: bool) -> Pen:
    if len(look.params) != 6:
        raise ValueError(
            f"look.params: a look has 6 parameters, not {len(look.params)}; give one number in 0..1 for each"
        )
    body, accent = (_colour(name, field) for name, field in ((look.body, "body"), (look.accent, "accent")))
    return Pen(picture, centre, width, angle, mirror, jittered(body, look.params[5]), accent)


def _colour(name: str, field: str) -> Colour:
    if name not in COLOURS:
        raise ValueError(f"look.{field}: {name!r} is no colour of this world; use one of {', '.join(COLOURS)}")
    return COLOURS[name]


def _draw_look(pen: Pen, look: Look) -> None:
    draw_kind(pen, look.kind, Form.from_params(look.shape, look.pattern, look.params))
