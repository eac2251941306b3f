"""Notes within notes, as programs for notes write them: "![[Other note]]" and "![[Other note#Section]]"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from quizglass_client.names.kinds import FORMATS

_ALONE = re.compile(
    r"[ \t]*(?:(?:[-*+>]|\d{1,3}[.)])[ \t]+){0,8}!\[\[(?P<target>[^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\][ \t]*"
)
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]+(?P<words>.*?)[ \t]*#*[ \t]*")
_WORD = re.compile(r"\w+")
_BLOCK = "^"
"""Begins the name of a paragraph, which has it at its end."""

Take = Callable[[str, str], str | None]
"""The text of a note, or of one part of it, by their names; None: it is not taken in."""


def with_embeds(text: str, take: Take) -> str:
    """A text with the notes that stand alone on a line of it; those that are not taken in stay as they are written."""
    said = list[str]()
    for line, is_text in _lines(text):
        match = _ALONE.fullmatch(line.rstrip("\r\n")) if is_text else None
        page, _, part = match["target"].partition("#") if match is not None else ("", "", "")
        taken = take(page.strip(), part.rpartition("#")[2].strip()) if _is_note(page.strip()) else None
        said.append(line if taken is None else f"\n{taken.strip()}\n\n")
    return "".join(said)


def part_of(text: str, name: str) -> str | None:
    """What stands under a heading with it, or the paragraph of that name ("^cost"); None: there is no such part."""
    if name.startswith(_BLOCK):
        paragraphs = re.split(r"\n[ \t]*\n", text)
        return next((each for each in paragraphs if each.rstrip().endswith((f" {name}", f"\n{name}"))), None)
    wanted, level, part = _WORD.findall(name.casefold()), 0, list[str]()
    for line, is_text in _lines(text):
        heading = _HEADING.fullmatch(line.rstrip("\r\n")) if is_text else None
        if heading is not None and level and len(heading["level"]) <= level:
            break
        if heading is not None and not level and _WORD.findall(heading["words"].casefold()) == wanted:
            level = len(heading["level"])
        if level:
            part.append(line)
    return "".join(part) if level else None


def without_levels(text: str) -> str:
    """A text with its headings as labels: what follows where it is taken in does not stand under them."""
    said = list[str]()
    for line, is_text in _lines(text):
        heading = _HEADING.fullmatch(line.rstrip("\r\n")) if is_text else None
        said.append(line if heading is None else f"\n{heading['words'].rstrip(':')}:\n\n" if heading["words"] else "")
    return "".join(said)


def _is_note(page: str) -> bool:
    """Whether a name is that of a note: it has no ending, or that of a document, and a dot may be part of it."""
    suffix = PurePosixPath(page).suffix.lower()
    return bool(page) and (suffix in FORMATS or not re.fullmatch(r"\.[a-z][a-z0-9]{1,4}", suffix))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines with their ends, and whether each is text and no code between fences."""
    fence = ""
    for line in text.splitlines(keepends=True):
        marks = _FENCE.match(line)
        yield line, not fence and marks is None
        if marks is not None:
            if not fence:
                fence = marks["marks"]
            elif marks["marks"].startswith(fence):
                fence = ""
