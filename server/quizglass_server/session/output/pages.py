"""Texts as lines and pages of a display, counted in cells: a grapheme takes none, one or two, and is never parted.

The package that knows how wide characters are takes 40 ms to load, which a server's start need not wait for.
"""

from __future__ import annotations

from collections.abc import Iterator


def pages(text: str, lines: int, columns: int) -> list[tuple[str, tuple[str, ...]]]:
    """A text in pieces that fit the display, each with its lines; the pieces joined are the text.

    Args:
        text: without line feeds.
        lines: of a page; 0: any number.
        columns: cells of a line.
    """
    wrapped = list(_lines(text, columns))
    step = lines or max(1, len(wrapped))
    return [
        ("".join(wrapped[at : at + step]), tuple(each.strip() for each in wrapped[at : at + step] if each.strip()))
        for at in range(0, len(wrapped), step)
    ]


def _lines(text: str, columns: int) -> Iterator[str]:
    """The text in lines; spaces around a line belong to it, and do not count."""
    from wcwidth import width

    line = word = ""
    for grapheme in _graphemes(text, columns):
        if grapheme == " ":
            line, word = f"{line}{word} ", ""
        elif width(f"{line}{word}{grapheme}".strip()) <= columns:
            word += grapheme
        elif line.strip():
            yield line
            line, word = "", word + grapheme
        else:
            yield line + word
            line, word = "", grapheme
    if line or word:
        yield line + word


def _graphemes(text: str, columns: int) -> Iterator[str]:
    from wcwidth import iter_graphemes, width

    for grapheme in iter_graphemes(text):
        if width(grapheme) <= columns:
            yield grapheme
        else:  # one that no display shows as one
            yield from grapheme
