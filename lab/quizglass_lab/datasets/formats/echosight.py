"""InfoSeek as EchoSight (Yan and Xie, EMNLP 2024 Findings) asks it: infoseek_{train,test}_filtered.csv.

Its columns are Encyclopedic-VQA's, with `data_id` beside them, the id of InfoSeek's own question. The questions are
those of InfoSeek's training and validation sets whose article is among EchoSight's 100 K. A row has neither the
accepted range of a number nor the part of the benchmark: InfoSeek's own files, given beside the table, tell both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import Placed, csv_rows

_NEEDED = ("data_id", "question", "answer", "dataset_image_ids", "wikipedia_url", "wikipedia_title")


def is_table(path: Path) -> bool:
    """Whether a file is such a table, by its name."""
    return path.name.endswith((".csv", ".csv.gz"))


def rows(paths: Sequence[Path]) -> Iterator[Placed]:
    """The rows of the tables, each of another question.

    Raises:
        DatasetError: a table is not in this form, or a question is there twice.
    """
    seen: set[str] = set()
    for path in paths:
        for place, row in csv_rows(path, _NEEDED):
            if row["data_id"] in seen:
                raise DatasetError(f"{place}: data_id: {row['data_id']!r} is there twice")
            seen.add(row["data_id"])
            yield place, row
