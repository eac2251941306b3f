"""Decodes to upright sRGB with Pillow, holding little beside the decoded picture: it is converted in strips.

Pixels are those of converting the picture as a whole: upright by EXIF, 16-bit grey scaled, transparency on white.
"""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TypeVar

from PIL import ExifTags, Image, UnidentifiedImageError

from quizglass_server.decoding.errors import DAMAGED, OutOfMemory, Refused
from quizglass_server.decoding.header import FORMATS, Header, reduction

_STRIP_PIXELS = 1 << 19
_HIGH_BYTE = {"I;16": 1, "I;16L": 1, "I;16B": 0}
"""Which of the two bytes of a pixel, by Pillow's name of the mode."""
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What makes a picture upright, by EXIF orientation."""
ANIMATED = "the picture is animated; send a single frame"
Made = TypeVar("Made")
_MEMORY_ERROR = "out of memory"
"""Part of what Pillow says of an allocation that failed in a decoder."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """An upright picture."""

    width: int
    height: int
    strips: Iterator[bytes]
    """Its rows from the top, some at a time, 3 bytes a pixel. Read them before anything else is decoded."""


def decode(file: IO[bytes], header: Header) -> Decoded:
    """Decode a picture whose header was read and judged.

    Raises:
        Refused: damaged, animated, or not what its header claims.
        OutOfMemory: as it says.
    """
    try:
        return checked(lambda: _decode(file, header))
    except Refused as refusal:
        # Libraries that find no memory say the same as of damaged files.
        if _there_is(header.memory(0)):
            raise
        raise OutOfMemory from refusal


def decode_bytes(encoded: bytes, header: Header) -> tuple[int, int, bytes]:
    """The same at once: width, height and pixels. Raises as `decode`."""
    decoded = decode(io.BytesIO(encoded), header)
    return decoded.width, decoded.height, checked(lambda: b"".join(decoded.strips))


def checked(make: Callable[[], Made]) -> Made:
    """What `make` returns; whatever it raises is one of two things. Raises Refused, OutOfMemory."""
    try:
        return make()
    except (Refused, OutOfMemory):
        raise
    except MemoryError as error:
        raise OutOfMemory from error
    except UnidentifiedImageError as error:
        raise Refused(f"not a picture; send {', '.join(FORMATS)}") from error
    except Exception as error:
        # The system's own errors have a number: they say nothing of the file.
        if _MEMORY_ERROR in str(error) or (isinstance(error, OSError) and error.errno):
            raise OutOfMemory from error
        # Parsers of damaged files raise anything: struct.error, IndexError, zlib.error, ...
        raise Refused(DAMAGED) from error


def _there_is(size: int) -> bool:
    """Whether so much memory could be had now."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return False
    return True


def _decode(file: IO[bytes], header: Header) -> Decoded:
    Image.MAX_IMAGE_PIXELS = None  # the header was judged already, by the server's own bound
    image: Image.Image = Image.open(file, formats=FORMATS)
    if image.size != (header.width, header.height):
        raise Refused(DAMAGED)
    # MPO is a photograph followed by a preview or a second view, as many phones write it: the first picture counts.
    if image.format != "MPO" and getattr(image, "is_animated", False):
        raise Refused(ANIMATED)
    if (scale := header.jpeg_scale) > 1:
        image.draft(None, (header.width // scale, header.height // scale))
    image.load()
    turn = _turn(image)
    vars(image).pop("_decoder", None)  # WebP's holds twice as much as the picture
    if turn is None:
        return _reduced(image)
    upright = _assembled(_reduced(image)).transpose(turn)
    return Decoded(upright.width, upright.height, _strips(upright, 1))


def _turn(image: Image.Image) -> Image.Transpose | None:
    """What makes the picture upright; most need nothing."""
    try:
        return _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # a damaged EXIF block says nothing about the picture, which is whole
        return None


def _reduced(image: Image.Image) -> Decoded:
    factor = reduction(image.width * image.height)
    return Decoded(-(-image.width // factor), -(-image.height // factor), _strips(image, factor))


def _assembled(decoded: Decoded) -> Image.Image:
    image = Image.new("RGB", (decoded.width, decoded.height))
    row = 0
    for strip in decoded.strips:
        rows = len(strip) // (3 * decoded.width)
        image.paste(Image.frombuffer("RGB", (decoded.width, rows), strip, "raw", "RGB", 0, 1), (0, row))
        row += rows
    return image


def _strips(image: Image.Image, factor: int) -> Iterator[bytes]:
    """The rows, some at a time, with sides reduced by a factor."""
    rows = max(_STRIP_PIXELS // image.width // factor, 1) * factor
    for top in range(0, image.height, rows):
        whole = rows >= image.height  # which need not be copied
        rgb = _to_rgb(image if whole else image.crop((0, top, image.width, min(top + rows, image.height))))
        yield (rgb if factor == 1 else rgb.reduce(factor)).tobytes()


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _HIGH_BYTE:
        # Pillow clips 16-bit grey when converting, which turns it white: take the high bytes instead.
        return Image.frombytes("L", image.size, image.tobytes()[_HIGH_BYTE[image.mode] :: 2]).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layered = image.convert("RGBA")
        image = Image.new("RGBA", layered.size, "white")
        image.alpha_composite(layered)
    return image if image.mode == "RGB" else image.convert("RGB")
