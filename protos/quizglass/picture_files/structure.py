"""Refuses files that are made to be long to parse: a picture has one frame, some scans and some chunks.

Looks at every scan and chunk, but at no pixel: regular expressions and `struct` walk eight million bytes in some tens
of milliseconds, and what has too many parts is refused as soon as they are counted.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from quizglass.picture_files.errors import BadPicture
from quizglass.picture_files.header import MOST_JUNK, MOST_SEGMENTS

MOST_SCANS = 100
"""Of a JPEG. Encoders write ten; tools that look for the smallest file up to some dozens. Each is a pass over all
pixels, and one without content takes fifteen bytes."""
MOST_CHUNKS = 10_000
"""Of a PNG. Some encoders cut the picture into pieces of 4 KiB, two thousand for the largest file."""
_SOS, _EOI = 0xDA, 0xD9
_RESTARTS = range(0xD0, 0xD8)
# In a scan a marker is what follows 0xFF, unless it is a stuffed zero, a restart or one more fill byte.
_AFTER_SCAN = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")
_MARKER = re.compile(rb"\xff([\x01-\xfe])")


@dataclass(frozen=True, slots=True)
class Structure:
    """How a file is made up."""

    passes: int = 1
    """Over the pixels that decoding makes, at least 1."""
    breaks_off: int | None = None
    """Where a JPEG that has no end breaks off, in bytes: what is before can be decoded. None: it has its end."""


def read_structure(format: str, data: bytes) -> Structure:
    """How a file is made up; other damage than a missing end is left to the decoder.

    Raises:
        BadPicture: more scans, segments or chunks than pictures have.
    """
    if format == "JPEG":
        return _jpeg(data)
    if format == "PNG":
        _check_chunks(data)
    return Structure()


def _jpeg(data: bytes) -> Structure:
    """Scans of a JPEG, up to its end or to where it is damaged.

    Raises:
        BadPicture: more than `MOST_SCANS`, or more than `MOST_SEGMENTS` segments between them.
    """
    scans, place, junk, pattern = 0, 2, 0, _MARKER
    for _ in range(MOST_SEGMENTS + MOST_SCANS):
        match = pattern.search(data, place)
        if match is None:
            # Zeros are what a file system has in place of bytes that never came.
            return Structure(max(scans, 1), len(data.rstrip(b"\0")))
        if pattern is _MARKER:
            junk += match.start() - place
        marker, place, pattern = match[1][0], match.end(), _MARKER
        if marker == _EOI or junk > MOST_JUNK:
            return Structure(max(scans, 1))
        if marker in _RESTARTS or marker == 0xD8:
            continue
        place += max(int.from_bytes(data[place : place + 2]), 2)
        if place > len(data):  # in the middle of a segment
            return Structure(max(scans, 1), match.start())
        if marker == _SOS:
            scans, pattern = scans + 1, _AFTER_SCAN
            if scans > MOST_SCANS:
                raise BadPicture(f"the JPEG has more than {MOST_SCANS} scans; save it anew, best without progression")
    raise BadPicture(f"the JPEG has more than {MOST_SEGMENTS} segments; save it anew")


def _check_chunks(data: bytes) -> None:
    place = 8
    for _ in range(MOST_CHUNKS):
        if place + 8 > len(data):
            return
        length, name = struct.unpack_from(">I4s", data, place)
        if name == b"IEND":
            return
        place += 12 + length
    raise BadPicture(f"the PNG has more than {MOST_CHUNKS} chunks; save it anew")
