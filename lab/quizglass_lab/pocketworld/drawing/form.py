"""What a kind's drawing reads from a look: the shape's name, three proportions, and where accents go."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

from quizglass_lab.pocketworld.drawing.canvas import Colour, Pen
from quizglass_lab.pocketworld.drawing.patterns import Box, paint_pattern


@dataclass(frozen=True)
class Form:
    """One thing's form; every number lies in 0..1."""

    shape: str
    a: float
    b: float
    c: float
    place: float
    pattern: str
    pitch: float
    turn: float

    @classmethod
    def from_params(cls, shape: str, pattern: str, params: tuple[float, ...]) -> Form:
        """Read params 0-2 as proportions, 3 as pitch and accent place, 4 as direction; 5 is `jittered`'s."""
        a, b, c, pitch, turn, _ = params
        return cls(shape, a, b, c, (pitch * 2) % 1.0, pattern, pitch, turn)

    def finish_body(self, pen: Pen, box: Box, joined: bool = False) -> None:
        """Draw the pattern over the body's parts, and their edges; details come on top afterwards.

        `joined` parts have an edge around them all, others an edge each.
        """
        if joined:
            pen.join_body()
        paint_pattern(pen, self.pattern, box, self.pitch, self.turn)
        if not joined:
            pen.outline_body()


def span(share: float, low: float, high: float) -> float:
    """Return the value `share` of the way from `low` to `high`."""
    return low + (high - low) * share


def jittered(colour: Colour, amount: float) -> Colour:
    """Return the colour with its hue and brightness moved a little: never far enough to change its name."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(channel / 255 for channel in colour))
    shift = amount - 0.5
    red, green, blue = colorsys.hsv_to_rgb((hue + 0.03 * shift) % 1.0, saturation, min(1.0, value * (1 + 0.16 * shift)))
    return round(red * 255), round(green * 255), round(blue * 255)
