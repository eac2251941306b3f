"""What an import has to know of an HTML page before it sends it: its encoding, its title, its headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_DECLARED_WITHIN, _READ_WITHIN = 4096, 100_000
"""Bytes in which an encoding is declared; characters in which headings are looked for."""
_MOST_WORDS = 1_000  # characters
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:+-]+)", re.IGNORECASE)
_OF_XML = re.compile(r"xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:+-]+)", re.IGNORECASE)
_NO_CONTENT = frozenset(
    ("svg", "math", "template", "noscript", "script", "style", "nav", "aside", "footer", "iframe", "object", "select")
)
_TITLES = {"title": 0, **{f"h{level}": level for level in range(1, 7)}}
_BLOCKS = frozenset(
    ("p", "div", "ul", "ol", "dl", "table", "section", "article", "main", "pre", "blockquote", "body", "hr")
)
_LONG_NUMBER = re.compile(
    r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?"
)  # no character; Python refuses numbers of 4,300 digits


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page."""

    level: int
    """1 is the highest; 0 is the page's title."""
    text: str
    begins: bool
    """Whether no other text of the page comes before it."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The beginning of a page as its readers see it."""

    headings: list[Heading]
    """Its title among them, where it stands."""
    words: str
    """Its first words, those of headings too but for the title."""
    has_text: bool
    """Whether it has words besides its title and its headings."""


def declared_encoding(raw: bytes) -> str:
    """The encoding that a page declares in XML's way or HTML's, empty if it does not."""
    parser = _Declaration()
    parser.feed(raw[:_DECLARED_WITHIN].decode("latin-1"))
    return parser.encoding


def outline(page: str) -> Outline:
    """What the beginning of a page says."""
    parser = _Reader()
    # A last tag, since words are given when one follows; `close` takes minutes for what has many unfinished ones.
    parser.feed(_LONG_NUMBER.sub(" ", page[:_READ_WITHIN]) + "<hr>")
    parser.end_heading()
    words = " ".join("".join(parser.words).split())
    return Outline(parser.found, words, parser.has_text or len(page) > _READ_WITHIN)


class _Declaration(HTMLParser):
    """Finds the encoding in the head of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.encoding = ""

    def handle_pi(self, data: str) -> None:
        if (match := _OF_XML.match(data)) is not None:
            self.encoding = self.encoding or match[1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta" or self.encoding:
            return
        said = dict(attrs)
        in_type = (said.get("http-equiv") or "").lower() == "content-type"
        match = _CHARSET.search(said.get("content") or "") if in_type else None
        self.encoding = (said.get("charset") or "").strip() or (match[1] if match is not None else "")


class _Reader(HTMLParser):
    """Collects the visible words of the page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Heading] = []
        self.words: list[str] = []
        self._room = _MOST_WORDS
        self._within: list[str] = []  # elements without content that are open
        self._heading: str | None = None
        self._spoken: list[str] = []
        self._first = True
        self.has_text = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._within:
            if tag == self._within[-1]:
                self._within.append(tag)
        elif tag in _NO_CONTENT:
            self._within.append(tag)
        elif tag in _TITLES:
            self.end_heading()
            self._heading, self._spoken = tag, []
        elif tag == "img":
            self._say(f" {dict(attrs).get('alt') or ''} ")
        elif tag in _BLOCKS:
            self.words.append(" ")
            if "".join(self._spoken).strip():
                self.end_heading()  # which nothing has ended

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _NO_CONTENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._within:
            if tag == self._within[-1]:
                self._within.pop()
        elif tag in _TITLES:
            self.end_heading()

    def handle_data(self, data: str) -> None:
        if not self._within:
            self._say(data)

    def end_heading(self) -> None:
        """What was said since the heading began is the heading."""
        text = " ".join("".join(self._spoken).split())
        if self._heading is not None and text:
            level = _TITLES[self._heading]
            self.found.append(Heading(level, text, self._first))
            self._first = self._first and not level
        self._heading, self._spoken = None, []
        self.words.append(" ")

    def _say(self, text: str) -> None:
        if self._heading is not None:
            self._spoken.append(text)
        elif text.strip():
            self._first = False
            self.has_text = self.has_text or any(map(str.isalnum, text))
        if self._heading != "title" and self._room > 0 and text.strip():
            self.words.append(text)
            self._room -= len(text)
