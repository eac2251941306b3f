"""LiveVQA (Fu et al., 2025): `News/benchmark.json`, `Video/benchmark.json` and `Paper/benchmark.json`.

    [{"id", "img_path", "level1_qa", "level2_qa", "source": "CNN World", "time"}]
    levelN_qa   {"question", "question_type", "options": ["A. ...", ...], "Ground_Truth": "B",
                 "Ground_Truth_List": [...], "img_path", "img_url"}

as github.com/fumingyang2004/LIVEVQA publishes them. The benchmark asks openly and has a model grade the answers against
the list; the options are in `source`. A question is a sample, with its level as category. Pictures: by `img_path`, in
the folder, in `News_imgs/`, `Video_images/` or `Paper_images/`, or in these below the part's own folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from quizglass_lab.datasets.reading.files import json_items
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture

_LEVELS = ("level1", "level2")


class _Asked(Published):
    question: str
    ground_truth: list[str] = Field(alias="Ground_Truth_List")
    question_type: str = ""
    img_path: str = ""
    img_url: str = ""


class _Item(Published):
    id: str
    img_path: str = ""
    level1_qa: Any = None
    level2_qa: Any = None
    source: str = ""


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions, those of one picture together; the split is the part: news, video or paper."""
    for path in paths:
        part = path.absolute().parent.name
        for place, record in json_items(path, ""):
            item = checked(_Item, record, place)
            for level in _LEVELS:
                if (qa := getattr(item, f"{level}_qa")) is None:
                    continue
                asked = checked(_Asked, qa, f"{place}: {level}_qa")
                yield Sample(
                    f"{part.lower()}/{item.id}/{level}",
                    asked.question,
                    tuple(asked.ground_truth),
                    (_picture(asked.img_path or item.img_path, part, pictures, asked.img_url),),
                    dataset="livevqa",
                    split=part.lower(),
                    answer_type=asked.question_type,
                    category=level,
                    domain=item.source,
                    place=place,
                    source=qa,
                )


def _picture(name: str, part: str, pictures: PictureFolder, url: str) -> SamplePicture:
    below = (f"{part}_imgs/{name}", f"{part}_images/{name}")
    return pictures.picture(name, (name, *below, *(f"{part}/{each}" for each in below)), url=url)
