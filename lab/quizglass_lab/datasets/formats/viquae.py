"""ViQuAE (Lerner et al., SIGIR 2022): {train,validation,test}.jsonl, in the form of KILT's tasks, or the same as Arrow.

    {"id", "input", "image": "512px-NAME.png", "url", "output": {"original_answer", "answer": [...], "provenance"},
     "original_question", "wikidata_id": "Q312", "kilt_id", "meta"}

`original_question` names the thing that the picture shows. Pictures: by `image`, in the folder or in `images/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from quizglass_lab.datasets.reading.files import Placed, TableFile, json_lines
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample

_TABLES = (".arrow", ".parquet")


class _Output(Published):
    original_answer: str = ""
    answer: list[str] = Field(default_factory=list)


class _Question(Published):
    id: str
    input: str
    image: str
    url: str = ""
    output: Any = None
    original_question: str = ""
    wikidata_id: str = ""


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions in the order of the files; the split is the file's name."""
    for path in paths:
        split = path.name.partition(".")[0]
        for place, record in _records(path):
            question = checked(_Question, record, place)
            output = checked(_Output, question.output or {}, f"{place}: output")
            name = question.image
            yield Sample(
                question.id,
                question.input,
                tuple(dict.fromkeys(filter(None, (output.original_answer, *output.answer)))),
                (pictures.picture(name, (name, f"images/{name}"), url=question.url),),
                dataset="viquae",
                split=split,
                entries=(question.wikidata_id,) if question.wikidata_id else (),
                gold_query=question.original_question,
                place=place,
                source=record,
            )


def _records(path: Path) -> Iterator[Placed]:
    if path.suffix not in _TABLES:
        return json_lines(path)
    return ((place, row) for place, row, _ in TableFile(path).rows())
