"""Knowledge of one JSON object a line: InfoSeek's Wikipedia of 6 M articles, a part of it, and ViQuAE's.

InfoSeek and OVEN   Wiki6M_ver_1_0.jsonl[.gz]   {"wikidata_id": "Q243", "wikipedia_title", "wikipedia_summary",
                                                 "wikipedia_content", "wikipedia_image_url"}
ViQuAE, as KILT     {humans_with_faces,humans_without_faces,non_humans}.jsonl.gz
                                                {"wikipedia_id", "wikipedia_title", "text": {"paragraph": [...]},
                                                 "wikidata_info": {"wikidata_id"}, "image": "512px-NAME.jpg"}

The Wikidata item is the id, the English article's address the source. Of KILT's paragraphs the first is the title;
"Section::::" begins a heading, "BULLET::::" an item of a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from quizglass_client import Entry
from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_lines
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.wikipedia import article_address
from quizglass_lab.knowledge.articles import PicturesOfEntries, article

_SECTION, _BULLET = "Section::::", "BULLET::::"


class _Wiki6M(Published):
    wikidata_id: str
    wikipedia_title: str
    wikipedia_summary: str | None = ""
    wikipedia_content: str | None = ""
    wikipedia_image_url: str | None = ""


class _Paragraphs(Published):
    paragraph: list[str]


class _Item(Published):
    wikidata_id: str = ""


class _Kilt(Published):
    wikipedia_title: str
    wikipedia_id: str | int = ""
    text: Any
    wikidata_info: Any = Field(default_factory=dict)
    image: str | None = ""


def read(path: Path, pictures: PicturesOfEntries, report: ImportReport) -> Iterator[GoodLine | BadLine]:
    """The articles in the order of the file, numbered by line; those without a text are left out and counted."""
    for number, (place, record) in enumerate(json_lines(path), 1):
        try:
            kilt = isinstance(record, dict) and "text" in record
            entry = (_kilt if kilt else _wiki6m)(record, place, pictures, report)
        except DatasetError as error:
            yield BadLine(number, str(error))
            continue
        if entry.text:
            yield GoodLine(number, entry)
        else:
            report.leave_out("articles without a text")


def _wiki6m(record: object, place: str, pictures: PicturesOfEntries, report: ImportReport) -> Entry:
    told = checked(_Wiki6M, record, place)
    address = article_address(told.wikipedia_title)
    shown = [*pictures.of_item(told.wikidata_id)] or [*pictures.of_address(told.wikipedia_image_url or "")]
    text = (told.wikipedia_content or told.wikipedia_summary or "").strip()
    return article(told.wikidata_id, told.wikipedia_title, text, report, source=address, pictures=shown)


def _kilt(record: object, place: str, pictures: PicturesOfEntries, report: ImportReport) -> Entry:
    told = checked(_Kilt, record, place)
    paragraphs = checked(_Paragraphs, told.text, f"{place}: text").paragraph
    item = checked(_Item, told.wikidata_info or {}, f"{place}: wikidata_info").wikidata_id
    shown = [*pictures.named(told.image)] if told.image else []
    name, address = item or f"wikipedia/{told.wikipedia_id}", article_address(told.wikipedia_title)
    return article(name, told.wikipedia_title, _text(paragraphs), report, source=address, pictures=shown)


def _text(paragraphs: list[str]) -> str:
    parts = []
    for paragraph in paragraphs[1:]:
        plain = paragraph.strip()
        if plain.startswith(_SECTION):
            plain = plain.removeprefix(_SECTION).rstrip(".").rpartition(":")[2]
        parts.append(plain.removeprefix(_BULLET))
    return "\n\n".join(filter(None, parts))
