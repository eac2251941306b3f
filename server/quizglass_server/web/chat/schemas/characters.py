"""Sets of characters, as sorted ranges of code points that do not touch."""

from __future__ import annotations

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]
"""First and last code point of each range."""

EVERY: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
"""All characters; surrogates are none."""
FREE: Ranges = ((8, 10), (12, 13), (0x20, 0x7E), (0xA0, 0xD7FF), (0xE000, 0x10FFFF))
"""Those of a text that a schema leaves open: without the control characters that JSON has no short escape for."""
DIGITS: Ranges = ((48, 57),)


def ranges(*parts: str | tuple[int, int]) -> Ranges:
    """The set of some characters, given as texts and as ranges."""
    points = [(ord(each), ord(each)) for part in parts if isinstance(part, str) for each in part]
    return united([*points, *(part for part in parts if isinstance(part, tuple))])


def united(pieces: Iterable[tuple[int, int]]) -> Ranges:
    """The set of all characters in any of the pieces."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pieces):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return tuple(merged)


def common(one: Ranges, other: Ranges) -> Ranges:
    """The characters that are in both sets."""
    found: list[tuple[int, int]] = []
    left, right = 0, 0
    while left < len(one) and right < len(other):
        first, last = max(one[left][0], other[right][0]), min(one[left][1], other[right][1])
        if first <= last:
            found.append((first, last))
        if one[left][1] < other[right][1]:
            left += 1
        else:
            right += 1
    return tuple(found)


def without(one: Ranges, other: Ranges) -> Ranges:
    """The characters of the first set that are not in the second."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in other:
        if start < first:
            gaps.append((start, first - 1))
        start = last + 1
    gaps.append((start, 0x10FFFF))
    return common(one, tuple(gaps))
