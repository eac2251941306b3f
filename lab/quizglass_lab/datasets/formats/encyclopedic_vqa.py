"""Encyclopedic-VQA (Mensink et al., ICCV 2023): {train,val,test}.csv, as google-research/encyclopedic_vqa says.

A row is a textual question with up to five pictures (`dataset_image_ids`, separated by `|`); each pair of the two is
one sample, as the benchmark counts. Ids end in the picture's place, so that those ending in `/0` ask each question
once, with its first picture. Several annotators' answers are separated by `|`; the parts of a `multi_answer` by `&&`,
which stay in the text. A `2_hop` question has two articles, separated by `|`.

Pictures: of `inaturalist` by the `file_name` that iNaturalist 2021's own `train.json` and `val.json` give an id (put
them into the folder); of `landmarks` by Google Landmarks v2's rule, `0/1/2/0123456789abcdef.jpg`, with or without
`train/` or `landmarks/train/` before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from quizglass_lab.datasets.formats.infoseek import IMAGE_QUERY
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import csv_rows, json_items
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked, shown
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture

QUESTION_TYPES = ("templated", "automatic", "multi_answer", "2_hop")
_NEEDED = ("question", "answer", "dataset_image_ids", "dataset_name", "question_type", "wikipedia_url")
_NATURE_FILES = ("train.json", "val.json")


class _NaturePicture(Published):
    id: int
    file_name: str


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """One sample for each question and picture."""
    names = _NatureNames(pictures)
    for path in paths:
        for number, (place, row) in enumerate(csv_rows(path, _NEEDED), 1):
            if row["question_type"] not in QUESTION_TYPES:
                expected = ", ".join(QUESTION_TYPES)
                raise DatasetError(
                    f"{place}: question_type: expected one of {expected}, not {shown(row['question_type'])}"
                )
            split = row.get("encyclopedic_vqa_split") or path.name.partition(".")[0]
            ids = [image for image in row["dataset_image_ids"].split("|") if image]
            for position, image in enumerate(ids):
                picture = _picture(image, row["dataset_name"], pictures, names)
                yield _sample(row, f"evqa-{split}-{number}/{position}", split, picture, place)


def _sample(row: dict[str, str], name: str, split: str, picture: SamplePicture, place: str) -> Sample:
    kind, evidence = row["question_type"], row.get("evidence", "")
    return Sample(
        name,
        row["question"],
        tuple(answer for answer in row["answer"].split("|") if answer),
        (picture,),
        dataset="encyclopedic-vqa",
        split=split,
        entries=tuple(url for url in row["wikipedia_url"].split("|") if url),
        evidence=(evidence,) if evidence else (),
        # Of automatic questions alone the original names the thing.
        gold_query=row.get("question_original", "") if kind == "automatic" else "",
        image_query=IMAGE_QUERY,
        image_answer=row.get("wikipedia_title", "").partition("|")[0],
        hop_count=2 if kind == "2_hop" else 1,
        answer_type=kind,
        category=kind,
        place=place,
        source=row,
    )


class _NatureNames:
    """File names of iNaturalist's pictures by id, read when the first is needed."""

    def __init__(self, pictures: PictureFolder) -> None:
        self._pictures = pictures
        self._names: dict[str, str] | None = None

    def of(self, image: str) -> str:
        """The file name of a picture; empty when it is not recorded."""
        if self._names is None:
            self._names = dict(self._read())
        return self._names.get(image, "")

    def _read(self) -> Iterator[tuple[str, str]]:
        root = self._pictures.root
        for path in (root / name for name in _NATURE_FILES) if root else ():
            if path.is_file():
                for place, record in json_items(path, "images"):
                    picture = checked(_NaturePicture, record, place)
                    yield str(picture.id), picture.file_name


def _picture(image: str, source: str, pictures: PictureFolder, names: _NatureNames) -> SamplePicture:
    if source == "inaturalist":
        name = names.of(image)
        return pictures.picture(image, (name, f"inaturalist/{name}") if name else ())
    below = f"{'/'.join(image[:3])}/{image}.jpg"
    return pictures.picture(image, (f"{folder}{below}" for folder in ("", "train/", "landmarks/", "landmarks/train/")))
