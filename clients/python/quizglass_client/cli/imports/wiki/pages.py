"""Reads the pages of a MediaWiki dump: of each the latest revision, whatever their order and however many there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO
from xml.etree import ElementTree

from quizglass_client.cli.imports.wiki.namespaces import Site

_LONGEST_PIECE, _MOST_ELEMENTS = 16 << 20, 100_000  # bytes and XML elements of a revision, or between two
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class NoDump(ValueError):
    """A file is well-formed XML, but no dump of a MediaWiki."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a page."""

    number: int
    timestamp: str
    """ISO 8601, empty where the dump has none."""
    model: str
    """Of its content: "wikitext" or empty for articles."""
    text: str
    is_missing: bool
    """Whether the dump does not hold its text: it is hidden, or the dump is one without texts."""

    @property
    def order(self) -> tuple[bool, str, int]:
        """Later revisions have more, and those whose text is there more than those whose is not."""
        return not self.is_missing, self.timestamp, self.number


@dataclass(slots=True)
class Page:
    """A page with its latest revision."""

    title: str = ""
    number: str = ""
    namespace: int | None = None
    """None: the dump is of a time when they did not say."""
    is_redirect: bool = False
    latest: Revision | None = None
    older: int = 0
    """How many other revisions the dump has of it."""

    def add(self, revision: Revision) -> None:
        """Take in a revision."""
        self.older += self.latest is not None
        if self.latest is None or revision.order >= self.latest.order:
            self.latest = revision


def read_pages(file: BinaryIO, site: Site) -> Iterator[Page]:
    """Pages in their order; what the dump says of its wiki before them goes into `site`.

    Raises:
        NoDump: it is another kind of XML.
        ElementTree.ParseError, LookupError, ValueError: it is damaged, in an unknown encoding, or has a piece too long.
    """
    bounded = _Bounded(file)
    inside: list[ElementTree.Element] = []
    page = Page()
    for event, element in ElementTree.iterparse(bounded, events=("start", "end")):  # noqa: S314  # expat limits entities
        if event == "start":
            bounded.element()
            if not inside:
                _begin(element, site)
            inside.append(element)
            continue
        inside.pop()
        match _tag(element), [_tag(above) for above in inside]:
            case "page", [_]:
                yield page
                page = Page()
                inside[0].clear()  # it would keep what is left of every page
                bounded.reset()
            case "revision", [_, "page"]:
                page.add(_revision(element))
                inside[-1].remove(element)
                bounded.reset()
            case tag, [_, "page"]:
                _read_page(page, tag, element)
            case "base", [_, "siteinfo"]:
                site.base = (element.text or "").rpartition("/")[0]
            case "dbname", [_, "siteinfo"]:
                site.database = element.text or ""
            case "sitename", [_, "siteinfo"]:
                site.name = element.text or ""
            case "namespace", [_, "siteinfo", "namespaces"] if element.text:
                site.add_namespace(element.text, _number(element.get("key", "")))


class _Bounded:
    """A dump as it is read: a revision, and what comes between two, is kept in memory, and so has an end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._bytes = self._elements = 0

    def read(self, size: int = -1) -> bytes:
        """Bytes of the dump, as of a file. Raises ValueError when the piece is too long."""
        # Of a comment without an end, say, the parser begins anew with every piece: they grow with what there is.
        content = self._file.read(max(size, self._bytes // 4))
        self._bytes += len(content)
        if self._bytes > _LONGEST_PIECE:
            raise ValueError(f"there is a page of more than {_LONGEST_PIECE} bytes")
        return content

    def element(self) -> None:
        """An element begins. Raises ValueError when the piece has too many."""
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise ValueError(f"there is a page of more than {_MOST_ELEMENTS} XML elements")

    def reset(self) -> None:
        """A piece has ended."""
        self._bytes = self._elements = 0


def _begin(root: ElementTree.Element, site: Site) -> None:
    if _tag(root) != "mediawiki":
        raise NoDump(f"is no MediaWiki dump: it is XML that begins with <{_tag(root)[:40]}>")
    site.language = root.get(_LANGUAGE, "")


def _read_page(page: Page, tag: str, element: ElementTree.Element) -> None:
    text = (element.text or "").strip()
    match tag:
        case "title":
            page.title = text
        case "id":
            page.number = text
        case "ns":
            page.namespace = _number(text)
        case "redirect":
            page.is_redirect = True


def _revision(element: ElementTree.Element) -> Revision:
    below = {_tag(child): child for child in reversed(element)}  # the first of each
    text = below.get("text")
    said = "" if text is None else text.text or ""
    told = {name: below[name].text or "" for name in ("id", "timestamp", "model") if name in below}
    hidden = text is None or text.get("deleted") is not None
    missing = hidden or (text is not None and not said and text.get("bytes", "0") != "0")
    return Revision(
        _number(told.get("id", "")), told.get("timestamp", "").strip(), told.get("model", ""), said, missing
    )


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text.strip()) else 0
