"""Pictures that clients send: what one may be at most, and decoding in this process.

What a header claims is checked before a pixel is loaded. A 143-byte PNG of 20000 x 1 pixels can overflow the stack of
an image library further down, so every engine is given arrays from here and never the bytes a client sent. The server
decodes all but small JPEGs in processes of their own: `decoding.decoder`.
"""

from __future__ import annotations

import hashlib
import io

import numpy as np
from PIL import Image

from quizglass.picture_files.errors import BadPicture, OutOfMemory
from quizglass.picture_files.header import Header, read_header
from quizglass.picture_files.rgb import decode_bytes
from quizglass.picture_files.structure import read_structure
from quizglass_server.config.settings import PictureLimits
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.errors import InvalidPicture, Overloaded

_MIN_SIDE = 8
_QUICK_BYTES, _QUICK_PIXELS, _QUICK_SCANS = 256 * 1024, 512 * 512, 16
_THUMBNAIL_QUALITY = 80
_RETRY_S = 1.0


def decode_picture(encoded: bytes, limits: PictureLimits, field: str, *, sha256: bytes | None = None) -> Picture:
    """Decode one JPEG, PNG or WebP to upright sRGB, in this process and however long it takes.

    Args:
        encoded: the file's bytes.
        limits: caps, checked on the header before the pixels are loaded.
        field: path of the field in the request, for the error.
        sha256: of the bytes, where it is known already.

    Returns:
        The picture, height x width x 3, uint8, not to be written to; EXIF orientation and colour profile applied,
        transparency on white; of an animation its first frame.

    Raises:
        InvalidPicture: not such a file, damaged, over a cap, or made to be long to decode.
        Overloaded: there is no memory for it.
    """
    header = check_header(encoded, limits, field)
    try:
        width, height, rgb = decode_bytes(encoded, header)
    except BadPicture as refusal:
        raise InvalidPicture(field, str(refusal)) from refusal
    except (OutOfMemory, MemoryError):
        raise Overloaded("there is no memory to decode the picture now; try again later", _RETRY_S) from None
    pixels = np.frombuffer(rgb, dtype=np.uint8).reshape(height, width, 3)
    return Picture(sha256 or hashlib.sha256(encoded).digest(), pixels)


def check_header(encoded: bytes, limits: PictureLimits, field: str) -> Header:
    """What a file claims to be, if that may be decoded.

    Raises:
        InvalidPicture: no picture, or over a cap.
    """
    if not encoded:
        raise InvalidPicture(field, "the picture has 0 bytes; send the whole file")
    if len(encoded) > limits.max_frame_bytes:
        raise InvalidPicture(
            field, f"{len(encoded)} bytes is more than the {limits.max_frame_bytes} allowed; resize it"
        )
    try:
        header = read_header(encoded)
    except BadPicture as refusal:
        raise InvalidPicture(field, str(refusal)) from refusal
    if header.pixels > limits.max_frame_pixels:
        claimed = f"{header.width} x {header.height}"
        raise InvalidPicture(field, f"{claimed} pixels is more than the {limits.max_frame_pixels} allowed; resize it")
    _check_shape(header.width, header.height, limits, field)
    return header


def _check_shape(width: int, height: int, limits: PictureLimits, field: str) -> None:
    aspect = max(width, height) / min(width, height)
    if aspect > limits.max_frame_aspect:
        raise InvalidPicture(
            field, f"one side is {aspect:.0f} times the other, more than {limits.max_frame_aspect:g}; crop it"
        )
    if min(width, height) < _MIN_SIDE:
        raise InvalidPicture(field, f"{width} x {height} pixels is too small; at least {_MIN_SIDE} a side")


def is_quick(encoded: bytes) -> bool:
    """Whether decoding takes a few milliseconds at most: a JPEG of few bytes, few pixels and few passes over them.

    One with a colour profile is not: that is a program for a library of its own, which may fail.
    """
    if len(encoded) > _QUICK_BYTES:
        return False
    try:
        header = read_header(encoded)
        if header.format != "JPEG" or header.profiled or header.pixels > _QUICK_PIXELS:
            return False
        return read_structure(header.format, encoded).passes <= _QUICK_SCANS
    except BadPicture:  # whatever it is, the decoder will say
        return False


def thumbnail(pixels: RGB, side: int) -> bytes:
    """A picture as JPEG, its longest side at most `side` pixels. Blocks."""
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((side, side), Image.Resampling.BOX, reducing_gap=2.0)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_THUMBNAIL_QUALITY)
    return out.getvalue()
