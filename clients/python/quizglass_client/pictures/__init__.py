"""Makes pictures no larger than the server can use before they are sent, in a form that it takes.

What need not be changed is sent without Pillow, which the extra `cli` brings.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from quizglass.picture_files.errors import BadPicture, OutOfMemory
from quizglass.picture_files.header import read_header
from quizglass.values import Region
from quizglass_client.errors import InvalidRequest
from quizglass_client.files import LARGEST_PICTURE, read_file
from quizglass_client.pictures.sizes import MOST_SENT, fits, side_of_whole
from quizglass_client.types import PictureLike

if TYPE_CHECKING:
    from PIL import Image

Encoder = Callable[["PictureLike | None"], bytes | None]
AsyncEncoder = Callable[["PictureLike | None"], Awaitable[bytes | None]]
"""What makes pictures fit for a server, once it has been asked for the side that it finds useful."""
_READ = "a JPEG, PNG, WebP, HEIC, AVIF, TIFF, GIF or BMP"


def several(pictures: PictureLike | Sequence[PictureLike] | None) -> Sequence[PictureLike]:
    """One picture, several or none, as a sequence."""
    if pictures is None:
        return ()
    if isinstance(pictures, bytes | bytearray | memoryview | str | Path):
        return (pictures,)
    return cast("Sequence[PictureLike]", pictures) if isinstance(pictures, Sequence) else (pictures,)


def encode(picture: PictureLike, side: int, field: str = "picture") -> bytes:
    """Encoded bytes of a picture whose longest side is at most `side` pixels; 0 leaves every size as it is.

    A JPEG, PNG or WebP that is small enough or far too oblong is handed on untouched, and so is what is no picture: the
    server is the judge of that. Anything else becomes a JPEG: its first frame, upright by its EXIF orientation, in
    sRGB by its colour profile. A file is handed on only if it is a picture: no other file leaves this machine because
    a person has named it.

    Raises:
        InvalidRequest: the file does not exist, cannot be read, or is no picture; or it has to be made smaller and is
            damaged, takes more than `MOST_MEMORY`, or needs Pillow, which is not installed. It names `field`.
    """
    picture = given(picture, field)
    if not isinstance(picture, bytes | str | Path):
        from quizglass_client.pictures.decoding import shrunk

        return shrunk(picture, side)
    path = None if isinstance(picture, bytes) else Path(picture)
    with _refusing(field, path):
        raw = picture if isinstance(picture, bytes) else _read(Path(picture))
        return _encoded(raw, side, of_a_file=path is not None)


def given(picture: PictureLike, field: str = "picture") -> bytes | str | Path | Image.Image:
    """A picture as a program gave it, its bytes as such.

    Raises:
        InvalidRequest: it is nothing that can be a picture. It names `field`.
    """
    if isinstance(picture, bytearray | memoryview):
        return bytes(picture)
    if not isinstance(picture, bytes | str | Path):
        _check_image(picture, field)
    return picture


def _check_image(picture: object, field: str) -> None:
    """Raises InvalidRequest: this is no image of Pillow, of which there is none before Pillow was imported."""
    pillow = sys.modules.get("PIL.Image")
    if pillow is None or not isinstance(picture, pillow.Image):
        wanted = "give encoded bytes, a path, or a Pillow image (of an array: Image.fromarray)"
        raise InvalidRequest.of(field, f"{type(picture).__name__} is no picture; {wanted}", "INVALID_PICTURE")


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
        from quizglass_client.pictures import decoding

        return decoding.pixels(encoded, read_header(encoded), side)


def cut_out(encoded: bytes, region: Region, side: int = 0) -> bytes:
    """A part of such a picture as JPEG, its longest side at most `side` pixels; 0: in all its sharpness.

    The region is of the picture upright. Raises as `pixels`.
    """
    with _refusing("picture", None):
        from quizglass_client.pictures import decoding

        header = read_header(encoded)
        whole = decoding.pixels(encoded, header, side_of_whole(header, len(encoded), region, side))
    sides = (
        region.left * whole.width,
        region.top * whole.height,
        region.right * whole.width,
        region.bottom * whole.height,
    )
    left, top, right, bottom = (round(side) for side in sides)
    part = whole.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    return decoding.to_jpeg(part, part.size, side)


def checked(raw: bytes, name: str, field: str = "picture") -> bytes:
    """Bytes that did not come from a file, if they are a picture: no other content leaves this machine.

    Raises:
        InvalidRequest: they are none. It names `field` and `name`.
    """
    with _refusing(field, Path(name)):
        try:
            read_header(raw)
        except BadPicture:
            if not _is_taken(raw) and _converted(raw, 0) is None:
                raise _NoPicture(f"is no picture; give {_READ}") from None
    return raw


def is_ready(encoded: bytes, side: int) -> bool:
    """Whether this is a JPEG that `encode` would hand on untouched: known from its header, in microseconds."""
    try:
        header = read_header(encoded)
    except BadPicture:  # whatever it is, `encode` will see
        return False
    return header.format == "JPEG" and fits(header, len(encoded), side)


@contextmanager
def _refusing(field: str, path: Path | None) -> Iterator[None]:
    """Reports a picture that cannot be decoded by its field, and its file where it has one."""
    name = "the picture" if path is None else str(path)
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "PIL":
            raise
        told = f"{name} has to be decoded, which needs Pillow; in the clone: pip install '.[cli]'"
        raise InvalidRequest.of(field, told, reason="INVALID_PICTURE") from None
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
        if not _is_taken(raw) and (converted := _converted(raw, side)) is not None:
            return converted
        if of_a_file and not _is_taken(raw):
            raise _NoPicture(f"is no picture; give {_READ}") from None
        if side and len(raw) > MOST_SENT:
            raise
        return raw
    if fits(header, len(raw), side):
        return raw
    from quizglass_client.pictures.decoding import as_jpeg

    return as_jpeg(raw, header, side)


def _converted(raw: bytes, side: int) -> bytes | None:
    """A picture in a format that servers do not take, as JPEG; None: it is none. Raises BadPicture, _NoPicture."""
    from quizglass_client.pictures import decoding

    try:
        return decoding.converted(raw, side)
    except decoding.HeicUnreadable:
        raise _NoPicture("is HEIC, which needs the extra 'heic'; in the clone: pip install '.[heic]'") from None


def _is_taken(raw: bytes) -> bool:
    """Whether it begins as what servers take; they are the judge of how it goes on."""
    return raw.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")) or (raw[:4] == b"RIFF" and raw[8:12] == b"WEBP")
