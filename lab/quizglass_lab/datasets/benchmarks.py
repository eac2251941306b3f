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
    livevqa,
    mmsearch,
    mrag_bench,
    nocaps,
    plain,
    pocketworld,
    viquae,
    visual7w,
    vqav2,
)
from quizglass_lab.datasets.layout import Layout
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
    layout: Layout
    """How they are named in a folder."""


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "infoseek",
            infoseek.read,
            "infoseek_SPLIT.jsonl, _withkb.jsonl and _qtype.jsonl beside it; or EchoSight's infoseek_test_filtered.csv",
            Layout(
                (
                    "infoseek_{split}.jsonl",
                    "infoseek_{split}_withkb.jsonl",
                    "infoseek_{split}_qtype.jsonl",
                    "infoseek_{split}.csv",
                ),
                "val",
                spread=True,
            ),
        ),
        Benchmark(
            "encyclopedic-vqa",
            encyclopedic_vqa.read,
            "train.csv, val.csv or test.csv",
            Layout(("{split}.csv",), "test"),
        ),
        Benchmark(
            "dyn-vqa",
            dyn_vqa.read,
            "DynVQA_LANGUAGE.MONTH.jsonl",
            Layout(("DynVQA_{split}*.jsonl",), "en", newest=True),
        ),
        Benchmark(
            "crag-mm",
            crag_mm.read,
            "Parquet or Arrow files, single-turn or multi-turn",
            Layout(("{split}-*.parquet", "*{split}*.arrow"), "validation"),
        ),
        Benchmark(
            "cogbench",
            cogbench.read,
            "JSON lines or a JSON list (no published files were found)",
            Layout(("cogbench*.json*",)),
        ),
        Benchmark(
            "livevqa",
            livevqa.read,
            "benchmark.json of News, Video or Paper",
            Layout(("benchmark.json",), spread=True),
        ),
        Benchmark("mmsearch", mmsearch.read, "end2end.parquet", Layout(("end2end*.parquet",))),
        Benchmark("mrag-bench", mrag_bench.read, "test-00000-of-0000N.parquet", Layout(("{split}-*.parquet",), "test")),
        Benchmark(
            "ok-vqa",
            vqav2.read_ok_vqa,
            "questions and annotations of a split, JSON",
            Layout(("OpenEnded_mscoco_{split}_questions.json", "mscoco_{split}_annotations.json"), "val2014"),
        ),
        Benchmark(
            "viquae",
            viquae.read,
            "train.jsonl, validation.jsonl or test.jsonl",
            Layout(("{split}.jsonl", "*{split}*.arrow"), "test"),
        ),
        Benchmark(
            "vqav2",
            vqav2.read,
            "questions and annotations of a split, JSON",
            Layout(("v2_OpenEnded_mscoco_{split}_questions.json", "v2_mscoco_{split}_annotations.json"), "val2014"),
        ),
        Benchmark(
            "visual7w",
            visual7w.read,
            "dataset_v7w_telling.json or dataset_v7w_pointing.json",
            Layout(("dataset_v7w_telling.json",), "test"),
        ),
        Benchmark(
            "nocaps",
            nocaps.read,
            "nocaps_val_4500_captions.json or an image_info file",
            Layout(("nocaps_{split}_*captions.json",), "val"),
        ),
        Benchmark(
            "pocketworld",
            pocketworld.read,
            "a world's folder, or its questions.jsonl",
            Layout(("questions.jsonl",)),
        ),
        Benchmark(
            "plain",
            plain.read,
            "questions.jsonl of quizglass-lab dataset, or your own JSON lines",
            Layout(("questions.jsonl",)),
        ),
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
