"""Pocketworld: `questions.jsonl` as `quizglass-lab pocketworld` writes it, or the folder that holds it.

Fields are those of `quizglass_lab.pocketworld.question.Question`; format 1 has no domain, objects, claims,
conflict or session. Pictures are found relative to the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from quizglass_lab.datasets.reading.files import json_lines
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.pocketworld.question import Hop, asks_picture


class _WorldHop(Published):
    action: str
    query: str
    answer: str
    entry: str
    round: int = 0


class _WorldTurn(Published):
    question: str
    answer: str


class _WorldQuestion(Published):
    id: str
    family: str
    group: str | None
    picture: str
    question: str
    answer: str
    aliases: list[str]
    gold_query: str
    image_query: str
    image_answer: str
    gold_entries: list[str]
    target: str | None
    hops: list[_WorldHop] = Field(default_factory=list)
    history: list[_WorldTurn] = Field(default_factory=list)
    domain: str = ""
    claims: list[str] = Field(default_factory=list)
    session: str | None = None


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions; group None is a question that nothing answers.

    A question that names its thing has no image query: nothing in its picture has to be told.
    """
    for path in paths:
        file = path / "questions.jsonl" if path.is_dir() else path
        folder = pictures if pictures.root else PictureFolder(file.parent)
        for place, record in json_lines(file):
            question = checked(_WorldQuestion, record, place)
            hops = tuple(Hop(hop.action, hop.query, hop.answer, hop.entry, hop.round) for hop in question.hops)
            pictured = asks_picture(question.target, hops, question.image_answer, question.question)
            yield Sample(
                question.id,
                question.question,
                (question.answer, *question.aliases),
                (folder.picture(question.picture, (question.picture,)),),
                dataset="pocketworld",
                split=question.group or "unanswerable",
                session=question.session or "",
                history=tuple((turn.question, turn.answer) for turn in question.history),
                entries=tuple(question.gold_entries),
                gold_query=question.gold_query,
                image_query=question.image_query if pictured else "",
                image_answer=question.image_answer,
                pictured=pictured,
                hops=hops,
                hop_count=len(hops),
                claims=tuple(question.claims),
                category=question.family,
                domain=question.domain,
                answerable=question.group is not None,
                place=place,
                source=record,
            )
