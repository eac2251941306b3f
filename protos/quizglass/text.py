"""Text that may come from anywhere, as it may be shown to people and as it is stored."""

from __future__ import annotations

import io
import sys
import unicodedata

_STEERING = ("Cc", "Cs")
_TAB = 4  # columns, as CommonMark has it
# Embeddings, overrides and isolates of the writing direction: they can make one text look like another.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Text without the characters by which a terminal can be steered or its reader misled.

    Control characters but for line ends become spaces; marks of the writing direction go, which a terminal finds out by
    itself from the letters.
    """
    return "".join(
        c if c == "\n" or unicodedata.category(c) not in _STEERING else " " for c in text if c not in _DIRECTIONS
    )


def clean_line(text: str) -> str:
    """Text on one line: breaks and tabs become spaces, other control characters and lone surrogates go."""
    return " ".join(_without_controls(text).split())


def clean_text(text: str) -> str:
    """Text of several paragraphs: line breaks stay, other control characters and lone surrogates go.

    Tabs become spaces; in front of a line as many as Markdown counts them for, since they say what stands below what.
    """
    lines = [_indented(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\n".join(_without_controls(line).rstrip() for line in lines).strip()


def _indented(line: str) -> str:
    content = line.lstrip(" \t")
    return line[: len(line) - len(content)].expandtabs(_TAB) + content.replace("\t", " ")


def _without_controls(text: str) -> str:
    if text.isprintable():
        return text
    spaced = (" " if character.isspace() else character for character in text)
    return "".join(character for character in spaced if unicodedata.category(character) not in _STEERING)


def escape_unencodable_output() -> None:
    """Write characters that the encoding of standard output lacks as escapes, such as \\u8003; they end no command.

    For the beginning of a command. A terminal or pipe in Latin-1 or ASCII lacks most names of the world.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
