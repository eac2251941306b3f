"""Makes pictures no larger than the server can use before they are sent."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from PIL import Image, ImageOps

from quizglass.values import Region
from quizglass_client.errors import InvalidRequest
from quizglass_client.files import LARGEST_PICTURE, read_file
from quizglass_client.types import PictureLike

Encoder = Callable[[PictureLike | None], bytes | None]
AsyncEncoder = Callable[[PictureLike | None], Awaitable[bytes | None]]
"""What makes pictures fit for a server, once it has been asked for the side that it finds useful."""
_JPEG_QUALITY = 90
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "HEIF")  # others may start programs: EPS does Ghostscript
_HEIF = re.compile(rb"....ftyp(?:hei[cmsx]|hev[cmsx]|mif1|msf1)", re.DOTALL)
_BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")
_SCAN, _MOST_SCANS = b"\xff\xda", 500
_SHORTEST = 8
"""Pixels. A picture so oblong that resizing would make its shorter side less than this is sent in its own size: the
server then refuses it for what it is, not for what the rounding of its sides made of it."""
_LONGEST_OF_JPEG = 65_500


def several(pictures: PictureLike | Sequence[PictureLike] | None) -> Sequence[PictureLike]:
    """One picture, several or none, as a sequence."""
    if pictures is None:
        return ()
    if isinstance(pictures, bytes | str | Path | Image.Image):
        return (pictures,)
    return pictures


def encode(picture: PictureLike, side: int, field: str = "picture") -> bytes:
    """Encoded bytes of a picture whose longest side is at most `side` pixels; 0 leaves every size as it is.

    What is small enough or far too oblong is handed on untouched, and so is what Pillow cannot read: the server is the
    judge of that. Anything else, HEIC of any size among it, becomes a JPEG, upright by its EXIF orientation. A file is
    handed on only if it begins as a JPEG, PNG, WebP or HEIC does: no other file leaves this machine because somebody
    has named it.

    Raises:
        InvalidRequest: the file does not exist, cannot be read, or is no picture; it names `field`.
    """
    if isinstance(picture, Image.Image):
        return _to_jpeg(picture, side)
    raw = picture if isinstance(picture, bytes) else _read(Path(picture), field)
    if _HEIF.match(raw):
        _learn_heif(field)
    if raw.count(_SCAN) > _MOST_SCANS:
        return raw  # to decode it might take an hour; the server refuses it
    try:
        with Image.open(io.BytesIO(raw), formats=_FORMATS) as image:
            return raw if _fits(image, side) else _to_jpeg(image, side)
    except Exception:  # parsers of damaged files raise anything
        return raw


async def encode_on_thread(picture: PictureLike, side: int) -> bytes:
    """`encode` on a worker thread, which a picture that is handed on untouched does not need."""
    if isinstance(picture, bytes) and is_ready(picture, side):
        return picture
    return await asyncio.to_thread(encode, picture, side)


def cut_out(encoded: bytes, region: Region, side: int = 0) -> bytes:
    """A part of a picture as JPEG, its longest side at most `side` pixels; 0: in all its sharpness.

    The region is of the picture upright.
    """
    with Image.open(io.BytesIO(encoded), formats=_FORMATS) as image:
        whole = as_seen(image)
    sides = (
        region.left * whole.width,
        region.top * whole.height,
        region.right * whole.width,
        region.bottom * whole.height,
    )
    left, top, right, bottom = (round(side) for side in sides)
    return _to_jpeg(whole.crop((left, top, max(right, left + 1), max(bottom, top + 1))), side)


def _learn_heif(field: str) -> None:
    """Have Pillow read what phones write. Raises InvalidRequest when the package for it is missing."""
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        advice = "is HEIC, which needs the extra 'heic'; in the clone: pip install '.[heic]'"
        raise InvalidRequest.of(field, advice, reason="INVALID_PICTURE") from None
    register_heif_opener(thumbnails=False)


def is_ready(encoded: bytes, side: int) -> bool:
    """Whether this is a JPEG that `encode` would hand on untouched: known from its header, in microseconds."""
    try:
        with Image.open(io.BytesIO(encoded), formats=("JPEG",)) as image:
            return _fits(image, side)
    except Exception:  # whatever it is, `encode` will see
        return False


def _fits(image: Image.Image, side: int) -> bool:
    # MPO is a photograph followed by a preview, as many phones write it: no animation.
    animated = image.format != "MPO" and getattr(image, "is_animated", False)
    if image.format == "HEIF":
        return False  # the server reads none
    return animated or not side or max(image.size) <= side or _too_oblong(image.size, side)


def _too_oblong(size: tuple[int, int], side: int) -> bool:
    return min(size) * side < _SHORTEST * max(size)


def _read(path: Path, field: str) -> bytes:
    try:
        raw = read_file(path, LARGEST_PICTURE)
    except (OSError, ValueError) as error:  # ValueError: of a name that no file can have
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidRequest.of(field, f"cannot read {path}: {why}", reason="NO_FILE") from error
    if not _is_picture(raw):
        advice = f"{path} is no picture; give a JPEG, PNG, WebP or HEIC"
        raise InvalidRequest.of(field, advice, reason="INVALID_PICTURE")
    return raw


def _is_picture(raw: bytes) -> bool:
    if raw.startswith(_BEGINNINGS) or _HEIF.match(raw) or (raw[:4] == b"RIFF" and raw[8:12] == b"WEBP"):
        return True
    try:
        with Image.open(io.BytesIO(raw), formats=_FORMATS):
            return True
    except Exception:  # parsers of what is no picture raise anything
        return False


def _to_jpeg(image: Image.Image, side: int) -> bytes:
    if side and _too_oblong(image.size, side) and max(image.size) <= _LONGEST_OF_JPEG:
        side = 0
    # JPEG scales while decoding: a 12-megapixel photograph is never held whole.
    if side and image.format in ("JPEG", "MPO"):
        image.draft("RGB", (side, side))
    rgb = as_seen(image)
    if side:
        rgb.thumbnail((side, side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    rgb.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()


def as_seen(image: Image.Image) -> Image.Image:
    """A picture as the server sees it: upright by its EXIF orientation, in colour, transparency white."""
    return _rgb(_upright(image))


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # a damaged EXIF block says nothing about the picture, which is whole
        return image


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16") or image.mode == "I":
        # Pillow clips 16-bit grey when converting, which turns it white: scale it instead.
        image = image.convert("I").point(lambda shade: shade * (1 / 256)).convert("L")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layered = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layered.size, "white"), layered)
    return image.convert("RGB")
