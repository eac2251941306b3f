"""Inputs drawn from kept ones: a few bytes changed, and some of them made large."""

from __future__ import annotations

from random import Random

_LONGEST_PART = 64


def changed(data: bytes, random: Random) -> bytes:
    """A few bytes taken out, put in, doubled or made others."""
    kept = bytearray(data)
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(kept) + 1)
        end = min(len(kept), start + random.randint(0, 9))
        kept[start:end] = random.choice(
            [b"", kept[start:end] * 3, random.randbytes(end - start), b'"', b"{", b"[", b"9"]
        )
    return bytes(kept)


def enlarged(data: bytes, random: Random, most: int) -> bytes:
    """A part that comes thousands of times where it came once, up to a size of `most` bytes or a part of that."""
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.randint(1, _LONGEST_PART))
    part = data[start:end] or b"["
    size = most >> random.randrange(8)
    return data[:start] + part * (size // len(part)) + data[end:]
