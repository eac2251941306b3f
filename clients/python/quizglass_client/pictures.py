"""Makes pictures no larger than the server can use before they are sent, in a form that it takes."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from PIL import Image, ImageFile

from quizglass.picture_files.errors import BadPicture, OutOfMemory
from quizglass.picture_files.header import Header, read_header
from quizglass.picture_files.others import bytes_to_load, open_other
from quizglass.picture_files.rgb import checked, decode, upright
from quizglass.picture_files.structure import read_structure
from quizglass.values import Region
from quizglass_client.errors import InvalidRequest
from quizglass_client.files import LARGEST_PICTURE, read_file
from quizglass_client.types import PictureLike

Encoder = Callable[[PictureLike | None], bytes | None]
AsyncEncoder = Callable[[PictureLike | None], Awaitable[bytes | None]]
"""What makes pictures fit for a server, once it has been asked for the side that it finds useful."""
MOST_SENT = 8 << 20
"""Bytes of a picture that is sent as it is: servers take no more by default."""
MOST_MEMORY = 900 << 20
"""Bytes that decoding one picture may take here."""
_MOST_SECONDS = 10.0
_JPEG_QUALITY = 90
_HEIF = re.compile(rb"....ftyp(?:hei[cmsx]|hev[cmsx]|mif1|msf1)", re.DOTALL)
_READ = "a JPEG, PNG, WebP, HEIC, AVIF, TIFF, GIF or BMP"
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

    A JPEG, PNG or WebP that is small enough or far too oblong is handed on untouched, and so is what is no picture: the
    server is the judge of that. Anything else becomes a JPEG: its first frame, upright by its EXIF orientation, in
    sRGB by its colour profile. A file is handed on only if it is a picture: no other file leaves this machine because
    a person has named it.

    Raises:
        InvalidRequest: the file does not exist, cannot be read, or is no picture; or it has to be made smaller and is
            damaged, or takes more than `MOST_MEMORY`. It names `field`.
    """
    if isinstance(picture, Image.Image):
        return _shrunk(picture, side)
    path = None if isinstance(picture, bytes) else Path(picture)
    with _refusing(field, path):
        raw = picture if isinstance(picture, bytes) else _read(Path(picture))
        return _encoded(raw, side, of_a_file=path is not None)


async def encode_on_thread(picture: PictureLike, side: int) -> bytes:
    """`encode` on a worker thread, which a picture that is handed on untouched does not need."""
    if isinstance(picture, bytes) and is_ready(picture, side):
        return picture
    return await asyncio.to_thread(encode, picture, side)


def pixels(encoded: bytes, side: int = 0, field: str = "picture") -> Image.Image:
    """A picture that `encode` has made as the server sees it: upright, in sRGB, transparency white.

    Args:
        encoded: JPEG, PNG or WebP.
        side: the longer side that is needed; what comes may be larger. 0: as large as servers keep.
        field: for the error.

    Raises:
        InvalidRequest: it is damaged, or too large.
    """
    with _refusing(field, None):
        return _pixels(encoded, read_header(encoded), side)


def cut_out(encoded: bytes, region: Region, side: int = 0) -> bytes:
    """A part of such a picture as JPEG, its longest side at most `side` pixels; 0: in all its sharpness.

    The region is of the picture upright. Raises as `pixels`.
    """
    with _refusing("picture", None):
        header = read_header(encoded)
        whole = _pixels(encoded, header, _side_of_whole(header, len(encoded), region, side))
    sides = (
        region.left * whole.width,
        region.top * whole.height,
        region.right * whole.width,
        region.bottom * whole.height,
    )
    left, top, right, bottom = (round(side) for side in sides)
    part = whole.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    return _to_jpeg(part, part.size, side)


def is_ready(encoded: bytes, side: int) -> bool:
    """Whether this is a JPEG that `encode` would hand on untouched: known from its header, in microseconds."""
    try:
        header = read_header(encoded)
    except BadPicture:  # whatever it is, `encode` will see
        return False
    return header.format == "JPEG" and _fits(header, len(encoded), side)


@contextmanager
def _refusing(field: str, path: Path | None) -> Iterator[None]:
    """Tells of what cannot be decoded by its field, and its file where it has one."""
    name = "the picture" if path is None else str(path)
    try:
        yield
    except _NoPicture as error:
        raise InvalidRequest.of(field, f"{name} {error}", reason="INVALID_PICTURE") from None
    except BadPicture as refusal:
        told = str(refusal) if path is None else f"{path}: {refusal}"
        raise InvalidRequest.of(field, told, reason="INVALID_PICTURE") from None
    except (OutOfMemory, MemoryError):
        told = f"there is not enough memory to make {name} smaller"
        raise InvalidRequest.of(field, told, reason="INVALID_PICTURE") from None
    except (OSError, ValueError) as error:  # ValueError: of a name that no file can have
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidRequest.of(field, f"cannot read {name}: {why}", reason="NO_FILE") from None


