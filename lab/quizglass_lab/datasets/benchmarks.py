"""The benchmarks that can be read, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from quizglass_lab.datasets.formats import (
    cogbench,
    crag_mm,
    dyn_vqa,
    encyclopedic_vqa,
    infoseek,
    nocaps,
    plain,
    pocketworld,
    visual7w,
    vqav2,
)
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.sample import Sample

ReadFiles = Callable[[Sequence[Path], PictureFolder], Iterator[Sample]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How a benchmark's files become samples."""

    name: str
    read: ReadFiles
    files: str
    """The files of the benchmark that the reader takes, in words, for help texts and errors."""


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("infoseek", infoseek.read, "infoseek_SPLIT.jsonl, _withkb.jsonl and _qtype.jsonl beside it"),
        Benchmark("encyclopedic-vqa", encyclopedic_vqa.read, "train.csv, val.csv or test.csv"),
        Benchmark("dyn-vqa", dyn_vqa.read, "DynVQA_LANGUAGE.MONTH.jsonl"),
        Benchmark("crag-mm", crag_mm.read, "Parquet or Arrow files, single-turn or multi-turn"),
        Benchmark("cogbench", cogbench.read, "JSON lines or a JSON list (no published files were found)"),
        Benchmark("vqav2", vqav2.read, "questions and annotations of a split, JSON"),
        Benchmark("visual7w", visual7w.read, "dataset_v7w_telling.json or dataset_v7w_pointing.json"),
        Benchmark("nocaps", nocaps.read, "nocaps_val_4500_captions.json or an image_info file"),
        Benchmark("pocketworld", pocketworld.read, "a world's folder, or its questions.jsonl"),
        Benchmark("plain", plain.read, "questions.jsonl of quizglass-lab dataset, or your own JSON lines"),
    )
}


def read_samples(
    name: str,
    paths: Sequence[Path],
    *,
    pictures: Path | None = None,
    split: str = "",
    limit: int | None = None,
) -> Iterator[Sample]:
    """The samples of a benchmark, one after the other.

    Args:
        name: one of BENCHMARKS.
        paths: its files; which, says `Benchmark.files`.
        pictures: folder in which its pictures are looked for by its own names; none are looked for without.
        split: only samples whose split is this one.
        limit: at most so many.

    Raises:
        DatasetError: unknown name, no files, no such folder, a limit below 0, or a file that is not in the benchmark's
            format; readers raise while they are read.
    """
    if limit is not None and limit < 0:
        raise DatasetError(f"--limit {limit}: expected 0 or more")
    if (benchmark := BENCHMARKS.get(name)) is None:
        raise DatasetError(f"{name}: no such benchmark; choose from {', '.join(BENCHMARKS)}")
    if not paths:
        raise DatasetError(f"{name}: no files; expected {benchmark.files}")
    if pictures is not None and not pictures.is_dir():
        raise DatasetError(f"{pictures}: expected a folder of pictures")
    every = benchmark.read(paths, PictureFolder(pictures))
    return islice((sample for sample in every if split in ("", sample.split)), limit)
