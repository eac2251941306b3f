"""Pictures that mean harm: few bytes that are much to decode."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from functools import cache

from PIL import Image

SIDE = 6320
"""Of the largest square picture that a server takes by default: 40 million pixels."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB, _GREY_ALPHA, _RGBA = 2, 4, 6
"""Colour types of PNG."""
_SCAN = b"\xff\xda"


def bombs(side: int = SIDE) -> dict[str, bytes]:
    """A picture of `side` x `side` pixels in every form that is dear to decode, by name."""
    return {
        "PNG RGB": png(side, _RGB, 8),
        "PNG RGBA": png(side, _RGBA, 8),
        "PNG RGBA of 16 bits": png(side, _RGBA, 16),
        "PNG LA": png(side, _GREY_ALPHA, 8),
        "WebP with alpha": webp(side),
        "JPEG": jpeg(side),
        "progressive JPEG": jpeg(side, progressive=True),
    }


def png(side: int, colour: int, bits: int) -> bytes:
    """A PNG of zeros."""
    channels = {_RGB: 3, _GREY_ALPHA: 2, _RGBA: 4}[colour]
    row = bytes(1 + side * channels * bits // 8)
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, bits, colour, 0, 0, 0)
    return _SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def chunk(name: bytes, body: bytes) -> bytes:
    """One chunk of a PNG."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def webp(side: int) -> bytes:
    """A lossless WebP of one transparent colour: no pixel takes a bit, so its few bytes do for any size."""
    out = io.BytesIO()
    Image.new("RGBA", (16, 16), (0, 0, 0, 0)).save(out, "WEBP", lossless=True, exact=True)
    data = bytearray(out.getvalue())
    at = data.index(b"VP8L") + 9  # name, length, signature; then 14 bits each of width and height less one
    (bits,) = struct.unpack_from("<I", data, at)
    struct.pack_into("<I", data, at, (bits >> 28 << 28) | (side - 1) << 14 | (side - 1))
    return bytes(data)


@cache
def jpeg(side: int, *, progressive: bool = False) -> bytes:
    """A JPEG of one colour, without chroma subsampling."""
    out = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(out, "JPEG", quality=50, progressive=progressive, subsampling=0)
    return out.getvalue()


def scan_bomb(side: int, scans: int) -> bytes:
    """A progressive JPEG whose last scan is repeated until there are so many."""
    data = jpeg(side, progressive=True)
    last = data.rindex(_SCAN)
    head, tail = data[:last], data[last:-2]
    return head + tail * (scans - head.count(_SCAN)) + data[-2:]


def many_markers(count: int) -> bytes:
    """A JPEG with so many empty comments before its picture."""
    data = jpeg(64)
    return data[:2] + b"\xff\xfe\x00\x02" * count + data[2:]


def many_chunks(count: int) -> bytes:
    """A PNG with so many empty chunks before its picture."""
    data = png(64, _RGB, 8)
    first = data.index(b"IDAT") - 4
    return data[:first] + chunk(b"teXt", b"") * count + data[first:]


def fill_bytes(count: int) -> bytes:
    """A JPEG that goes on with so many fill bytes and nothing else."""
    return b"\xff\xd8" + b"\xff" * count


def long_to_parse() -> Iterator[tuple[str, bytes]]:
    """Files that are much to parse though they show little or nothing."""
    yield "8 MB of 0xFF", fill_bytes(8_000_000)
    yield "400,000 PNG chunks", many_chunks(400_000)
    yield "500,000 JPEG markers", many_markers(500_000)
