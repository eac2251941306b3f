"""Dyn-VQA (Li et al., ICLR 2025): JSON lines, as github.com/Alibaba-NLP/OmniSearch publishes them.

    DynVQA_{en,zh}.{202406 ... 202502}.jsonl   {"image_url", "question", "question_id", "answer": [...],
                                                "golden_query"}

All versions but the newest call the last field `gloden_query`; one English question has NaN there. Some answers are
numbers, in 202410 some are lists of wordings, and in 202408 some are null. The split is the language and the month,
e.g. `en.202502`. Pictures are addresses only; one that was stored is looked for by the last part of its address, and
by `QUESTION_ID.jpg` and alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_lines
from quizglass_lab.datasets.reading.pictures import EXTENSIONS, PictureFolder, last_of_address
from quizglass_lab.datasets.reading.record import Published, checked, shown
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture


class _DynQuestion(Published):
    image_url: str
    question: str
    question_id: str
    answer: list[Any] | None
    golden_query: Any = ""
    gloden_query: Any = ""


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions in the order of the files."""
    for path in paths:
        split = path.name.removesuffix(".gz").removesuffix(".jsonl").removeprefix("DynVQA_")
        for place, record in json_lines(path):
            question = checked(_DynQuestion, record, place)
            query = question.golden_query or question.gloden_query
            yield Sample(
                question.question_id,
                question.question,
                tuple(_wordings(question.answer or (), place)),
                (_picture(question, pictures),),
                dataset="dyn-vqa",
                split=split,
                gold_query=query if isinstance(query, str) else "",
                place=place,
                source=record,
            )


def _wordings(answers: Iterable[Any], place: str) -> Iterator[str]:
    for answer in answers:
        if isinstance(answer, str):
            yield answer
        elif isinstance(answer, int | float):
            yield str(answer)
        elif isinstance(answer, list) and all(isinstance(each, str) for each in answer):
            yield from answer
        else:
            raise DatasetError(f"{place}: answer: expected texts, numbers or lists of texts, not {shown(answer)}")


def _picture(question: _DynQuestion, pictures: PictureFolder) -> SamplePicture:
    name = last_of_address(question.image_url)
    names = [name] if name else []
    by_id = (f"{question.question_id}{end}" for end in EXTENSIONS)
    return pictures.picture(name or question.question_id, [*names, *by_id], url=question.image_url)
