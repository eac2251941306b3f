"""Counts what JSON consists of in its bytes, before it is parsed: two characters may become an object of many bytes."""

from __future__ import annotations

import re

_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BACKSLASH = 0x5C


def has_at_most(most: int, raw: bytes) -> bool:
    """Whether a text in UTF-8 has at most so many strings, values and openings together, were it JSON.

    For malformed JSON the result is arbitrary; parsing it reports the error. Long strings, such as pictures, are passed
    over at the speed of memory.
    """
    left, at = most, 0
    while True:
        begin = raw.find(b'"', at)
        end = len(raw) if begin < 0 else begin
        left -= 1 + sum(raw.count(each, at, end) for each in (b",", b"{", b"["))
        if left < 0 or begin < 0:
            return left >= 0
        at = _after_string(raw, begin + 1)


def _after_string(raw: bytes, at: int) -> int:
    """Where the string ends whose first character is at `at`; the end of the text, if it does not."""
    end = raw.find(b'"', at)
    if end > at and raw[end - 1] == _BACKSLASH:  # it may be a character of the string
        found = _REST_OF_STRING.match(raw, at)
        return len(raw) if found is None else found.end()
    return len(raw) if end < 0 else end + 1
