"""Titles for entries without one: from the file's name, or from the first sentence of the text."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from pathlib import Path

from quizglass_client.names.kinds import bare_name, is_document

_INDEXES = frozenset(("index", "_index", "readme", "default"))
NUMBERED = re.compile(r"(?P<name>.+?)[ _-]*\(?(?P<number>\d{1,3})\)?")
"""A name with the number of one of several pictures behind it: "kettle 2", "kettle-2", "kettle (2)"."""
_HYPHENATED = re.compile(r"[^\W\d_]{3,}(?:-[^\W\d_]{3,})+")
_SENTENCE, _LONGEST = re.compile(r".+?[.!?。](?=\s|$)"), 80
_ABBREVIATED = re.compile(
    r"\b(?:mr|mrs|ms|dr|st|prof|no|nr|jr|sr|vs|ca|approx|etc|bzw|z\.b|e\.g|i\.e|[a-z])\.$", re.IGNORECASE
)


def is_index(path: Path) -> bool:
    """Whether a file's name says that it is about its folder: "index", "readme"."""
    return bare_name(path).casefold() in _INDEXES


def title_of(path: Path) -> str:
    """A file's name as a title: "Red kettle" of "red_kettle.jpg".

    That of its folder for a document that is called "index" or the like.
    """
    name = bare_name(path)
    if is_document(path) and is_index(path):
        name = path.absolute().parent.name or name
    return title_of_name(name)


def title_of_thing(picture: Path) -> str:
    """A title from a picture's file name: "Kettle" of "kettle-2.jpg", as one of several."""
    numbered = NUMBERED.fullmatch(bare_name(picture))
    return title_of_name(numbered["name"] if numbered is not None else bare_name(picture))


def title_of_name(name: str) -> str:
    """A name, of a file without its ending or of a folder, with spaces, and a capital where it begins with a word."""
    name = unicodedata.normalize("NFC", name).replace("_", " ")
    words = (name.replace("-", " ") if _HYPHENATED.fullmatch(name) else name).split()
    if words and words[0].islower():
        words[0] = words[0][0].upper() + words[0][1:]
    return " ".join(words)


def first_sentence(text: str) -> str:
    """The first sentence of the first line with words, or as much of it as a title may be; without its full stop."""
    line = next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")
    ends = (match.end() for match in _SENTENCE.finditer(line) if not _ABBREVIATED.fullmatch(match[0].split()[-1]))
    return textwrap.shorten(line[: next(ends, None)], _LONGEST, placeholder=" …").removesuffix(".").removesuffix("。")
