"""Reads a MediaWiki dump (`pages-articles.xml`, also .bz2 and .gz): an article an entry.

Redirects and pages that are no articles are passed over. What is in an article: `wiki_markup.py`.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote
from xml.etree import ElementTree

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.wiki_markup import WikiMarkup
from quizglass_client.terminal.output import UsageError
from quizglass_client.types import Entry

_ARTICLES = "0"  # the namespace of articles
_LONGEST_SOURCE = 500
_LONGEST_PAGE, _MOST_ELEMENTS = 16 << 20, 100_000  # bytes and XML elements from one page to the next


def read_wiki(path: Path) -> Iterator[GoodLine | BadLine]:
    """Articles, numbered from 1 by page.

    Raises:
        UsageError: mwparserfromhell is not installed.
    """
    number, base, language = 0, "", ""
    whole: ElementTree.Element | None = None
    with closing(WikiMarkup(_parser())) as markup, _opened(path) as opened:
        file = _Pages(opened)
        pages = ElementTree.iterparse(file, events=("start", "end"))  # noqa: S314  # expat limits entities itself
        try:
            for event, element in pages:
                tag = element.tag.rpartition("}")[2]
                if event == "start":
                    file.element()
                    if whole is None:
                        whole, language = element, element.get("{http://www.w3.org/XML/1998/namespace}lang", "")
                elif tag == "base":
                    base = (element.text or "").rpartition("/")[0]
                elif tag == "page" and whole is not None:
                    number += 1
                    file.page()
                    line = _line(number, element, markup, base, language)
                    whole.clear()  # it would keep what is left of every page
                    if line is not None:
                        yield line
        # LookupError and ValueError: the dump names an encoding that is not known.
        except (ElementTree.ParseError, LookupError, ValueError, EOFError, OSError, zlib.error) as error:
            yield BadLine(number + 1, f"the dump cannot be read further: {error}")


class _Pages:
    """A dump as it is read: what comes between two pages is kept in memory, and so has an end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._bytes = self._elements = 0

    def read(self, size: int = -1) -> bytes:
        """Bytes of the dump, as of a file. Raises ValueError when the page is too long."""
        # Of a comment without an end, say, the parser begins anew with every piece: they grow with what there is.
        content = self._file.read(max(size, self._bytes // 4))
        self._bytes += len(content)
        if self._bytes > _LONGEST_PAGE:
            raise ValueError(f"there is a page of more than {_LONGEST_PAGE} bytes")
        return content

    def element(self) -> None:
        """An element begins. Raises ValueError when the page has too many."""
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise ValueError(f"there is a page of more than {_MOST_ELEMENTS} XML elements")

    def page(self) -> None:
        """A page has ended."""
        self._bytes = self._elements = 0


def _opened(path: Path) -> BinaryIO:
    suffix = path.suffix.lower()
    if suffix == ".bz2":
        return cast(BinaryIO, bz2.open(path))
    return cast(BinaryIO, gzip.open(path)) if suffix == ".gz" else path.open("rb")


def _parser() -> Any:
    try:
        import mwparserfromhell
    except ImportError as error:
        raise UsageError("reading a wiki needs mwparserfromhell; in the clone: pip install '.[import]'") from error
    return mwparserfromhell


def _line(
    number: int, page: ElementTree.Element, markup: WikiMarkup, base: str, language: str
) -> GoodLine | BadLine | None:
    try:
        entry = _article(page, markup, base, language)
    except Exception as error:  # the parser's own, of markup that it gives up on
        return BadLine(number, f"the article cannot be read: {error}")
    return None if entry is None else GoodLine(number, entry)


def _article(page: ElementTree.Element, markup: WikiMarkup, base: str, language: str) -> Entry | None:
    if _below(page, "ns") != _ARTICLES or page.find("{*}redirect") is not None:
        return None
    title = _below(page, "title")
    kind, attributes, text = markup.read(_below(page, "text"))
    return Entry(
        id=f"wiki/{_below(page, 'id')}",
        title=title,
        kind=kind,
        text=text,
        attributes=attributes,
        source=f"{base}/{quote(title.replace(' ', '_'))}"[:_LONGEST_SOURCE] if base else "",
        language=language,
        time=_seconds(_below(page, "timestamp")),
        text_format="",
    )


def _below(page: ElementTree.Element, tag: str) -> str:
    for element in page.iter():
        if element.tag.rpartition("}")[2] == tag:
            return element.text or ""
    return ""


def _seconds(timestamp: str) -> int:
    try:
        return max(0, int(datetime.fromisoformat(timestamp).timestamp()))
    except ValueError:
        return 0
