"""Requests that clients have compressed, with gzip or zlib: known by how they begin, bounded by what comes out.

gRPC, Connect and gRPC-Web hand them over as they came. No message begins as compressed bytes do: see `ZLIB_FIELD`.
"""

from __future__ import annotations

import zlib

from quizglass_server.errors import InvalidInput
from quizglass_server.rpc.requests.unreadable import Unreadable

_GZIP, _ZLIB = b"\x1f\x8b", 0x78
_ZLIB_LEVELS = (0x01, 0x5E, 0x9C, 0xDA)
_EITHER = zlib.MAX_WBITS | 32
_PACKED = _GZIP, *(bytes((_ZLIB, level)) for level in _ZLIB_LEVELS)
ZLIB_FIELD = _ZLIB >> 3
"""Number of the one field, a varint, that a message could begin like zlib with. No request may have it."""
_FREE_BYTES, _TIMES = 256 * 1024, 10
"""What every request may come to, and how many times its own size beyond that. Texts are packed to a third or a tenth;
what is packed to a thousandth was made to be."""


def is_packed(raw: bytes) -> bool:
    """Whether bytes are compressed."""
    return raw.startswith(_PACKED)


def most_unpacked(size: int, most_bytes: int) -> int:
    """What so many compressed bytes may hold, where a request may have `most_bytes`."""
    return min(most_bytes, max(_FREE_BYTES, _TIMES * size))


def unpacked(raw: bytes, most: int) -> bytes:
    """What compressed bytes hold, which may be so much.

    Raises:
        InvalidInput: it is more.
        Unreadable: they are damaged.
    """
    unpacker = zlib.decompressobj(_EITHER)
    try:
        content = unpacker.decompress(raw, most + 1)
    except zlib.error:
        raise Unreadable from None
    if len(content) > most:
        told = f"{len(raw)} compressed bytes hold more than the {most} that they may; send it without compression"
        raise InvalidInput("request", told)
    if not unpacker.eof or unpacker.unused_data:
        raise Unreadable
    return content
