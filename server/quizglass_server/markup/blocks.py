"""Markdown and HTML as blocks of plain text under their headings.

HTML is read by selectolax (Lexbor, which parses as browsers do); Markdown becomes HTML first, by markdown-it-py
(CommonMark with tables). What is not content, such as scripts, styles and navigation, is left out.

What comes out is bounded, whatever the markup: nested tables or headings repeat no text without an end. How long it
takes is not bounded here: `converter.py` runs what is long elsewhere and ends it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser, LexborNode

FORMATS = ("markdown", "html")
"""Formats that have a structure."""

_LEFT_OUT = "script, style, noscript, template, nav, header, footer, aside, form, svg, math, iframe, button, select"
_BLOCK_TAGS = """
    address article blockquote body caption dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr html li main ol
    p pre section summary table tbody tfoot thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADING = re.compile(r"h([1-6])")
_DEEPEST = 100  # elements within each other; what is deeper is taken as one text
_MOST_WORK = 300_000_000  # open elements squared times tags: a third of a second at the worst; pages have a hundredth
_TAG, _WHOLE_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)"), re.compile(r"<[^<>]*>")
_CLOSED_BY_THE_NEXT = """
    area base br col dd dt embed hr img input li link meta option p param source tbody td tfoot th thead tr track wbr
"""
_NEVER_DEEP = frozenset(_CLOSED_BY_THE_NEXT.split())
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_ITEMS = "; "  # between the items of a list and the cells of a row
_LONGEST_HEADING = 241  # characters; longer ones are never put in front of a chunk, so that more need not be kept
_LONGEST_COLUMN = 100  # characters of a column's name, which is repeated in every row
_MOST_BLOCKS = 5_000  # a block is a chunk at least
_MOST_CHARACTERS = 1_000_000  # of all blocks: five times the longest text of an entry
_LONG_NUMBER = re.compile(r"&#[0-9]{8,}|&#[xX][0-9a-fA-F]{7,}")  # no character; Python refuses numbers of 4,300 digits


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list, a table's row or a piece of code."""

    headings: tuple[str, ...]
    """Headings above it, from the outermost to the nearest."""
    text: str


def blocks(text: str, text_format: str) -> list[Block]:
    """What a text consists of, in order; a plain text has no structure beyond its paragraphs and is one block."""
    if text_format not in FORMATS:
        return [Block((), text)]
    collected, characters = list[Block](), 0
    for block in _html(_MARKDOWN.render(text) if text_format == "markdown" else text):
        collected.append(block)
        characters += len(block.text)
        if characters > _MOST_CHARACTERS:
            return plain(text, text_format)
    return collected if len(collected) <= _MOST_BLOCKS else _joined(collected)


def plain(text: str, text_format: str) -> list[Block]:
    """The same without its structure: Markdown as it stands, HTML without its tags. Takes milliseconds for any text."""
    if text_format == "html":
        text = " ".join(html.unescape(_LONG_NUMBER.sub(" ", _WHOLE_TAG.sub(" ", text))).split())
    return [Block((), text)] if text else []


def _joined(collected: list[Block]) -> list[Block]:
    """Fewer blocks: those under the same headings as paragraphs of one, and if that is not enough, all of them."""
    under = [
        Block(headings, "\n\n".join(block.text for block in group))
        for headings, group in groupby(collected, key=lambda block: block.headings)
    ]
    return under if len(under) <= _MOST_BLOCKS else [Block((), "\n\n".join(block.text for block in collected))]


def _is_parsed_soon(text: str) -> bool:
    """Whether parsing, during which nothing else runs, is short.

    For a tag a parser may look at every open element, and open each anew: markup that closes none would take minutes.
    """
    unclosed = Counter[str]()
    now = most = tags = 0
    for closing, tag in _TAG.findall(text):
        name = tag.lower()
        tags += 1
        if name in _NEVER_DEEP:
            continue
        if not closing:
            unclosed[name] += 1
            now += 1
            most = max(most, now)
        elif unclosed[name]:
            unclosed[name] -= 1
            now -= 1
    return most * most * tags <= _MOST_WORK


