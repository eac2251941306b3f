"""Texts without what must not reach a display, or be said: steering characters, and the marks of Markdown."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt

_SPACES = dict.fromkeys((*range(9, 14), *range(28, 32), 0x85), " ")
"""Control characters that part words."""
_CONTROLS: dict[int, str | None] = dict.fromkeys((*range(32), *range(127, 160)))
_DIRECTIONS: dict[int, str | None] = dict.fromkeys(
    (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
)
"""Marks of writing direction (Unicode UAX #9), and the byte order mark."""
_UNWANTED = _CONTROLS | _DIRECTIONS | _SPACES
_LINE_MARK = re.compile(r"^\s*(?:#{1,6}\s+|[-*+•]\s+|>\s*|(?:[-*_]\s*){3,}$)", re.MULTILINE)
_LEFT_OVER = re.compile(r"\*\*+|__+|~~+|`+")
"""Of a mark that another piece of the answer opens or closes."""


def clean(text: str, *, lines: bool = False) -> str:
    """The text without control characters and marks of writing direction; `lines` leaves line feeds in."""
    return text.translate({**_UNWANTED, 10: "\n"} if lines else _UNWANTED)


def without_markup(text: str) -> str:
    """The words of a piece of Markdown, with single spaces between them."""
    (inline,) = _inline().parseInline(_LINE_MARK.sub("", text))
    words = "".join(" " if each.type.endswith("break") else each.content for each in inline.children or [])
    return " ".join(_LEFT_OVER.sub("", words).split())


@cache
def _inline() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
