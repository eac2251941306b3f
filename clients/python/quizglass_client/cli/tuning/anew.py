"""Pictures of the store taken anew, as a second photograph of the same thing would be."""

from __future__ import annotations

import io

from PIL import Image

from quizglass_client.pictures import as_seen, encode

SIDE = 1024
"""Pixels of the longest side from which a picture is taken anew."""


def taken_anew(picture: bytes, turn: float = 6, smaller: float = 0.85) -> Image.Image:
    """An encoded picture, turned by so many degrees and made smaller by this factor.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    with Image.open(io.BytesIO(encode(picture, SIDE))) as image:
        seen = as_seen(image)
    small = seen.resize((max(8, round(seen.width * smaller)), max(8, round(seen.height * smaller))))
    return small.rotate(turn, fillcolor="white")
