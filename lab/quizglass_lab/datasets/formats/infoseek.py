"""InfoSeek (Chen et al., EMNLP 2023): JSON lines, as github.com/open-vision-language/infoseek publishes them.

    infoseek_{train,val,test,human}.jsonl   {"data_id", "image_id", "question", "answer": [...], "answer_eval": [...],
                                             "data_split"}; test and human without answers
    infoseek_{train,val}_withkb.jsonl       {"data_id", "entity_id": "Q178185", "entity_text": "Heat engine"}
    infoseek_val_qtype.jsonl                {"data_id", "question_type": "String", "Time" or "Numerical"}


EchoSight (Yan and Xie, EMNLP 2024 Findings) asks some of them: infoseek_{train,test}_filtered.csv has those of the
training and validation sets whose article is among its 100 K. The columns are Encyclopedic-VQA's, with `data_id` beside
them. A row has neither the accepted range of a number nor the part of the benchmark: the files above, given beside the
table, tell both.

The entity is named by its QID and by the address of its Wikipedia article, whose title `entity_text` is: some knowledge
of this benchmark has the one, some the other.

Of numbers `answer_eval` is `[{"wikidata": 1.0, "range": [0.9, 1.1]}]`, with or without the list. Pictures are those
of OVEN: `oven_01963180.jpg`, in folders named by the first two digits (`oven_images/01/`), or in the folders of the
published archives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import Placed, csv_rows, json_lines
from quizglass_lab.datasets.reading.joining import Joining
from quizglass_lab.datasets.reading.pictures import EXTENSIONS, PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked, shown
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture
from quizglass_lab.datasets.reading.wikipedia import article_address

IMAGE_QUERY = "What is shown in the picture?"
_TABLES = (".csv", ".csv.gz")
_COLUMNS = ("data_id", "question", "answer", "dataset_image_ids", "wikipedia_url", "wikipedia_title")


class _SeekQuestion(Published):
    data_id: str
    image_id: str
    question: str
    answer: list[str] = Field(default_factory=list)
    answer_eval: Any = ()
    data_split: str = ""


class _Entity(Published):
    data_id: str
    entity_id: str
    entity_text: str


class _Kind(Published):
    data_id: str
    question_type: str


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions; files with entities and question types beside them are distinguished by their fields.

    With EchoSight's table its questions alone, told by InfoSeek's own files where these are given too.
    """
    tables = [path for path in paths if path.name.endswith(_TABLES)]
    own = [path for path in paths if path not in tables]
    if not tables:
        yield from _own(own, pictures)
    elif not own:
        yield from (_of_row(row, place, pictures) for place, row in _rows(tables))
    else:
        yield from _chosen(tables, own, pictures)


def _rows(paths: Sequence[Path]) -> Iterator[Placed]:
    """The rows of EchoSight's tables, each of another question."""
    seen: set[str] = set()
    for path in paths:
        for place, row in csv_rows(path, _COLUMNS):
            if row["data_id"] in seen:
                raise DatasetError(f"{place}: data_id: {row['data_id']!r} is there twice")
            seen.add(row["data_id"])
            yield place, row


