"""CRAG-MM's two indexes, image search and web search, as the contest publishes them: folders of a Chroma database.

Collection `image_embeddings`: a picture each, with metadata `image_url`, `entities` (JSON list of names) and `info`
(JSON object of their attributes). Collection `web_search_embeddings`: a part of a web page each, with `page_name`,
`page_url` and `page_snippet`. Their vectors are those of CLIP and BGE, which this server does not use: it embeds
pictures and texts by its own encoders. Pictures are addresses; downloaded ones are found by their
last part.

Read from `chroma.sqlite3` itself, a record at a time: tables `collections`, `segments`, `embeddings` and
`embedding_metadata`, as Chroma has them since 0.4.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from quizglass_client import Entry
from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.record import shown
from quizglass_lab.knowledge.articles import PicturesOfEntries, article

FILE_NAME = "chroma.sqlite3"
IMAGES, PAGES = "image_embeddings", "web_search_embeddings"
_RECORDS = """
SELECT embeddings.id, embeddings.embedding_id, collections.name, embedding_metadata.key, embedding_metadata.string_value
FROM embeddings
JOIN segments ON segments.id = embeddings.segment_id
JOIN collections ON collections.id = segments.collection
JOIN embedding_metadata ON embedding_metadata.id = embeddings.id
WHERE collections.name IN (?, ?)
ORDER BY embeddings.id
"""


def read(path: Path, pictures: PicturesOfEntries, report: ImportReport) -> Iterator[GoodLine | BadLine]:
    """The pictures and pages of a database, in its order, numbered from 1.

    Raises:
        DatasetError: it is no such database, or damaged.
    """
    try:
        opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            rows = opened.execute(_RECORDS, (IMAGES, PAGES))
            for number, (_, group) in enumerate(groupby(rows, key=lambda row: row[0]), 1):
                yield _line(number, list(group), pictures, report)
        finally:
            opened.close()
    except sqlite3.Error as error:
        expected = f"a Chroma database with the collection {IMAGES} or {PAGES}"
        raise DatasetError(f"{path}: expected {expected}: {error}") from error


def _line(
    number: int, rows: list[tuple[Any, ...]], pictures: PicturesOfEntries, report: ImportReport
) -> GoodLine | BadLine:
    _, name, collection, *_ = rows[0]
    told = {str(key): value for *_, key, value in rows if isinstance(value, str)}
    try:
        make = _picture if collection == IMAGES else _page
        return GoodLine(number, make(str(name), told, pictures, report))
    except (DatasetError, RecursionError) as error:
        return BadLine(number, str(error), id=str(name))


def _picture(name: str, told: dict[str, str], pictures: PicturesOfEntries, report: ImportReport) -> Entry:
    names, info = _json(told, "entities"), _json(told, "info")
    named = [str(each) for each in names] if isinstance(names, list) else [str(names)]
    if not isinstance(info, dict):
        raise DatasetError(f"info: expected an object of entities, not {shown(info)}")
    parts = [part for each in named for part in _sentences(each, info.get(each))]
    first = info.get(named[0]) if named else None
    attributes = {str(key)[:60]: str(value) for key, value in first.items()} if isinstance(first, dict) else {}
    url = told.get("image_url", "")
    return article(
        f"crag-mm/image/{name}",
        ", ".join(named),
        "\n".join(parts),
        report,
        source=url,
        attributes=dict(list(attributes.items())[:200]),
        pictures=pictures.of_address(url),
    )


def _sentences(entity: str, attributes: Any) -> Iterator[str]:
    """What is known of an entity, a line each, so that text search finds what no attribute can hold."""
    yield entity
    for key, value in attributes.items() if isinstance(attributes, dict) else ():
        if value not in (None, "", [], {}):
            yield f"{str(key).replace('_', ' ')}: {value if isinstance(value, str) else json.dumps(value)}"


def _page(name: str, told: dict[str, str], pictures: PicturesOfEntries, report: ImportReport) -> Entry:
    missing = next((key for key in ("page_snippet", "page_url") if not told.get(key)), "")
    if missing:
        raise DatasetError(f"{missing}: expected a text")
    title = told.get("page_name") or told["page_url"]
    return article(f"crag-mm/web/{name}", title, told["page_snippet"], report, source=told["page_url"])


def _json(told: dict[str, str], key: str) -> Any:
    try:
        return json.loads(told[key])
    except (KeyError, ValueError) as error:
        raise DatasetError(f"{key}: expected JSON in the record's metadata: {error}") from None
