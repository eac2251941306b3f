"""The six patterns a body may carry: plain, stripes, dots, checks, band, halves.

Patterns have few and big elements, since the models look at 112 x 112 pixels.  They are drawn in the thing's own
square, so they turn and mirror with it, and are clipped to what `Pen.body_shape` drew.
"""

from __future__ import annotations

from PIL import Image, ImageDraw

from quizglass_lab.pocketworld.drawing.canvas import Pen, Point, oval, rect, turned

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 of the body in the thing's square."""

PATTERNS = ("plain", "stripes", "dots", "checks", "band", "halves")


def paint_pattern(pen: Pen, pattern: str, box: Box, pitch: float, turn: float) -> None:
    """Draw `pattern` in the accent colour over the body.

    `pitch` in 0..1 sets the size of the elements, `turn` in 0..1 their direction.
    Raises ValueError for a pattern that has no drawing.
    """
    elements = _elements(pattern, box, pitch, turn)
    if not elements or not pen.outlines:
        return
    mask = Image.new("L", pen.picture.size, 0)
    stencil = ImageDraw.Draw(mask)
    for outline in pen.outlines:
        stencil.polygon(outline, fill=255)
    bounds = mask.getbbox()
    if bounds is None:
        return
    covered = pen.picture.crop(bounds)
    brush = ImageDraw.Draw(covered)
    for element in elements:
        at = pen.pixels(element)
        brush.polygon([(x - bounds[0], y - bounds[1]) for x, y in at], fill=pen.accent)
    pen.picture.paste(covered, bounds[:2], mask.crop(bounds))


def _elements(pattern: str, box: Box, pitch: float, turn: float) -> list[list[Point]]:
    step = (0.5 * ((box[2] - box[0]) * (box[3] - box[1])) ** 0.5) * (0.62 + 0.3 * pitch)
    if pattern == "plain":
        return []
    if pattern == "stripes":
        return _stripes(box, step * 0.9, (0.0, 90.0, 45.0)[min(2, int(turn * 3))])
    if pattern == "dots":
        return _dots(box, step, turn)
    if pattern == "checks":
        return _checks(box, step, 45.0 if turn > 0.5 else 0.0)
    if pattern == "band":
        return _band(box, 0.2 + 0.12 * pitch, (0.0, 90.0, 35.0, -35.0)[min(3, int(turn * 4))])
    if pattern == "halves":
        return _halves(box, (0.0, 90.0, 180.0, 35.0)[min(3, int(turn * 4))])
    raise ValueError(f"look.pattern: {pattern!r} has no drawing; use one of {', '.join(PATTERNS)}")


def _middle(box: Box) -> Point:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _stripes(box: Box, step: float, angle: float) -> list[list[Point]]:
    cx, cy = _middle(box)
    bars = [rect(cx + i * step - 0.16 * step, cy - 1, cx + i * step + 0.16 * step, cy + 1) for i in range(-7, 8)]
    return [turned(bar, cx, cy, angle) for bar in bars]


def _dots(box: Box, step: float, turn: float) -> list[list[Point]]:
    cx, cy = _middle(box)
    columns, rows = int((box[2] - box[0]) / 2 / step) + 1, int((box[3] - box[1]) / 2 / step) + 1
    stagger = 0.5 if turn > 0.5 else 0.0
    return [
        oval(cx + (i + stagger * (j % 2)) * step, cy + j * step, step * 0.3)
        for j in range(-rows, rows + 1)
        for i in range(-columns, columns + 1)
    ]


def _checks(box: Box, step: float, angle: float) -> list[list[Point]]:
    cx, cy = _middle(box)
    step *= 0.8
    reach = int(0.75 * max(box[2] - box[0], box[3] - box[1]) / step) + 1
    cells = [
        rect(cx + i * step, cy + j * step, cx + (i + 0.8) * step, cy + (j + 0.8) * step)
        for j in range(-reach, reach)
        for i in range(-reach, reach)
        if (i + j) % 2 == 0
    ]
    return [turned(cell, cx, cy, angle) for cell in cells] if angle else cells


def _band(box: Box, share: float, angle: float) -> list[list[Point]]:
    cx, cy = _middle(box)
    across = box[3] - box[1] if abs(angle) < 45 else box[2] - box[0]
    half = share * across / 2
    return [turned(rect(cx - 1, cy - half, cx + 1, cy + half), cx, cy, angle)]


def _halves(box: Box, angle: float) -> list[list[Point]]:
    cx, cy = _middle(box)
    across = box[3] - box[1] if abs(angle - 90) < 45 else box[2] - box[0]
    return [turned(rect(cx + 0.14 * across, cy - 1, cx + 1, cy + 1), cx, cy, angle)]