def _chosen(tables: Sequence[Path], own: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """Those of InfoSeek's questions that the tables have, with the article that they name."""
    chosen = {row["data_id"]: (place, row["wikipedia_url"]) for place, row in _rows(tables)}
    for sample in _own(own, pictures):
        if sample.id in chosen:
            _, address = chosen.pop(sample.id)
            yield replace(sample, entries=tuple(dict.fromkeys((*sample.entries, *_each(address)))))
    if chosen:
        name, (place, _) = next(iter(chosen.items()))
        raise DatasetError(f"{place}: data_id: {name!r} is in none of {', '.join(map(str, own))}")


def _of_row(row: dict[str, str], place: str, pictures: PictureFolder) -> Sample:
    return Sample(
        row["data_id"],
        row["question"],
        _each(row["answer"]),
        tuple(_picture(image, pictures) for image in _each(row["dataset_image_ids"])[:1]),
        dataset="infoseek",
        entries=_each(row["wikipedia_url"]),
        image_query=IMAGE_QUERY,
        image_answer=row["wikipedia_title"].partition("|")[0],
        answer_type=row.get("question_type", "").lower(),
        place=place,
        source=row,
    )


def _each(texts: str) -> tuple[str, ...]:
    """What a field of EchoSight's table lists."""
    return tuple(dict.fromkeys(text for text in texts.split("|") if text))


def _own(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    questions, entities, kinds = _sorted_by_fields(paths)
    named = Joining((record.data_id, record) for record in _records(entities, _Entity))
    typed = Joining((record.data_id, record) for record in _records(kinds, _Kind))
    for path in questions:
        for place, record in json_lines(path):
            question = checked(_SeekQuestion, record, place)
            entity = named.take(question.data_id)
            kind = typed.take(question.data_id)
            answers, limits = _accepted(question, place)
            yield Sample(
                question.data_id,
                question.question,
                answers,
                (_picture(question.image_id, pictures),),
                dataset="infoseek",
                split=question.data_split,
                entries=(entity.entity_id, article_address(entity.entity_text)) if entity else (),
                image_query=IMAGE_QUERY,
                image_answer=entity.entity_text if entity else "",
                answer_type=kind.question_type.lower() if kind else "numerical" if limits else "",
                answer_range=limits,
                place=place,
                source=record,
            )


def _sorted_by_fields(paths: Sequence[Path]) -> tuple[list[Path], list[Path], list[Path]]:
    questions, entities, kinds = list[Path](), list[Path](), list[Path]()
    for path in paths:
        place, first = next(json_lines(path), (str(path), None))
        if not isinstance(first, dict):
            raise DatasetError(f"{place}: expected an object with data_id and question, not {shown(first)}")
        (questions if "question" in first else entities if "entity_id" in first else kinds).append(path)
    if not questions:
        raise DatasetError(f"{', '.join(map(str, paths))}: question: expected in one of the files")
    return questions, entities, kinds


def _records(paths: Sequence[Path], kind: type[Any]) -> Iterator[Any]:
    for path in paths:
        for place, record in json_lines(path):
            yield checked(kind, record, place)


def _accepted(question: _SeekQuestion, place: str) -> tuple[tuple[str, ...], tuple[float, float] | None]:
    """The accepted texts, or the accepted range of a number."""
    accepted = question.answer_eval
    items = list(accepted) if isinstance(accepted, list | tuple) else [accepted]
    texts, limits = list(question.answer), None
    for item in items:
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict) and limits is None:
            limits = _range(item, place)
        else:
            raise DatasetError(f"{place}: answer_eval: expected texts, or one object with a range, not {shown(item)}")
    return tuple(dict.fromkeys(texts)), limits


def _range(item: dict[str, Any], place: str) -> tuple[float, float]:
    limits = item.get("range")
    numbers = limits[:2] if isinstance(limits, list) else []
    if len(numbers) != 2 or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
        raise DatasetError(f"{place}: answer_eval.range: expected two numbers, not {shown(limits)}")
    try:
        low, high = float(numbers[0]), float(numbers[1])
    except OverflowError:
        low = high = math.inf
    if not (math.isfinite(low) and math.isfinite(high)):
        raise DatasetError(f"{place}: answer_eval.range: expected numbers below 1e308, not {shown(limits)}")
    return low, high


def _picture(image_id: str, pictures: PictureFolder) -> SamplePicture:
    digits = image_id.rpartition("_")[2][:2]
    folders = ("", f"{digits}/", f"oven_images/{digits}/", *(f"{shard}/" for shard in pictures.shards))
    return pictures.picture(image_id, (f"{folder}{image_id}{end}" for folder in folders for end in EXTENSIONS))
