"""Pictures of the store taken anew, as a second photograph of the same thing would be."""

from __future__ import annotations

from PIL import Image

from quizglass_client.pictures import encode, pixels

SIDE = 1024
"""Pixels of the longest side from which a picture is taken anew."""


def taken_anew(picture: bytes, turn: float = 6, smaller: float = 0.85) -> Image.Image:
    """An encoded picture, turned by so many degrees and made smaller by this factor.

    Raises:
        InvalidRequest: it cannot be read.
    """
    seen = pixels(encode(picture, SIDE), SIDE)
    small = seen.resize((max(8, round(seen.width * smaller)), max(8, round(seen.height * smaller))))
    return small.rotate(turn, fillcolor="white")
