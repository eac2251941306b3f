"""MMSearch (Jiang et al., 2024): `end2end.parquet`, as Hugging Face has it (CaraJ/MMSearch).

    sample_id, query, query_image {"bytes", "path"} or null, image_search_result, area, subfield, timestamp,
    gt_requery, gt_answer, alternative_gt_answers

Of its four tasks this is the whole search; the others (requery, rerank, summarization) test parts of the authors' own
pipeline. Its score is `f1`, the best over all accepted answers. `image_search_result` is a screenshot of a search for
the picture, which is not used: here the server searches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quizglass_lab.datasets.reading.files import TableFile
from quizglass_lab.datasets.reading.pictures import PictureFolder, picture_in_row
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample

_PICTURES = ("query_image", "image_search_result")


class _Search(Published):
    sample_id: str
    query: str
    query_image: Any = None
    area: str = ""
    subfield: str = ""
    gt_requery: str | None = ""
    gt_answer: str
    alternative_gt_answers: list[str] | None = None


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """The questions in the order of the files; some have no picture."""
    for path in paths:
        for place, row, _ in TableFile(path).rows():
            search = checked(_Search, row, place)
            picture = picture_in_row(search.query_image, search.sample_id, pictures, f"{place}: query_image")
            yield Sample(
                search.sample_id,
                search.query,
                tuple(dict.fromkeys((search.gt_answer, *(search.alternative_gt_answers or ())))),
                (picture,) if picture else (),
                dataset="mmsearch",
                split="end2end",
                gold_query=search.gt_requery or "",
                category=search.area,
                domain=search.subfield,
                place=place,
                source={key: value for key, value in row.items() if key not in _PICTURES},
            )
