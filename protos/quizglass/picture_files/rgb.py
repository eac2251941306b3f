"""Decodes to upright sRGB with Pillow, holding little beside the decoded picture: it is converted in strips.

Pixels are those of converting the picture as a whole: upright by EXIF, 16-bit grey scaled, transparency on white,
colours by the profile. Of an animation it is the first frame; a JPEG that breaks off is grey from there, as browsers
show it.
"""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from PIL import ExifTags, Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from quizglass.picture_files.colour import Converter, to_srgb
from quizglass.picture_files.errors import CUT_OFF, DAMAGED, BadPicture, OutOfMemory
from quizglass.picture_files.header import Header, reduction
from quizglass.picture_files.png import picture_chunks
from quizglass.picture_files.structure import read_structure

MOST_MISSING = 3
"""A JPEG may lack less than one so-many-th of its rows."""
_EMPTY = range(126, 131)
"""What libjpeg gives for rows of which it has nothing: the middle of each band, whatever it is converted to."""
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
Made = TypeVar("Made")
_MEMORY_ERROR = "out of memory"
"""Part of Pillow's message for an allocation that failed in a decoder."""
# Opened by their own classes, since `Image.open` has a bound on pixels that is one for the whole program; who calls
# this has judged the header already.
_FILES: dict[str, Callable[[io.BytesIO], ImageFile.ImageFile]] = {
    "JPEG": JpegImageFile,  # of MPO, as many phones write it, the photograph: what follows is a preview
    "PNG": PngImageFile,
    "WEBP": WebPImageFile,
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """An upright picture."""

    width: int
    height: int
    parts: Iterator[Image.Image]
    """Its rows from the top, some at a time, RGB. Use them before anything else is decoded."""

    @property
    def strips(self) -> Iterator[bytes]:
        """The same as bytes, 3 a pixel."""
        return (part.tobytes() for part in self.parts)

    def image(self) -> Image.Image:
        """The whole picture."""
        first = next(self.parts)
        if first.height == self.height:
            return first
        image = Image.new("RGB", (self.width, self.height))
        image.paste(first, (0, 0))
        row = first.height
        for part in self.parts:
            image.paste(part, (0, row))
            row += part.height
        return image


def decode(data: bytes, header: Header, side: int = 0) -> Decoded:
    """Decode a picture whose header was read and judged.

    Args:
        data: the file.
        header: of the file.
        side: the longer side that is needed, in pixels; what comes is smaller only if the picture is, but perhaps
            larger. 0: as `KEPT_PIXELS` has it.

    Raises:
        BadPicture: damaged, not what its header claims, or made to be long to decode.
        OutOfMemory: as it says.
    """
    try:
        return checked(lambda: _decode(data, header, side))
    except BadPicture as refusal:
        # Libraries that find no memory say the same as of damaged files.
        if _there_is(header.memory(0, side)):
            raise
        raise OutOfMemory from refusal


def decode_bytes(encoded: bytes, header: Header) -> tuple[int, int, bytes]:
    """The same at once: width, height and pixels. Raises as `decode`."""
    decoded = decode(encoded, header)
    return decoded.width, decoded.height, checked(lambda: b"".join(decoded.strips))


def checked(make: Callable[[], Made]) -> Made:
    """What `make` returns; whatever it raises is one of two things. Raises BadPicture, OutOfMemory."""
    try:
        return make()
    except (BadPicture, OutOfMemory):
        raise
    except MemoryError as error:
        raise OutOfMemory from error
    except Exception as error:
        # The system's own errors have a number: they say nothing of the file.
        if _MEMORY_ERROR in str(error) or (isinstance(error, OSError) and error.errno):
            raise OutOfMemory from error
        # Parsers of damaged files raise anything: struct.error, IndexError, zlib.error, ...
        raise BadPicture(DAMAGED) from error


def upright(image: Image.Image, profile: bytes, side: int = 0) -> Decoded:
    """A picture that Pillow has loaded, upright and in sRGB. Raises whatever Pillow does.

    Args:
        image: its pixels as they were stored.
        profile: its ICC profile; empty: there is none.
        side: as `decode` has it.
    """
    turn = _turn(image)
    convert = to_srgb(image.mode, profile)
    factor = reduction(image.width, image.height, side)
    lying = Decoded(-(-image.width // factor), -(-image.height // factor), _parts(image, factor, convert))
    if turn is None:
        return lying
    standing = lying.image().transpose(turn)
    return Decoded(standing.width, standing.height, _parts(standing, 1, lambda part: part))


def _there_is(size: int) -> bool:
    """Whether so much memory could be had now."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return False
    return True


def _decode(data: bytes, header: Header, side: int) -> Decoded:
    breaks_off = read_structure(header.format, data).breaks_off
    profile = b""
    if breaks_off is not None:
        data = data[:breaks_off] + b"\xff\xd9"  # without an end libjpeg waits for more
    elif header.format == "PNG":
        data, profile = picture_chunks(data)
    image = _FILES[header.format](io.BytesIO(data))
    if image.size != (header.width, header.height):
        raise BadPicture(DAMAGED)
    if (scale := header.jpeg_scale(side)) > 1:
        image.draft(None, (header.width // scale, header.height // scale))
    image.load()
    if breaks_off is not None:
        _check_rows(image)
    vars(image).pop("_decoder", None)  # WebP's holds twice as much as the picture
    return upright(image, profile or image.info.get("icc_profile", b""), side)


def _check_rows(image: Image.Image) -> None:
    """Raises BadPicture where too many of the last rows have nothing in them."""
    last = image.crop((0, image.height - -(-image.height // MOST_MISSING), *image.size))
    if not any(count for at, count in enumerate(last.histogram()) if at % 256 not in _EMPTY):
        raise BadPicture(CUT_OFF)


def _turn(image: Image.Image) -> Image.Transpose | None:
    """What makes the picture upright; most need nothing."""
    try:
        return _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # a damaged EXIF block says nothing about the picture, which is whole
        return None


def _parts(image: Image.Image, factor: int, convert: Converter) -> Iterator[Image.Image]:
    """The rows, some at a time, with sides reduced by a factor."""
    rows = max(_STRIP_PIXELS // image.width // factor, 1) * factor
    for top in range(0, image.height, rows):
        whole = rows >= image.height  # which need not be copied
        flat = _flat(image if whole else image.crop((0, top, image.width, min(top + rows, image.height))))
        yield convert(flat if factor == 1 else flat.reduce(factor))


def _flat(image: Image.Image) -> Image.Image:
    """Its colours as they are, RGB, L, CMYK or LAB of 8 bits, with white behind what is transparent."""
    if image.mode in _HIGH_BYTE:
        # Pillow clips 16-bit grey when converting, which turns it white: take the high bytes instead.
        return Image.frombytes("L", image.size, image.tobytes()[_HIGH_BYTE[image.mode] :: 2])
    if image.mode == "I":
        return image.point(lambda shade: shade * (1 / 256)).convert("L")
    if image.mode in ("RGBA", "LA", "PA", "RGBa") or "transparency" in image.info:
        layered = image.convert("RGBA")
        image = Image.new("RGBA", layered.size, "white")
        image.alpha_composite(layered)
    if image.mode in ("1", "F"):
        return image.convert("L")
    return image if image.mode in ("RGB", "L", "CMYK", "LAB") else image.convert("RGB")
