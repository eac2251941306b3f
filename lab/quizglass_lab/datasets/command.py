"""`quizglass-lab dataset`: what a benchmark's files hold, and the same as plain JSON lines with their pictures."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from quizglass_export.directory import check_free, fresh_directory, place
from quizglass_export.errors import ExportError
from quizglass_export.terminal import tell
from quizglass_lab.datasets.benchmarks import BENCHMARKS, read_samples
from quizglass_lab.datasets.formats.plain import write_line
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.pictures import EXTENSIONS
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture

HELP = "read a benchmark's own files: count what they hold, or write it as plain JSON lines"
_SHOWN = 3
_MOST_NAMES = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    takes = "; ".join(f"{name}: {benchmark.files}" for name, benchmark in BENCHMARKS.items())
    parser.add_argument("name", metavar="NAME", choices=list(BENCHMARKS), help=", ".join(BENCHMARKS))
    parser.add_argument("paths", metavar="PATH", type=Path, nargs="+", help=takes)
    parser.add_argument("--pictures", type=Path, help="folder in which its pictures are looked for by its own names")
    parser.add_argument("--split", default="", help="only this split (default: all)")
    parser.add_argument("--limit", type=int, help="at most so many questions")
    parser.add_argument("--out", type=Path, help="folder to write questions.jsonl and the pictures at hand to")
    parser.add_argument("--replace", action="store_true", help="replace an existing folder")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, count, write. Returns 0, or 2 when a file cannot be read or the folder not be written."""
    counts = Counts()
    try:
        samples = read_samples(args.name, args.paths, pictures=args.pictures, split=args.split, limit=args.limit)
        if args.out is None:
            for _ in counts.counting(samples):
                pass
        else:
            check_free(args.out, args.replace)
            with fresh_directory(args.out) as folder:
                write_plain(counts.counting(samples), folder)
    except (DatasetError, ExportError, OSError) as error:
        tell(f"quizglass-lab dataset: {error}", file=sys.stderr)
        return 2
    out = {"out": str(args.out)} if args.out else {}
    if args.json:
        tell(json.dumps({"dataset": args.name, **out, **counts.record()}))
    else:
        counts.show(args.name, args.out)
    return 0


def write_plain(samples: Iterable[Sample], folder: Path) -> None:
    """Write `questions.jsonl`, and the pictures at hand to `pictures/`: linked where that is possible, else copied."""
    (folder / "pictures").mkdir()
    names: dict[Path, str] = {}
    with (folder / "questions.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for number, sample in enumerate(samples):
            paths = [_put(p, f"{number:07d}-{i}", folder, names) for i, p in enumerate(sample.pictures)]
            file.write(write_line(sample, paths) + "\n")


def _put(picture: SamplePicture, stem: str, folder: Path, names: dict[Path, str]) -> str | None:
    """Put a picture into the folder, each file once; its path there, or None where it is not at hand."""
    if picture.path is not None and picture.path in names:
        return names[picture.path]
    if not picture.at_hand:
        return None
    ending = PurePosixPath(picture.name).suffix
    name = f"pictures/{stem}{ending if ending in EXTENSIONS else '.jpg'}"
    if picture.path is not None:
        place(picture.path, folder / name)
        names[picture.path] = name
    else:
        (folder / name).write_bytes(picture.read())
    return name


@dataclass
class Counts:
    """Counts of the samples of a data set: answers, sessions, pictures, splits, kinds and hops."""

    questions: int = 0
    answered: int = 0
    unanswerable: int = 0
    sessions: set[str] = field(default_factory=set)
    pictures: Counter[str] = field(default_factory=Counter)
    """Number of pictures by where they are: "at hand", "address only", "not found"."""
    splits: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    answer_types: Counter[str] = field(default_factory=Counter)
    hops: Counter[str] = field(default_factory=Counter)
    first: list[Sample] = field(default_factory=list)

    def counting(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The same samples, each counted as it passes."""
        for sample in samples:
            self._count(sample)
            yield sample

    def _count(self, sample: Sample) -> None:
        self.questions += 1
        self.answered += bool(sample.answers or sample.answer_range)
        self.unanswerable += not sample.answerable
        if sample.session:
            self.sessions.add(sample.session)
        for picture in sample.pictures:
            self.pictures["at hand" if picture.at_hand else "address only" if picture.url else "not found"] += 1
        self.splits[sample.split or "(none)"] += 1
        self.categories[sample.category or "(none)"] += 1
        self.answer_types[sample.answer_type or "(none)"] += 1
        self.hops["(unknown)" if sample.hops_needed is None else str(sample.hops_needed)] += 1
        if len(self.first) < _SHOWN:
            self.first.append(sample)

    def record(self) -> dict[str, Any]:
        """The counts as `--json` prints them: JSON values by name."""
        return {
            "questions": self.questions,
            "with_answers": self.answered,
            "unanswerable": self.unanswerable,
            "sessions": len(self.sessions),
            **{name: dict(counter.most_common()) for name, counter in self._counters().items()},
        }

    def _counters(self) -> dict[str, Counter[str]]:
        names = ("pictures", "splits", "categories", "answer_types", "hops")
        return {name: getattr(self, name) for name in names}

    def show(self, name: str, out: Path | None) -> None:
        """Print the counts and a few questions for people to read."""
        tell(f"{name}: {self.questions:,} questions, {self.answered:,} with answers, {len(self.sessions):,} sessions")
        for title, counter in self._counters().items():
            listed = ", ".join(f"{key} {count:,}" for key, count in counter.most_common(_MOST_NAMES))
            more = len(counter) - _MOST_NAMES
            if counter:
                tell(f"  {title.replace('_', ' ')}: {listed}{f' and {more} more' if more > 0 else ''}")
        for sample in self.first:
            tell(f"  e.g. {sample.question} — {sample.answer or 'no answer published'}")
        if out is not None:
            tell(f"{out}: questions.jsonl and pictures/")
