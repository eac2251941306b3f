"""Plain JSON lines: the format of our own, which `quizglass-lab dataset` writes, for any other data.

One object a line. `id` and `question` are required; all else may be left out:

    {"id": "1", "question": "When was it built?", "answers": ["1889"],
     "pictures": [{"name": "tower.jpg", "path": "pictures/tower.jpg", "url": ""}],
     "dataset": "", "split": "", "session": "", "history": [{"question": "...", "answer": "..."}],
     "entries": ["..."], "evidence": ["..."], "gold_query": "When was the tower built?",
     "image_query": "What is it called?", "image_answer": "the tower", "pictured": true,
     "hops": [{"action": "text", "query": "...", "answer": "...", "entry": "...", "round": 0}], "hop_count": 1,
     "answer_type": "", "answer_range": [1.0, 2.0], "votes": [], "choices": [], "claims": [],
     "category": "", "domain": "", "answerable": true, "source": {}}

A picture may be a text, which is its path. Paths are relative to the file, or to the folder of pictures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_lines
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture
from quizglass_lab.pocketworld.question import Hop


class _PlainHop(Published):
    action: str
    query: str = ""
    answer: str = ""
    entry: str = ""
    round: int = 0


class _PlainTurn(Published):
    question: str
    answer: str


class _PlainPicture(Published):
    name: str = ""
    path: str | None = None
    url: str = ""


class _PlainQuestion(Published):
    id: str
    question: str
    answers: list[str] = Field(default_factory=list)
    pictures: list[Any] = Field(default_factory=list)
    dataset: str = ""
    split: str = ""
    session: str = ""
    history: list[_PlainTurn] = Field(default_factory=list)
    entries: list[str] = Field(default_factory=list)
    evidence: list[str] = Field(default_factory=list)
    gold_query: str = ""
    image_query: str = ""
    image_answer: str = ""
    pictured: bool | None = None
    hops: list[_PlainHop] = Field(default_factory=list)
    hop_count: int | None = None
    answer_type: str = ""
    answer_range: list[FiniteFloat] | None = None
    votes: list[str] = Field(default_factory=list)
    choices: list[str] = Field(default_factory=list)
    claims: list[str] = Field(default_factory=list)
    category: str = ""
    domain: str = ""
    answerable: bool = True
    source: dict[str, Any] = Field(default_factory=dict)


_LISTED = ("answers", "entries", "evidence", "votes", "choices", "claims")
_COPIED = (
    *("id", "question", "dataset", "split", "session", "gold_query", "image_query", "image_answer", "pictured"),
    *("hop_count", "answer_type", "category", "domain", "answerable", "source"),
)


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions in the order of the files."""
    for path in paths:
        folder = pictures if pictures.root else PictureFolder(path.parent)
        for place, record in json_lines(path):
            plain = checked(_PlainQuestion, record, place)
            limits = plain.answer_range
            same: dict[str, Any] = {name: getattr(plain, name) for name in _COPIED}
            same |= {name: tuple(getattr(plain, name)) for name in _LISTED}
            yield Sample(
                pictures=tuple(_picture(each, folder, f"{place}: pictures") for each in plain.pictures),
                history=tuple((turn.question, turn.answer) for turn in plain.history),
                hops=tuple(Hop(hop.action, hop.query, hop.answer, hop.entry, hop.round) for hop in plain.hops),
                answer_range=_pair(limits, place) if limits is not None else None,
                place=place,
                **same,
            )


def _pair(limits: list[float], place: str) -> tuple[float, float]:
    if len(limits) != 2:
        raise DatasetError(f"{place}: answer_range: expected two numbers, not {len(limits)}")
    return limits[0], limits[1]


def _picture(value: object, folder: PictureFolder, place: str) -> SamplePicture:
    record = {"path": value} if isinstance(value, str) else value
    picture = checked(_PlainPicture, record, place)
    path = picture.path or ""
    return folder.picture(picture.name or path.rpartition("/")[2], (path,) if path else (), url=picture.url)


def write_line(sample: Sample, paths: Sequence[str | None]) -> str:
    """A sample as one line of this format.

    Args:
        sample: the question.
        paths: of each of its pictures, relative to the file; None where one is not at hand.
    """
    record: dict[str, Any] = {name: getattr(sample, name) for name in _COPIED}
    record |= {name: list(getattr(sample, name)) for name in _LISTED}
    record["pictures"] = [
        {"name": picture.name, "path": path, "url": picture.url}
        for picture, path in zip(sample.pictures, paths, strict=True)
    ]
    record["history"] = [{"question": asked, "answer": answered} for asked, answered in sample.history]
    record["hops"] = [asdict(hop) for hop in sample.hops]
    record["answer_range"] = list(sample.answer_range) if sample.answer_range else None
    return json.dumps(_without_nan({key: value for key, value in record.items() if value not in ("", [], {}, None)}))


def _without_nan(value: Any) -> Any:
    """JSON has no word for numbers that are none; some published files have them."""
    if isinstance(value, Mapping):
        return {str(key): _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
