"""VQAv2 (Goyal et al., CVPR 2017): the pair of JSON files that visualqa.org publishes.

    v2_OpenEnded_mscoco_{SUBTYPE}_questions.json   {"data_subtype", "questions": [{"image_id", "question",
                                                    "question_id"}], ...}
    v2_mscoco_{SUBTYPE}_annotations.json           {"data_subtype", "annotations": [{"question_id", "image_id",
                                                    "question_type", "answer_type", "multiple_choice_answer",
                                                    "answers": [{"answer", "answer_confidence", "answer_id"}]}], ...}

OK-VQA (Marino et al., CVPR 2019) publishes the same pair as `OpenEnded_mscoco_{SUBTYPE}_questions.json` and
`mscoco_{SUBTYPE}_annotations.json`, without `multiple_choice_answer`: the standard answer is then the most frequent.

The annotations may be left out, as for the test splits. The two are joined by `question_id` while both are read.
Pictures: `COCO_train2014_000000458752.jpg`, in the folder or in one named as the subtype.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_head, json_items
from quizglass_lab.datasets.reading.joining import Joining
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked, shown
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture

_LISTS = ("questions", "annotations")
_OK_VQA_TYPES = {
    "one": "Vehicles and Transportation",
    "two": "Brands, Companies and Products",
    "three": "Objects, Material and Clothing",
    "four": "Sports and Recreation",
    "five": "Cooking and Food",
    "six": "Geography, History, Language and Culture",
    "seven": "People and Everyday life",
    "eight": "Plants and Animals",
    "nine": "Science and Technology",
    "ten": "Weather and Climate",
    "other": "Other",
}
"""Names of OK-VQA's kinds of question, as `question_types` of its annotations says them."""


class _VqaQuestion(Published):
    image_id: int
    question: str
    question_id: int


class _Vote(Published):
    answer: str


class _VqaAnnotation(Published):
    question_id: int
    question_type: str = ""
    answer_type: str = ""
    multiple_choice_answer: str = ""
    answers: list[_Vote]

    @property
    def standard(self) -> tuple[str, ...]:
        """The answer that stands for all votes: the published one, else the most frequent; none without votes."""
        votes = Counter(vote.answer for vote in self.answers).most_common(1)
        return tuple(filter(None, [self.multiple_choice_answer or next((answer for answer, _ in votes), "")]))


def read_ok_vqa(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions of OK-VQA, whose files have the same form."""
    return read(paths, pictures, dataset="ok-vqa")


def read(paths: Sequence[Path], pictures: PictureFolder, *, dataset: str = "vqav2") -> Iterator[Sample]:
    """The questions, with ten votes each where annotations are among the files."""
    heads = {path: json_head(path, _LISTS) for path in paths}
    asked = [path for path, (name, _) in heads.items() if name == "questions"]
    if not asked:
        raise DatasetError(f"{', '.join(map(str, paths))}: questions: expected in one of the files")
    annotated = [path for path in paths if path not in asked]
    joining = Joining((each.question_id, each) for each in _annotations(annotated))
    for path in asked:
        subtype = _subtype(heads[path][1], path)
        for place, record in json_items(path, "questions"):
            question = checked(_VqaQuestion, record, place)
            annotation = joining.take(question.question_id)
            if annotated and annotation is None:
                missing = f"{question.question_id} is not among the annotations"
                raise DatasetError(f"{place}: question_id: {missing}; expected those of the same split")
            yield Sample(
                str(question.question_id),
                question.question,
                annotation.standard if annotation else (),
                (_picture(question.image_id, subtype, pictures),),
                dataset=dataset,
                split=subtype,
                votes=tuple(vote.answer for vote in annotation.answers) if annotation else (),
                answer_type=annotation.answer_type if annotation else "",
                category=_kind(annotation, dataset),
                place=place,
                source=record,
            )


def _kind(annotation: _VqaAnnotation | None, dataset: str) -> str:
    kind = annotation.question_type if annotation else ""
    return _OK_VQA_TYPES.get(kind, kind) if dataset == "ok-vqa" else kind


def _annotations(paths: Sequence[Path]) -> Iterator[_VqaAnnotation]:
    for path in paths:
        for place, record in json_items(path, "annotations"):
            yield checked(_VqaAnnotation, record, place)


def _subtype(head: dict[str, object], path: Path) -> str:
    subtype = head.get("data_subtype")
    if not isinstance(subtype, str):
        raise DatasetError(
            f"{path}: data_subtype: expected a text such as val2014 before questions, not {shown(subtype)}"
        )
    return subtype


def _picture(image_id: int, subtype: str, pictures: PictureFolder) -> SamplePicture:
    folder = subtype.replace("test-dev", "test")  # whose pictures are those of test2015
    name = f"COCO_{folder}_{image_id:012d}.jpg"
    return pictures.picture(name, (name, f"{folder}/{name}"))
