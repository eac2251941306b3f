"""The questions of a benchmark as plain JSON lines with their pictures as files, in the folder of a run.

Read once and kept: a run that goes on reads no archive again, and pictures that a benchmark's tables hold are not in
memory while policies are asked. A question whose picture is not at hand cannot be asked as the benchmark means it; it
is left out, counted and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from quizglass_export.checkpoints.files import read_json
from quizglass_export.directory import fresh_directory
from quizglass_export.errors import ExportError
from quizglass_lab.benchmarking.options import Benchmarking
from quizglass_lab.datasets.benchmarks import BENCHMARKS, read_samples
from quizglass_lab.datasets.command import write_plain
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.shared.records import Record, write_rows

_MADE = "made.json"
_MOST_NAMED = 5


class Questions(Record):
    """What is asked, and what is not."""

    key: str
    """Tells whether the same questions of the same files are meant."""
    asked: int
    without_picture: int
    """Questions that were left out because their picture is not at hand."""
    missing: tuple[str, ...] = ()
    """Names of the first few of these pictures."""


def prepare(name: str, options: Benchmarking, tick: Callable[[int], None]) -> Questions:
    """Write `questions/` below the run's folder, unless it is there.

    Raises:
        ExportError: the folder is of other questions.
        DatasetError: files are missing or not as published, or no picture is at hand.
    """
    files, pictures = _files(name, options), options.pictures
    if pictures is None:
        pictures = next((path for path in options.data if path.is_dir()), None)
    key, folder = _key(name, files, pictures, options), options.out / "questions"
    if (folder / _MADE).is_file():
        made = Questions.model_validate(read_json(folder / _MADE))
        if made.key != key:
            raise ExportError(f"{options.out}: begun with other questions; choose another --out, or delete it")
        return made
    split = BENCHMARKS[name].layout.of_samples(options.split)
    counted = _Counted(tick)
    with fresh_directory(folder) as fresh:
        samples = read_samples(name, files, pictures=pictures, split=split, limit=options.limit)
        write_plain(counted.with_pictures(samples), fresh)
        if not counted.asked:
            raise DatasetError(counted.why_none(files, split))
        made = Questions(
            key=key, asked=counted.asked, without_picture=counted.without_picture, missing=tuple(counted.missing)
        )
        write_rows(fresh / _MADE, [made])
    return made


def _files(name: str, options: Benchmarking) -> list[Path]:
    layout = BENCHMARKS[name].layout
    found: list[Path] = []
    for path in options.data:
        if not path.exists():
            raise DatasetError(f"{path}: no such file or folder")
        found += layout.find(path, options.split) if path.is_dir() else [path]
    return found


def _key(name: str, files: Iterable[Path], pictures: Path | None, options: Benchmarking) -> str:
    told = sha256(f"{name} {options.split} {options.limit} {pictures}\n".encode())
    for path in files:
        about = path.stat()
        told.update(f"{path.absolute()} {about.st_size} {about.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return told.hexdigest()


class _Counted:
    """Samples with their pictures, counted as they pass; those without are counted apart."""

    def __init__(self, tick: Callable[[int], None]) -> None:
        self.asked = self.without_picture = 0
        self.missing: list[str] = []
        self._tick = tick

    def with_pictures(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Those that can be asked: all pictures at hand, or none meant."""
        for sample in samples:
            self._tick(1)
            absent = [picture.name for picture in sample.pictures if not picture.at_hand]
            if absent:
                self.without_picture += 1
                self.missing += absent[: _MOST_NAMED - len(self.missing)]
            else:
                self.asked += 1
                yield sample

    def why_none(self, files: Iterable[Path], split: str) -> str:
        """Why there is no question to ask."""
        named = ", ".join(map(str, files))
        if not self.without_picture:
            return f"{named}: no questions{f' of the split {split!r}' if split else ''}"
        names = ", ".join(self.missing)
        return (
            f"{named}: of {self.without_picture} questions no picture is at hand, such as {names}; name their folder "
            "with --pictures"
        )
