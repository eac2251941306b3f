"""Encyclopedic-VQA's knowledge, and EchoSight's for InfoSeek, which has its form: one JSON object of articles.

    {"https://en.wikipedia.org/wiki/PAGE": {"title", "url", "section_titles": [...], "section_texts": [...],
     "image_urls": [...], "image_reference_descriptions": [...], "image_section_indices": [...]}, ...}

`encyclopedic_kb_wiki.json` (2 M articles, 15 GB) or the `.zip` of it, and `wiki_100_dict_v4.json` (100 K). An address
that a store takes is the id, and every address the source. Pictures are addresses; downloaded ones
are found by their last part.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_values
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.knowledge.articles import PicturesOfEntries, article


class _Article(Published):
    title: str
    section_titles: list[str] = Field(default_factory=list)
    section_texts: list[str]
    image_urls: list[str] = Field(default_factory=list)
    image_reference_descriptions: list[Any] = Field(default_factory=list)


def read(path: Path, pictures: PicturesOfEntries, report: ImportReport) -> Iterator[GoodLine | BadLine]:
    """The articles in the order of the file, numbered from 1."""
    for number, (place, url, value) in enumerate(json_values(path), 1):
        try:
            told = checked(_Article, value, place)
        except DatasetError as error:
            yield BadLine(number, str(error), id=url)
            continue
        files = [file for each in told.image_urls for file in pictures.of_address(each)]
        captions = [text for text in told.image_reference_descriptions if isinstance(text, str) and text]
        entry = article(
            url,
            told.title,
            _text(told),
            report,
            caption=captions[0] if captions else "",
            source=url,
            pictures=files,
        )
        yield GoodLine(number, entry)


def _text(told: _Article) -> str:
    """Sections with their titles, but for the first, whose title is the article's."""
    parts = []
    for number, text in enumerate(told.section_texts):
        title = told.section_titles[number] if 0 < number < len(told.section_titles) else ""
        parts += [part for part in (title, text.strip()) if part and text.strip()]
    return "\n\n".join(parts)
