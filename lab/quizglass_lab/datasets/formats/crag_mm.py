"""CRAG-MM (KDD Cup 2025): Parquet or Arrow files of its two Hugging Face data sets, single-turn and multi-turn.

    {"session_id", "image": {"bytes", "path"} or null, "image_url", "turns", "answers"}
    turns     interaction_id, query, domain, query_category, dynamism, image_quality
    answers   interaction_id, ans_full

In v0.1.1 `turns` and `answers` are lists of objects, from v0.1.2 on objects of lists; both are read. Domain and the
other labels are numbers whose names the file's own metadata has; without them the number stands. Some pictures are
addresses only, which are recorded and not fetched; one that was stored is looked for by the last part of its address
and by `SESSION_ID.jpg` and alike. A turn is a sample whose history has the gold answers of the turns before; its
`source` has `turns`, how many its conversation has, and `ego`: pictures without an address are the wearers' own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import TableFile
from quizglass_lab.datasets.reading.pictures import EXTENSIONS, PictureFolder, last_of_address, picture_in_row
from quizglass_lab.datasets.reading.record import Published, checked, shown
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture

_LABELS = ("domain", "query_category", "dynamism", "image_quality")
_SHARD = re.compile(r"-\d+-of-\d+$")
_UNKNOWN = ("i don't know", "i dont know")


class _Conversation(Published):
    session_id: str
    image: Any = None
    image_url: str | None = None
    turns: Any
    answers: Any = ()


class _CragTurn(Published):
    interaction_id: str
    query: str
    domain: int | str | None = None
    query_category: int | str | None = None
    dynamism: int | str | None = None
    image_quality: int | str | None = None


class _CragAnswer(Published):
    interaction_id: str
    ans_full: str | None


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """A sample a turn, conversations in the order of the files."""
    for path in paths:
        split = _split(path)
        for place, row, features in TableFile(path).rows():
            conversation = checked(_Conversation, row, place)
            yield from _turns(conversation, _labels(features), _picture(conversation, pictures, place), split, place)


def _split(path: Path) -> str:
    """Of `validation-00000-of-00002.parquet`, `NAME-validation.arrow` and `validation/data-00000-of-00001.arrow`."""
    last = _SHARD.sub("", path.stem).rpartition("-")[2]
    return path.absolute().parent.name if last == "data" else last


def _turns(
    conversation: _Conversation, labels: Mapping[str, list[str]], picture: SamplePicture, split: str, place: str
) -> Iterator[Sample]:
    published = _listed(conversation.answers, "answers", place)
    answers = [checked(_CragAnswer, each, f"{place}: answers") for each in published]
    by_id = {answer.interaction_id: answer.ans_full or "" for answer in answers}
    history: list[tuple[str, str]] = []
    records = _listed(conversation.turns, "turns", place)
    told = {"turns": len(records), "ego": not conversation.image_url}
    for record in records:
        turn = checked(_CragTurn, record, f"{place}: turns")
        answer = by_id.get(turn.interaction_id, "")
        named = {name: _named(getattr(turn, name), labels.get(name, ())) for name in _LABELS}
        yield Sample(
            turn.interaction_id,
            turn.query,
            (answer,) if answer else (),
            (picture,),
            dataset="crag-mm",
            split=split,
            session=conversation.session_id,
            history=tuple(history),
            category=named["query_category"],
            domain=named["domain"],
            answerable=answer.lower().rstrip(". ") not in _UNKNOWN,
            place=place,
            source=record | named | told,
        )
        history.append((turn.query, answer))


def _listed(value: object, field: str, place: str) -> list[dict[str, Any]]:
    """Rows of a column, however it is laid out: a list of objects, or an object of lists of one length."""
    if isinstance(value, list | tuple) and all(isinstance(each, dict) for each in value):
        return list(value)
    if isinstance(value, dict) and all(isinstance(each, list) for each in value.values()):
        lengths = {len(each) for each in value.values()}
        if len(lengths) <= 1:
            return [dict(zip(value, each, strict=True)) for each in zip(*value.values(), strict=True)]
    raise DatasetError(f"{place}: {field}: expected a list of objects or an object of equal lists, not {shown(value)}")


def _labels(features: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names of the labels of turns, from either way in which `datasets` describes a list of objects."""
    turns = features.get("turns")
    if isinstance(turns, list) and turns:
        turns = turns[0]
    while isinstance(turns, dict) and "feature" in turns:
        turns = turns["feature"]
    named: dict[str, list[str]] = {}
    for name, kind in turns.items() if isinstance(turns, dict) else ():
        inner = kind.get("feature", kind) if isinstance(kind, dict) else {}
        if isinstance(inner, dict) and isinstance(inner.get("names"), list):
            named[name] = [str(each) for each in inner["names"]]
    return named


def _named(value: object, names: Sequence[str]) -> str:
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return "" if value is None else str(value)


def _picture(conversation: _Conversation, pictures: PictureFolder, place: str) -> SamplePicture:
    url = conversation.image_url or ""
    stored = last_of_address(url)
    name = stored or conversation.session_id
    if (inside := picture_in_row(conversation.image, name, pictures, f"{place}: image")) is not None:
        return replace(inside, url=url)
    by_id = (f"{conversation.session_id}{end}" for end in EXTENSIONS)
    return pictures.picture(name, [*([stored] if stored else []), *by_id], url=url)
