"""Which pictures a document shows in its text: by their names, as they are written there."""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from quizglass.note_marks import read_note_marks

_MARKDOWN = read_note_marks(MarkdownIt("commonmark").enable("table"))
_MAY_SHOW = {"markdown": ("![", "<img", "<IMG"), "html": ("<img", "<IMG", "<Img")}
_READ_WITHIN, _MOST = 200_000, 1_000
"""Characters that are read, which are all of an entry's text, and names that are taken."""


def pictures_shown(text: str, text_format: str) -> tuple[str, ...]:
    """Names of the files that a text shows, each once, in order; none that lies on the web or within the text.

    They are relative to the document or to the folder of all notes; of a wiki's embed it may be the name alone.
    """
    if not any(mark in text for mark in _MAY_SHOW.get(text_format, ())):
        return ()
    reader, part = _Images(), text[:_READ_WITHIN]
    reader.feed(_MARKDOWN.render(part) if text_format == "markdown" else part)
    return tuple(dict.fromkeys(_files(reader.sources)))[:_MOST]


def _files(sources: Iterable[str]) -> Iterable[str]:
    """The addresses that name files, as paths."""
    for source in sources:
        try:
            parts = urlsplit(source.strip())
        except ValueError:  # a host in brackets that is none
            continue
        if not (parts.scheme or parts.netloc) and (name := unquote(parts.path).replace("\\", "/").strip()):
            yield name


class _Images(HTMLParser):
    """Collects the addresses of images."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img" and (source := dict(attrs).get("src")):
            self.sources.append(source)
