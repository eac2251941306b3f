"""Which form the knowledge on disk has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.intake.sources import Manner, Source, sources
from quizglass_client.terminal.usage import UsageError
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_lines
from quizglass_lab.knowledge import crag_mm, dumps, encyclopedic, json_articles
from quizglass_lab.knowledge.articles import PicturesOfEntries

Lines = Iterator[GoodLine | BadLine]
Reader = Callable[[Path, PicturesOfEntries, ImportReport], Lines]
_DUMPS = (".xml", ".xml.bz2", ".xml.gz")
_ARTICLES = ({"wikidata_id", "wikipedia_title"}, {"wikipedia_title", "text"})
"""Keys by which articles of one JSON object a line are known."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Knowledge in a file or folder, and how it is read."""

    source: Source
    form: str
    """In words, for the progress bar and the report."""


def find(path: Path, pictures: Path | None = None, props: Path | None = None) -> Knowledge:
    """The knowledge in a file or folder.

    Args:
        path: as it was published or downloaded; or anything that `quizglass knowledge import` takes.
        pictures: folder of its pictures, which are published apart.
        props: `page_props.sql.gz` of a MediaWiki dump, which has the Wikidata items of its pages.

    Raises:
        DatasetError: nothing of the kind is there.
    """
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder")
    if path.is_dir() and (path / crag_mm.FILE_NAME).is_file():
        return _read(path / crag_mm.FILE_NAME, crag_mm.read, "CRAG-MM's index", pictures)
    if path.name == crag_mm.FILE_NAME:
        return _read(path, crag_mm.read, "CRAG-MM's index", pictures)
    plain = path.name.removesuffix(".gz").removesuffix(".zip")
    if path.is_file() and (plain.endswith(".json") or path.suffix == ".zip"):
        return _read(path, encyclopedic.read, "articles by address", pictures)
    if path.is_file() and plain.endswith(".jsonl") and _has_articles(path):
        return _read(path, json_articles.read, "articles by Wikidata item", pictures)
    try:
        (source,) = sources([path], Manner())
    except UsageError as error:
        raise DatasetError(str(error)) from error
    if props is not None and path.name.endswith(_DUMPS):
        return Knowledge(replace(source, read=partial(dumps.named_by_items, source.read, props)), "articles of a wiki")
    return Knowledge(source, "entries")


def _read(path: Path, reader: Reader, form: str, pictures: Path | None) -> Knowledge:
    return Knowledge(Source(path, partial(reader, path, PicturesOfEntries(pictures)), None), form)


def _has_articles(path: Path) -> bool:
    _, first = next(json_lines(path), ("", None))
    return isinstance(first, dict) and any(keys <= first.keys() for keys in _ARTICLES)