class _NoPicture(Exception):
    """What is given cannot be sent; the message goes on after its name."""


def _read(path: Path) -> bytes:
    """Raises OSError, ValueError, _NoPicture."""
    if not (raw := read_file(path, LARGEST_PICTURE)):
        raise _NoPicture("is no picture: it is empty")
    return raw


def _encoded(raw: bytes, side: int, *, of_a_file: bool) -> bytes:
    try:
        header = read_header(raw)
    except BadPicture:
        if not _is_taken(raw) and (other := _other(raw)) is not None:
            return _converted(other, side)
        if of_a_file and not _is_taken(raw):
            raise _NoPicture(f"is no picture; give {_READ}") from None
        if side and len(raw) > MOST_SENT:
            raise
        return raw
    if _fits(header, len(raw), side):
        return raw
    seen = _pixels(raw, header, _side(header.width, header.height, side))
    return _to_jpeg(seen, (header.width, header.height), side)


def _is_taken(raw: bytes) -> bool:
    """Whether it begins as what servers take; they are the judge of how it goes on."""
    return raw.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")) or (raw[:4] == b"RIFF" and raw[8:12] == b"WEBP")


def _pixels(encoded: bytes, header: Header, side: int) -> Image.Image:
    """Raises BadPicture, OutOfMemory."""
    passes = read_structure(header.format, encoded).passes
    seconds = header.seconds(len(encoded), passes)
    _check_cost(header.width, header.height, header.memory(len(encoded), side), seconds)
    decoded = decode(encoded, header, side)
    return checked(decoded.image)


def _other(raw: bytes) -> ImageFile.ImageFile | None:
    """A picture in a format that servers do not take. Raises BadPicture, _NoPicture."""
    if _HEIF.match(raw):
        try:
            from pillow_heif import register_heif_opener
        except ImportError:
            raise _NoPicture("is HEIC, which needs the extra 'heic'; in the clone: pip install '.[heic]'") from None
        register_heif_opener(thumbnails=False)
    return checked(lambda: open_other(raw))


def _converted(image: ImageFile.ImageFile, side: int) -> bytes:
    memory = bytes_to_load(image)
    _check_cost(image.width, image.height, memory, 0.0)
    return checked(lambda: _shrunk(image, side))


def _shrunk(image: Image.Image, side: int) -> bytes:
    size = image.size
    wanted = _side(*size, side)
    # JPEG scales while decoding: a 12-megapixel photograph is never held whole.
    if wanted and image.format in ("JPEG", "MPO"):
        image.draft(None, (wanted, wanted))
    image.load()
    return _to_jpeg(upright(image, image.info.get("icc_profile", b""), wanted).image(), size, side)


def _to_jpeg(image: Image.Image, size: tuple[int, int], side: int) -> bytes:
    """A picture in sRGB, its longest side at most so many pixels.

    Args:
        image: upright, perhaps smaller than it was in its file.
        size: what it had there, perhaps lying on its side.
        side: as `encode` has it.
    """
    if wanted := _side(*size, side):
        width, height = (max(round(each * wanted / max(size)), 1) for each in size)
        if (width < height) != (image.width < image.height):
            width, height = height, width
        image = image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()


def _side(width: int, height: int, side: int) -> int:
    """The longest side that a picture gets; 0: its own."""
    oblong = _too_oblong(width, height, side) and max(width, height) <= _LONGEST_OF_JPEG
    return 0 if oblong or max(width, height) <= side else side


def _side_of_whole(header: Header, size: int, region: Region, side: int) -> int:
    """How large a whole picture has to be for a part of it to have that side, as far as there is memory for it."""
    wide, high = region.right - region.left, region.bottom - region.top
    # Whether it lies on its side is not known yet.
    longest = min(
        max(wide * header.width, high * header.height), max(wide * header.height, high * header.width), header.longest
    )
    needed = min(ceil(side * header.longest / longest), header.longest) if side and longest > 0 else header.longest
    return needed if header.memory(size, needed) <= MOST_MEMORY else 0


def _fits(header: Header, size: int, side: int) -> bool:
    if not side:
        return True
    return size <= MOST_SENT and (header.longest <= side or _too_oblong(header.width, header.height, side))


def _too_oblong(width: int, height: int, side: int) -> bool:
    return min(width, height) * side < _SHORTEST * max(width, height)


def _check_cost(width: int, height: int, memory: int, seconds: float) -> None:
    """Raises BadPicture where decoding takes too much."""
    if memory > MOST_MEMORY or seconds > _MOST_SECONDS:
        takes = f"{memory >> 20} MiB of memory" if memory > MOST_MEMORY else f"{seconds:.0f} s"
        raise BadPicture(f"{width} x {height} pixels of this format take {takes} to make smaller; save it smaller")
