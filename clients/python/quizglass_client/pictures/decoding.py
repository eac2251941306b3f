"""Decodes pictures and makes them smaller; needs Pillow."""

from __future__ import annotations

import io
import re

from PIL import Image, ImageFile

from quizglass.picture_files.header import Header
from quizglass.picture_files.others import bytes_to_load, open_other
from quizglass.picture_files.rgb import checked, decode, upright
from quizglass.picture_files.structure import read_structure
from quizglass_client.pictures import sizes

_JPEG_QUALITY = 90
_HEIF = re.compile(rb"....ftyp(?:hei[cmsx]|hev[cmsx]|mif1|msf1)", re.DOTALL)


class HeicUnreadable(Exception):
    """The picture is HEIC, and what reads that is not installed."""


def pixels(encoded: bytes, header: Header, side: int) -> Image.Image:
    """The picture upright in sRGB, its longer side at least `side`. Raises BadPicture, OutOfMemory."""
    passes = read_structure(header.format, encoded).passes
    seconds = header.seconds(len(encoded), passes)
    sizes.check_cost(header.width, header.height, header.memory(len(encoded), side), seconds)
    decoded = decode(encoded, header, side)
    return checked(decoded.image)


def as_jpeg(encoded: bytes, header: Header, side: int) -> bytes:
    """A JPEG, PNG or WebP, its longest side at most `side` pixels. Raises BadPicture, OutOfMemory."""
    seen = pixels(encoded, header, sizes.side(header.width, header.height, side))
    return to_jpeg(seen, (header.width, header.height), side)


def converted(raw: bytes, side: int) -> bytes | None:
    """A picture in a format that servers do not take, as JPEG; None: it is none. Raises BadPicture, HeicUnreadable."""
    if (image := _other(raw)) is None:
        return None
    sizes.check_cost(image.width, image.height, bytes_to_load(image), 0.0)
    return checked(lambda: shrunk(image, side))


def _other(raw: bytes) -> ImageFile.ImageFile | None:
    if _HEIF.match(raw):
        try:
            from pillow_heif import register_heif_opener
        except ImportError:
            raise HeicUnreadable from None
        register_heif_opener(thumbnails=False)
    return checked(lambda: open_other(raw))


def shrunk(image: Image.Image, side: int) -> bytes:
    """An opened picture as JPEG, its longest side at most `side` pixels."""
    size = image.size
    wanted = sizes.side(*size, side)
    # JPEG scales while decoding: a 12-megapixel photograph is never held whole.
    if wanted and image.format in ("JPEG", "MPO"):
        image.draft(None, (wanted, wanted))
    image.load()
    return to_jpeg(upright(image, image.info.get("icc_profile", b""), wanted).image(), size, side)


def to_jpeg(image: Image.Image, size: tuple[int, int], side: int) -> bytes:
    """A picture in sRGB, its longest side at most so many pixels.

    Args:
        image: upright, perhaps smaller than it was in its file.
        size: what it had there, perhaps lying on its side.
        side: as `encode` has it.
    """
    if wanted := sizes.side(*size, side):
        width, height = (max(round(each * wanted / max(size)), 1) for each in size)
        if (width < height) != (image.width < image.height):
            width, height = height, width
        image = image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()