class _Outline:
    """The headings above the place that is read."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, heading: str) -> None:
        """A heading of this level (1 is the highest) begins."""
        self._open = [(above, words) for above, words in self._open if above < level]
        if heading:
            self._open.append((level, heading[:_LONGEST_HEADING]))

    def block(self, text: str) -> Block:
        """A block below the headings."""
        return Block(tuple(words for _, words in self._open), text)


def _html(text: str) -> Iterator[Block]:
    if not _is_parsed_soon(text):
        yield from plain(text, "html")
        return
    parsed = LexborHTMLParser(text)
    for node in parsed.css(_LEFT_OUT):
        node.decompose()
    if parsed.body is None:
        return
    outline, words = _Outline(), list[str]()
    for kind, content in _walk(parsed.body):
        if kind == "text":
            words.append(content)
            continue
        paragraph, words = " ".join("".join(words).split()), []
        if kind.startswith("/h") and _HEADING.fullmatch(kind[1:]):
            outline.enter(int(kind[2]), paragraph)
        elif paragraph:
            yield outline.block(paragraph)
    rest = " ".join("".join(words).split())
    if rest:
        yield outline.block(rest)


def _walk(node: LexborNode, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Texts, and the beginnings and ends of blocks, in document order; a list and a table's row are a block each."""
    for child in node.iter(include_text=True):
        tag = child.tag or ""
        if tag == "-text":
            yield "text", child.text(deep=False)
        elif tag in ("ul", "ol", "dl") or depth > _DEEPEST:
            yield from _as_block(tag, _ITEMS.join(_parts(child)))
        elif tag == "table":
            for text in _table(child):
                yield from _as_block("tr", text)
        elif tag in _BLOCKS:
            yield tag, ""
            yield from _walk(child, depth + 1)
            yield f"/{tag}", ""
        elif tag == "br":
            yield "text", " "
        elif tag == "img":
            yield "text", f" {child.attributes.get('alt') or ''} "
        else:
            yield from _walk(child, depth + 1)


def _as_block(tag: str, text: str) -> Iterator[tuple[str, str]]:
    yield tag, ""
    yield "text", text
    yield f"/{tag}", ""


def _table(table: LexborNode) -> list[str]:
    """A table's caption and rows, then those of the tables in its cells, which are taken out of them."""
    texts: list[list[str]] = []
    for inner in reversed(table.css("table table")):  # those within others first
        texts.append([*_captions(inner), *_rows(inner)])
        inner.decompose()
    texts.append([*_captions(table), *_rows(table)])
    return [text for each in reversed(texts) for text in each]


def _captions(table: LexborNode) -> Iterator[str]:
    return (_words(child) for child in table.iter() if child.tag == "caption")


def _rows(table: LexborNode) -> Iterator[str]:
    """Rows as "column: value" where the first of several is one of headings."""
    rows = table.css("tr")
    headed = len(rows) > 1 and bool(rows[0].css("th")) and not rows[0].css("td")
    columns = [_words(cell)[:_LONGEST_COLUMN] for cell in rows[0].css("th")] if headed else []
    for row in rows[1:] if headed else rows:
        cells = enumerate(_words(cell) for cell in row.iter())
        yield _ITEMS.join(_named(cell, columns[at] if at < len(columns) else "") for at, cell in cells if cell)


def _named(cell: str, column: str) -> str:
    return f"{column}: {cell}" if column else cell


def _parts(node: LexborNode) -> Iterator[str]:
    """Texts of what is directly below."""
    for child in node.iter(include_text=True):
        words = _words(child)
        if words:
            yield words


def _words(node: LexborNode) -> str:
    return " ".join((node.text(separator=" ") or "").split())
