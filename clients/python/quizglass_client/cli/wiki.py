"""Reads a MediaWiki dump (`pages-articles.xml`, also .bz2 and .gz): an article an entry.

Templates, tables and references are left out of the text; the parameters of an infobox become attributes, its name the
kind. Redirects and pages that are no articles are passed over.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote
from xml.etree import ElementTree

from quizglass_client.cli.entries import BadLine, GoodLine
from quizglass_client.cli.output import UsageError
from quizglass_client.types import Entry

_ARTICLES = "0"  # the namespace of articles
_INFOBOX = re.compile(r"infobox[\s_]*(.*)", re.IGNORECASE | re.DOTALL)
_FILE_LINK = re.compile(r"(?i)^\s*(?:file|image|category|datei|bild|kategorie|fichier|catégorie|archivo|categoría):")
_LONGEST_VALUE, _LONGEST_KEY, _MOST_FACTS, _LONGEST_TEXT = 500, 60, 200, 200_000


def read_wiki(path: Path) -> Iterator[GoodLine | BadLine]:
    """Articles, numbered from 1 by page.

    Raises:
        UsageError: mwparserfromhell is not installed.
    """
    parser = _parser()
    number, base, language = 0, "", ""
    whole: ElementTree.Element | None = None
    with _opened(path) as file:
        pages = ElementTree.iterparse(file, events=("start", "end"))  # noqa: S314  # expat limits entities itself
        try:
            for event, element in pages:
                tag = element.tag.rpartition("}")[2]
                if event == "start":
                    if whole is None:
                        whole, language = element, element.get("{http://www.w3.org/XML/1998/namespace}lang", "")
                elif tag == "base":
                    base = (element.text or "").rpartition("/")[0]
                elif tag == "page" and whole is not None:
                    number += 1
                    line = _line(number, element, parser, base, language)
                    whole.clear()  # it would keep what is left of every page
                    if line is not None:
                        yield line
        # LookupError and ValueError: the dump names an encoding that is not known.
        except (ElementTree.ParseError, LookupError, ValueError, EOFError, OSError, zlib.error) as error:
            yield BadLine(number + 1, f"the dump cannot be read further: {error}")


def _opened(path: Path) -> BinaryIO:
    suffix = path.suffix.lower()
    if suffix == ".bz2":
        return cast(BinaryIO, bz2.open(path))
    return cast(BinaryIO, gzip.open(path)) if suffix == ".gz" else path.open("rb")


def _parser() -> Any:
    try:
        import mwparserfromhell
    except ImportError as error:
        raise UsageError("reading a wiki needs mwparserfromhell; install quizglass with the extra import") from error
    return mwparserfromhell


def _line(number: int, page: ElementTree.Element, parser: Any, base: str, language: str) -> GoodLine | BadLine | None:
    try:
        entry = _article(page, parser, base, language)
    except Exception as error:  # the parser's own, of markup that it gives up on
        return BadLine(number, f"the article cannot be read: {error}")
    return None if entry is None else GoodLine(number, entry)


def _article(page: ElementTree.Element, parser: Any, base: str, language: str) -> Entry | None:
    if _below(page, "ns") != _ARTICLES or page.find("{*}redirect") is not None:
        return None
    title, markup = _below(page, "title"), _below(page, "text")
    code = parser.parse(markup)
    kind, attributes = _infobox(code, parser)
    return Entry(
        id=f"wiki/{_below(page, 'id')}",
        title=title,
        kind=kind,
        text=_plain(code, parser)[:_LONGEST_TEXT],
        attributes=attributes,
        source=f"{base}/{quote(title.replace(' ', '_'))}"[:_LONGEST_VALUE] if base else "",
        language=language,
        time=_seconds(_below(page, "timestamp")),
        text_format="",
    )


def _below(page: ElementTree.Element, tag: str) -> str:
    for element in page.iter():
        if element.tag.rpartition("}")[2] == tag:
            return element.text or ""
    return ""


def _infobox(code: Any, parser: Any) -> tuple[str, dict[str, str]]:
    for template in code.filter_templates(recursive=False):
        match = _INFOBOX.fullmatch(str(template.name).strip())
        if match is None:
            continue
        facts: dict[str, str] = {}
        for parameter in template.params:
            key = " ".join(str(parameter.name).replace("_", " ").split())[:_LONGEST_KEY]
            value = " ".join(_plain(parser.parse(str(parameter.value)), parser).split())
            if parameter.showkey and key and 0 < len(value) <= _LONGEST_VALUE and len(facts) < _MOST_FACTS:
                facts[key] = value
        return " ".join(match[1].split())[:_LONGEST_KEY], facts
    return "", {}


def _plain(code: Any, parser: Any) -> str:
    """Text with a blank line between paragraphs; headings are paragraphs of their own."""
    for link in code.filter_wikilinks(recursive=False):
        if _FILE_LINK.match(str(link.title)):
            code.remove(link)
    for tag in code.filter_tags(matches=lambda node: str(node.tag).lower() in ("ref", "table", "gallery")):
        try:
            code.remove(tag)
        except ValueError:  # it went with one around it
            continue
    text = str(code.strip_code(normalize=True, collapse=True))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return re.sub(r"\n{2,}", "\n\n", "\n\n".join(line for line in lines if line))


def _seconds(timestamp: str) -> int:
    try:
        return max(0, int(datetime.fromisoformat(timestamp).timestamp()))
    except ValueError:
        return 0
