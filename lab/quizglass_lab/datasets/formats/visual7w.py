"""Visual7W (Zhu et al., CVPR 2016): `dataset_v7w_telling.json` and `dataset_v7w_pointing.json`.

    {"dataset", "images": [{"image_id", "filename", "split", "qa_pairs": [{"qa_id", "question", "answer", "type",
     "multiple_choices": [three wrong ones]}]}], "boxes": [{"box_id", "name", "x", "y", "width", "height"}]}

as github.com/yukezhu/visual7w-toolkit reads them. In telling, answers are texts; in pointing they are ids of `boxes`,
which become "name at x, y, width x height" in the answer and the choices. Pictures: by `filename` (`v7w_1.jpg`), in the
folder or in `images/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_items
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture


class _Pair(Published):
    qa_id: int
    question: str
    answer: str | int
    type: str = ""
    multiple_choices: list[str | int] = Field(default_factory=list)


class _Image(Published):
    image_id: int
    filename: str
    split: str
    qa_pairs: list[Any]


class _Box(Published):
    box_id: int
    name: str = ""
    x: float
    y: float
    width: float
    height: float


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """A sample a question, in the order of the pictures. Boxes are held in memory; telling has none."""
    for path in paths:
        boxes = {box.box_id: box for box in _boxes(path)}
        for place, record in json_items(path, "images"):
            image = checked(_Image, record, place)
            name = image.filename
            picture = pictures.picture(name, (name, f"images/{name}"))
            for position, pair in enumerate(image.qa_pairs):
                yield _sample(image, pair, boxes, picture, f"{place}: qa_pairs.{position}")


def _boxes(path: Path) -> Iterator[_Box]:
    for place, record in json_items(path, "boxes", required=False):
        yield checked(_Box, record, place)


def _sample(image: _Image, record: Any, boxes: dict[int, _Box], picture: SamplePicture, place: str) -> Sample:
    pair = checked(_Pair, record, place)

    def text(answer: str | int) -> str:
        if isinstance(answer, str):
            return answer
        if (box := boxes.get(answer)) is None:
            raise DatasetError(f"{place}: answer: expected the id of one of the boxes, not {answer}")
        return f"{box.name} at {box.x:g}, {box.y:g}, {box.width:g} x {box.height:g}".strip()

    return Sample(
        str(pair.qa_id),
        pair.question,
        (text(pair.answer),),
        (picture,),
        dataset="visual7w",
        split=image.split,
        answer_type="telling" if isinstance(pair.answer, str) else "pointing",
        choices=tuple(text(choice) for choice in pair.multiple_choices),
        category=pair.type,
        place=place,
        source=record,
    )
