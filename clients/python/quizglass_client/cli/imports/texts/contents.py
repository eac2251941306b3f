"""Whether a document says anything: templates and notes with nothing but headings and tags do not."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from quizglass.note_marks import read_note_marks
from quizglass_client.cli.imports.texts.html_pages import outline
from quizglass_client.cli.imports.texts.titles import title_of_markup

_MARKDOWN = read_note_marks(MarkdownIt("commonmark").enable("table"))
_READ_WITHIN = 20_000
"""Characters of a text that are looked through; one that is longer says something."""
_CODE = re.compile(r"(?:```|~~~).*?(?:```|~~~)|`[^`\n]*`", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{\{ ?(?:date|time|title) ?(?::[^{}\n]*)?\}\}|<%[-_*+]?\s*tp\.", re.IGNORECASE)
"""As Obsidian's templates have them, and those of its plugin Templater."""
_OF_NO_THING = """
    alias aliases created cssclass cssclasses date draft id keywords modified permalink publish tag tags title uid
    updated
"""
_BOOKKEEPING = frozenset(_OF_NO_THING.split())


def is_template(text: str, text_format: str) -> bool:
    """Whether a text has places that a program for notes fills in, outside of code."""
    return text_format != "html" and _PLACEHOLDER.search(_CODE.sub("", text[:_READ_WITHIN])) is not None


def is_bookkeeping(key: str) -> bool:
    """Whether a property sorts a note, and says nothing of its subject."""
    return key.casefold() in _BOOKKEEPING


def says_something(text: str, text_format: str) -> bool:
    """Whether a text has words besides its title and its headings."""
    if len(text) > _READ_WITHIN and text_format != "html":
        return True
    match text_format:
        case "markdown":
            return outline(_MARKDOWN.render(text)).has_text
        case "html":
            return outline(text).has_text
        case _:
            title = title_of_markup(text, text_format)
            lines = [words for line in text.splitlines() if any(map(str.isalnum, words := " ".join(line.split())))]
            return lines not in ([], [title])
