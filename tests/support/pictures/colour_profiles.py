"""Colour profiles, made here: of displays, of grey, and of a printer whose inks are not what their names say."""

from __future__ import annotations

import struct
from itertools import product

P3 = ((0.51512, 0.2412, -0.00105), (0.29198, 0.69225, 0.04189), (0.1571, 0.06657, 0.78407))
"""XYZ of Display P3's red, green and blue under D50."""
ADOBE = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
"""Likewise of Adobe RGB (1998)."""
_WHITE = (0.9642, 1.0, 0.82491)


def display(primaries: tuple[tuple[float, float, float], ...], gamma: float = 2.2) -> bytes:
    """Of a display: XYZ of its three colours, and one gamma."""
    tags = {name: b"XYZ \0\0\0\0" + _xyz(xyz) for name, xyz in zip((b"rXYZ", b"gXYZ", b"bXYZ"), primaries, strict=True)}
    curves = dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), _curve(gamma))
    return _profile(b"mntr", b"RGB ", b"XYZ ", {**tags, **curves})


def grey(gamma: float) -> bytes:
    """Of a scanner for grey."""
    return _profile(b"mntr", b"GRAY", b"XYZ ", {b"kTRC": _curve(gamma)})


def printer() -> bytes:
    """Of a printer whose cyan is red: where there is cyan, the paper is red, under black it is black, else white."""
    white, red, black = (255, 128, 128), (138, 208, 195), (0, 128, 128)  # L*a*b* of 8 bits
    table = b"".join(bytes(black if inks[3] else red if inks[0] else white) for inks in product((0, 1), repeat=4))
    ramp = bytes(range(256))
    identity = b"".join(struct.pack(">i", 65536 if row == column else 0) for row, column in product(range(3), repeat=2))
    lut = b"mft1\0\0\0\0" + bytes((4, 3, 2, 0)) + identity + ramp * 4 + table + ramp * 3
    return _profile(b"prtr", b"CMYK", b"Lab ", {b"A2B0": lut})


def _profile(kind: bytes, space: bytes, between: bytes, tags: dict[bytes, bytes]) -> bytes:
    name = b"made for a test\0"
    description = b"desc\0\0\0\0" + struct.pack(">I", len(name)) + name + bytes(79)
    tags = {b"desc": description, b"wtpt": b"XYZ \0\0\0\0" + _xyz(_WHITE), **tags}
    directory, body = struct.pack(">I", len(tags)), b""
    start = 128 + 4 + 12 * len(tags)
    for tag, content in tags.items():
        directory += tag + struct.pack(">II", start + len(body), len(content))
        body += content + bytes(-len(content) % 4)
    head = b"\0\0\0\0\x02\x40\0\0" + kind + space + between + bytes(12) + b"acsp" + bytes(28) + _xyz(_WHITE)
    made = bytes(4) + head + bytes(128 - 4 - len(head)) + directory + body
    return struct.pack(">I", len(made)) + made[4:]


def _xyz(values: tuple[float, float, float]) -> bytes:
    return struct.pack(">3i", *(round(value * 65536) for value in values))


def _curve(gamma: float) -> bytes:
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256)) + bytes(2)
