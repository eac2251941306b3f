"""The chunks of a PNG that say how it looks.

Texts, times, previews and the frames of animations are passed over unread, whatever they would become when they are
inflated, and however they are damaged: none of them is the picture.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from quizglass.picture_files.colour import MOST_PROFILE

_PICTURE = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
"""What Pillow is given as it is: if one of these is damaged, so is the picture."""
_LOOKS = frozenset({b"tRNS", b"eXIf"})
"""What it is given if it is whole: transparency, and which way is up."""
_MOST_EXIF = 1 << 20
_HEAD, _FRAME = struct.Struct(">I4s"), 12


def picture_chunks(data: bytes) -> tuple[bytes, bytes]:
    """A PNG with those chunks alone, and its colour profile; empty without one that can be used."""
    kept, profile, dropped = [memoryview(data)[:8]], b"", False
    for name, chunk in _chunks(data):
        if name in _PICTURE or (name in _LOOKS and len(chunk) <= _MOST_EXIF and _is_whole(chunk)):
            kept.append(chunk)
            continue
        dropped = True
        if name == b"iCCP" and not profile and _is_whole(chunk):
            profile = _profile(bytes(chunk[8:-4]))
    return (b"".join(kept) if dropped else data), profile


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Name and all bytes of each chunk; the last may be cut off."""
    view, place = memoryview(data), 8
    while place + 8 <= len(data):
        length, name = _HEAD.unpack_from(data, place)
        yield name, view[place : place + _FRAME + length]
        place += _FRAME + length
        if name == b"IEND":
            return


def _is_whole(chunk: memoryview) -> bool:
    (length,) = struct.unpack_from(">I", chunk)
    return len(chunk) == _FRAME + length and zlib.crc32(chunk[4:-4]) == int.from_bytes(chunk[-4:])


def _profile(body: bytes) -> bytes:
    """What follows a name, a zero and the method of compression, which is always 0."""
    unpacker = zlib.decompressobj()
    try:
        profile = unpacker.decompress(body[body.index(0) + 2 :], MOST_PROFILE)
    except (ValueError, zlib.error):
        return b""
    return profile if unpacker.eof else b""
