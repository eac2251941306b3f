"""Pictures of pocketworld: a reference picture of one thing, and scenes.

A picture follows from the look or the scene alone: the same scene gives the same pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import capwords

from PIL import Image, ImageFilter

from quizglass_lab.pocketworld.arrangement import Arrangement, arrange, depth_order, foot, turned_about_middle
from quizglass_lab.pocketworld.drawing.backdrops import BACKDROPS
from quizglass_lab.pocketworld.drawing.canvas import Colour, Pen, Point, mix, oval
from quizglass_lab.pocketworld.drawing.faults import occlude, spoil
from quizglass_lab.pocketworld.drawing.form import Form, jittered
from quizglass_lab.pocketworld.drawing.kinds import draw_kind
from quizglass_lab.pocketworld.drawing.lettering import board, inside, paste_board, two_lines
from quizglass_lab.pocketworld.scenes import Board, Fault, Placed, Scene, printed_on
from quizglass_lab.pocketworld.world import COLOURS, Look

_PLAIN: Colour = (232, 231, 227)
_FINE = 320
"""From this size on pictures are drawn twice as large and averaged: smooth edges where a person looks."""
_LETTERS = 0.09
_COVER_MIDDLE: Point = (0.02, 0.12)
_COVER_MIDDLES: dict[str, Point] = {"wide": (0.1, 0.03)}
_COVER_ROOM = 0.5
_BLURRED = 0.5
"""Of a letter's height: how far a sign is that cannot be read."""
_SHRINK = Image.Resampling.BOX


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
    fault = scene.fault or Fault("none", 0.0)
    fine = size * (2 if size >= _FINE else 1)
    arrangement = arrange(scene)
    tilt, rng = arrangement.tilt, arrangement.rng
    picture = Image.new("RGB", (fine, fine), _PLAIN)
    BACKDROPS[scene.backdrop % len(BACKDROPS)](Pen(picture, (fine / 2, fine / 2), fine, tilt))
    pens = [
        _draw_placed(picture, scene.things[i], arrangement.centres[i], tilt, fine)
        for i in depth_order(scene, arrangement)
    ]
    if fault.name == "occlusion" and pens:
        occlude(rng.choice(pens), fault.strength, rng)
    if scene.sign:
        _print_words(picture, scene, scene.sign, arrangement, pens)
    if fine != size:
        picture = picture.reduce(2)
    return spoil(picture, fault.name, fault.strength, scene.seed)


def _print_words(picture: Image.Image, scene: Scene, words: str, arrangement: Arrangement, pens: Sequence[Pen]) -> None:
    """Print words on the only thing, or on a board."""
    tilt, rng, fine = arrangement.tilt, arrangement.rng, picture.width
    if printed_on(scene) != "sign":
        _print_on_cover(picture, scene, words, pens[0], tilt)
        return
    if scene.board:
        at = turned_about_middle(scene.board.centre, tilt)
        panel = _panel(words, scene.board, fine)
    else:
        at = turned_about_middle((0.5 + rng.uniform(-0.02, 0.02), 0.1 if arrangement.sign_up else 0.9), tilt)
        panel = board((capwords(words),), fine, _LETTERS)
    paste_board(picture, panel, (at[0] * fine, at[1] * fine), tilt + rng.uniform(-1.5, 1.5))


def _panel(words: str, shown: Board, fine: int) -> Image.Image:
    """The board of a free scene; a spoiled one cannot be read at any size of the picture."""
    panel = board((capwords(words),), fine, _LETTERS)
    if shown.spoiled == "dark":
        return panel.point([round(32 + level * 0.004) for level in range(256)] * 3)
    if shown.spoiled:  # a small one too: in a large picture its letters would be large enough
        panel = panel.filter(ImageFilter.GaussianBlur(_BLURRED * _LETTERS * fine))
    if shown.spoiled == "small":
        share = shown.letters / _LETTERS
        return panel.resize((max(3, round(panel.width * share)), max(2, round(panel.height * share))), _SHRINK)
    return panel


def _print_on_cover(picture: Image.Image, scene: Scene, words: str, pen: Pen, tilt: float) -> None:
    """Print words on a book's cover or a packet's label; `pen` is in the thing's place, not turned by its own.

    In a free scene all of the words are in the picture, even where a part of the thing is not.
    """
    placed = scene.things[0]
    panel = board(two_lines(capwords(words)), picture.width, _LETTERS, placed.scale * _COVER_ROOM)
    x, y = _COVER_MIDDLES.get(placed.thing.look.shape, _COVER_MIDDLE)
    at, angle = pen.pixels([(-x if placed.mirror else x, y)])[0], tilt + placed.angle
    if scene.free:
        at = inside(panel, at, angle, picture.width)
    paste_board(picture, panel, at, angle)


def _draw_placed(picture: Image.Image, placed: Placed, centre: Point, tilt: float, size: int) -> Pen:
    """Draw one thing with its shadow; return a pen in its place that is neither turned nor mirrored by its own."""
    x, y = turned_about_middle(centre, tilt)
    at, width = (x * size, y * size), placed.scale * size
    look = placed.thing.look
    level = Pen(picture, at, width, tilt)
    ground_at = foot(look.kind)
    under = level.pixels([(0.0, ground_at)])[0]
    ground = picture.getpixel((min(max(round(under[0]), 0), size - 1), min(max(round(under[1]), 0), size - 1)))
    if isinstance(ground, tuple):
        level.shape(
            oval(0.0, ground_at, 0.44, 0.05), mix((ground[0], ground[1], ground[2]), (0, 0, 0), 0.18), edge=False
        )
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
