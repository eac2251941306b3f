"""Decodes frames defensively: what a header claims is checked before a pixel is loaded.

A 143-byte PNG of 20000 x 1 pixels can overflow the stack of an image library further down, so every engine is given
arrays from here and never the bytes a client sent.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from quizglass_server.domain import RGB, Picture
from quizglass_server.errors import InvalidPicture

FORMATS = ("JPEG", "PNG", "WEBP")
_MIN_SIDE = 8
_QUICK_BYTES, _QUICK_PIXELS = 256 * 1024, 512 * 512
_THUMBNAIL_QUALITY = 80


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """What a frame may be at most."""

    max_bytes: int = 8 * 1024 * 1024
    max_pixels: int = 40_000_000
    max_aspect: float = 8.0
    """Longest side over shortest."""


def decode_picture(encoded: bytes, limits: PictureLimits, field: str, *, sha256: bytes | None = None) -> Picture:
    """Decode one JPEG, PNG or WebP to upright sRGB.

    Args:
        encoded: the file's bytes.
        limits: caps, checked on the header before the pixels are loaded.
        field: path of the field in the request, for the error.
        sha256: of the bytes, where it is known already.

    Returns:
        The picture, height x width x 3, uint8, not to be written to; EXIF orientation applied, transparency on white.

    Raises:
        InvalidPicture: not such a file, damaged, animated, or over a cap.
    """
    if not encoded:
        raise InvalidPicture(field, "the picture has 0 bytes")
    if len(encoded) > limits.max_bytes:
        raise InvalidPicture(field, f"{len(encoded)} bytes is more than the {limits.max_bytes} allowed; resize it")
    try:
        with Image.open(io.BytesIO(encoded), formats=FORMATS) as image:
            _check_header(image, limits, field)
            image.load()
            pixels = _to_rgb(_upright(image))
    except InvalidPicture:
        raise
    except UnidentifiedImageError as error:
        raise InvalidPicture(field, f"not a picture; send {', '.join(FORMATS)}") from error
    except Image.DecompressionBombError as error:
        raise InvalidPicture(field, f"more pixels than the {limits.max_pixels} allowed; resize it") from error
    except Exception as error:
        # Parsers of damaged files raise anything: struct.error, IndexError, zlib.error, ...
        raise InvalidPicture(field, "the picture is damaged or truncated") from error
    return Picture(sha256 or hashlib.sha256(encoded).digest(), pixels)


def is_quick(encoded: bytes) -> bool:
    """Whether decoding takes under a millisecond or so: less than handing it to another thread may."""
    if len(encoded) > _QUICK_BYTES:
        return False
    try:
        with Image.open(io.BytesIO(encoded), formats=("JPEG",)) as image:
            return image.width * image.height <= _QUICK_PIXELS
    except Exception:  # whatever it is, `decode_picture` will say
        return False


def _check_header(image: Image.Image, limits: PictureLimits, field: str) -> None:
    width, height = image.size
    if width * height > limits.max_pixels:
        raise InvalidPicture(
            field, f"{width} x {height} pixels is more than the {limits.max_pixels} allowed; resize it"
        )
    aspect = max(width, height) / min(width, height)
    if aspect > limits.max_aspect:
        raise InvalidPicture(
            field, f"one side is {aspect:.0f} times the other, more than {limits.max_aspect:g}; crop it"
        )
    if min(width, height) < _MIN_SIDE:
        raise InvalidPicture(field, f"{width} x {height} pixels is too small; at least {_MIN_SIDE} a side")
    # MPO is a photograph followed by a preview or a second view, as many phones write it: the first picture counts.
    if image.format != "MPO" and getattr(image, "is_animated", False):
        raise InvalidPicture(field, "the picture is animated; send a single frame")


def _upright(image: Image.Image) -> Image.Image:
    """The picture turned as its EXIF block says. Most say nothing, and a copy costs as much as decoding."""
    try:
        if image.getexif().get(ExifTags.Base.Orientation, 1) == 1:
            return image
        return ImageOps.exif_transpose(image)
    except Exception:  # a damaged EXIF block says nothing about the picture, which is whole
        return image


def _to_rgb(image: Image.Image) -> RGB:
    if image.mode.startswith("I;16") or image.mode == "I":
        # Pillow clips 16-bit grey when converting, which turns it white: scale it instead.
        grey = (np.asarray(image, dtype=np.uint32) >> 8).clip(0, 255).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layered = image.convert("RGBA")
        image = Image.new("RGBA", layered.size, "white")
        image.alpha_composite(layered)
    return np.asarray(image if image.mode == "RGB" else image.convert("RGB"), dtype=np.uint8)


def thumbnail(pixels: RGB, side: int) -> bytes:
    """A picture as JPEG, its longest side at most `side` pixels. Blocks."""
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((side, side), Image.Resampling.BOX, reducing_gap=2.0)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_THUMBNAIL_QUALITY)
    return out.getvalue()
