"""The title that a document gives itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt

from quizglass.note_marks import read_note_marks
from quizglass_client.cli.imports.texts.html_pages import Heading, outline
from quizglass_client.names.titles import first_sentence

_MARKDOWN = read_note_marks(MarkdownIt("commonmark"))
_AT_FIRST, _AT_MOST = 2_000, 20_000
"""Characters of Markdown in which a title is looked for; most have it at the beginning."""
_UNDERLINE = re.compile(r"([=\-`:.'\"~^_*+#<>])\1*")


def title_of_markup(text: str, text_format: str) -> str:
    """The title of a document, without marks; empty where it has none.

    Of HTML that is its first heading of the first level, else the title in its head. Of Markdown it is the heading that
    it begins with, if no other is on the same level, else the first heading of the first level.
    """
    match text_format:
        case "markdown":
            return _of_markdown(text)
        case "html":
            found = outline(text).headings
            return _first(found, 1) or _first(found, 0) or _alone_at_the_top(found)
        case _:
            return _of_plain_text(text)


def _of_markdown(text: str) -> str:
    for size in (_AT_FIRST, _AT_MOST):
        # Up to the end of a line: what is cut off within one would be another line.
        part = text if len(text) <= size else text[: max(text.rfind("\n", 0, size), 0) or size]
        found = outline(_MARKDOWN.render(part)).headings
        highest = _first(found, 1)
        title = _alone_at_the_top(found) or highest
        # A link may be resolved by a line further below, and a heading of a lower level may have others beside it.
        if (title and title == highest and "[" not in title) or len(text) <= size:
            break
    return title


def _first(found: Sequence[Heading], level: int) -> str:
    return next((heading.text for heading in found if heading.level == level), "")


def _alone_at_the_top(found: Sequence[Heading]) -> str:
    """The heading that a document begins with, if it is the only one of its level."""
    of_text = [heading for heading in found if heading.level]
    if of_text and of_text[0].begins and sum(heading.level == of_text[0].level for heading in of_text) == 1:
        return of_text[0].text
    return ""


def _of_plain_text(text: str) -> str:
    """The first line, if it is underlined as reStructuredText has titles, with a line above it or none."""
    lines = [line.rstrip() for line in text[:_AT_FIRST].lstrip().splitlines()[:3]]
    if len(lines) == 3 and lines[0] == lines[2] and _UNDERLINE.fullmatch(lines[0]):
        lines = lines[1:]
    if len(lines) < 2 or not _UNDERLINE.fullmatch(lines[1]) or len(lines[1]) < len(lines[0].strip()):
        return ""
    return " ".join(lines[0].split()) if any(character.isalnum() for character in lines[0]) else ""


def first_words(text: str, text_format: str) -> str:
    """The first sentence of a document, or as much of it as a title may be."""
    beginning = text[:_AT_FIRST]
    match text_format:
        case "markdown":
            words = outline(_MARKDOWN.render(beginning)).words
        case "html":
            words = outline(text).words
        case _:
            words = beginning
    return first_sentence(words)
