"""Reads a MediaWiki dump (`pages-articles.xml`, also .bz2 and .gz): an article an entry.

Redirects and pages that are no articles are left out and counted. What is in an article: `article.py`.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote
from xml.etree import ElementTree

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.wiki.article import ArticleReader
from quizglass_client.cli.imports.wiki.namespaces import ARTICLES, CATEGORY, FILE, Site, is_redirect
from quizglass_client.cli.imports.wiki.pages import NoDump, Page, read_pages
from quizglass_client.cli.imports.wiki.process import BoundedReader
from quizglass_client.terminal.usage import UsageError
from quizglass_client.types import Entry

_LONGEST_SOURCE = 500


def read_wiki(path: Path, report: ImportReport) -> Iterator[GoodLine | BadLine]:
    """Articles, numbered from 1 by page.

    Raises:
        UsageError: mwparserfromhell is not installed, or the file is no dump.
    """
    parser, site = _parser(), Site()
    markup: BoundedReader | None = None
    number = 0
    with _opened(path) as file:
        try:
            for number, page in enumerate(read_pages(file, site), 1):
                if _is_left_out(page, site, report):
                    continue
                if markup is None:  # by now the dump has said how links to files and categories begin
                    markup = BoundedReader(ArticleReader(parser, site.names_of(FILE, CATEGORY)))
                yield _line(number, page, markup, site, report)
        except NoDump as error:
            raise UsageError(f"{path} {error}") from error
        # LookupError and ValueError: the dump names an encoding that is not known.
        except (ElementTree.ParseError, LookupError, ValueError, EOFError, OSError, zlib.error) as error:
            yield BadLine(number + 1, f"the dump cannot be read further: {error}")
        finally:
            if markup is not None:
                markup.close()


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


def _is_left_out(page: Page, site: Site, report: ImportReport) -> bool:
    """Whether a page is no article; what is left out is counted."""
    if page.older:
        report.leave_out("older revisions", page.older)
    if (namespace := site.namespace(page.title, page.namespace)) != ARTICLES:
        report.leave_out(f"pages in {site.called(namespace)}")
        return True
    if page.is_redirect or (page.latest is not None and is_redirect(page.latest.text)):
        report.leave_out("redirects")
        return True
    return False


def _line(number: int, page: Page, markup: BoundedReader, site: Site, report: ImportReport) -> GoodLine | BadLine:
    revision = page.latest
    if revision is None or revision.is_missing:
        return BadLine(number, f"{page.title}: the dump does not hold its text")
    if revision.model not in ("", "wikitext"):
        return BadLine(number, f"{page.title}: is {revision.model}, and no article")
    if not page.number:
        return BadLine(number, f"{page.title}: the page has no id")
    try:
        article = markup.read(revision.text)
    except Exception as error:  # the parser's own, of markup that it gives up on
        return BadLine(number, f"{page.title}: the article cannot be read: {error}")
    for place, why in article.cuts:
        report.cut(f"{page.title}: {place}" if place else page.title, why)
    for what, count in article.left_out.items():
        report.leave_out(what, count)
    return GoodLine(
        number,
        Entry(
            id="/".join(part for part in ("wiki", site.id, str(page.number)) if part),
            title=page.title,
            kind=article.kind,
            text=article.text,
            attributes=article.attributes,
            source=_source(page, site, report),
            language=site.language,
            time=_seconds(page, revision.timestamp, report),
            text_format="",
        ),
    )


def _source(page: Page, site: Site, report: ImportReport) -> str:
    """The address of a page, escaped where there is room for that; empty where the wiki has none."""
    if not site.base:
        return ""
    title = page.title.replace(" ", "_")
    whole = (f"{site.base}/{quote(title)}", f"{site.base}/{title}")
    source = next((one for one in whole if len(one) <= _LONGEST_SOURCE), "")
    if not source:
        report.cut(page.title, f"addresses of more than {_LONGEST_SOURCE} characters are left out")
    return source


def _seconds(page: Page, timestamp: str, report: ImportReport) -> int:
    if not timestamp:
        return 0
    try:
        at = datetime.fromisoformat(timestamp)
        return max(0, int((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()))
    except (ValueError, OverflowError):
        report.cut(page.title, "times that are no dates are left out")
        return 0
