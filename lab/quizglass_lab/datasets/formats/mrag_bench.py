"""MRAG-Bench (Hu et al., ICLR 2025): `test-00000-of-0000N.parquet`, as Hugging Face has it (uclanlp/MRAG-Bench).

    id, aspect, scenario, image {"bytes", "path"}, gt_images, question, A, B, C, D, answer_choice, answer, image_type,
    source, retrieved_images

A multiple choice of four. Its pictures to look up are in each row (`gt_images`) and, all of them, in the image corpus
that its authors publish beside it: a folder, which is imported as knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from quizglass_lab.datasets.reading.files import TableFile
from quizglass_lab.datasets.reading.pictures import PictureFolder, picture_in_row
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample

_PICTURES = ("image", "gt_images", "retrieved_images")


class _Choice(Published):
    id: str | int
    question: str
    image: Any
    A: str
    B: str
    C: str
    D: str
    answer_choice: Literal["A", "B", "C", "D"]
    aspect: str = ""
    scenario: str = ""


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions in the order of the files, with their scenario as category."""
    for path in paths:
        for place, row, _ in TableFile(path).rows():
            asked = checked(_Choice, row, place)
            options = {letter: str(getattr(asked, letter)) for letter in "ABCD"}
            right = options.pop(asked.answer_choice)
            picture = picture_in_row(asked.image, str(asked.id), pictures, f"{place}: image")
            yield Sample(
                str(asked.id),
                asked.question,
                (right,),
                (picture,) if picture else (),
                dataset="mrag-bench",
                split="test",
                choices=tuple(options.values()),
                category=asked.scenario,
                domain=asked.aspect,
                place=place,
                source={key: value for key, value in row.items() if key not in _PICTURES},
            )
