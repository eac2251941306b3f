"""One reading of a photograph's words: the package's detector of lines, and that of a bundle in INT8.

The photographs are those of `photographs.py` that the gate lets through, each read by all readers in turn. The INT8
detector is made here as an export makes it, on drawn signs alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.latency.photographs import drawn, pixels_of
from bench.latency.setup import Setup
from bench.own.judge import says_any
from bench.own.lettered import fonts
from bench.own.photographs import Photographs
from bench.results import Row, against
from bench.sections import Part
from quizglass.values import Region
from quizglass_export.printed_words.detector import source_file, write_detector
from quizglass_server.domain.turns import RGB
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.roles.reader import RapidOcrReader
from quizglass_server.roles.shared.wordgate import WordGate

_HALF = 150
_CLIENTS, _RUNS, _THREADS = 4, 2, (1, 2)
_EACH = 10
"""Readings of each client."""
_PEER = "the package's in float32"


@dataclass
class Readings:
    """What one reader read."""

    milliseconds: list[float] = field(default_factory=list)
    lines: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Photograph:
    """One that is read."""

    pixels: RGB
    part: Region
    gold: tuple[str, ...]
    """Of which the words hold one; none: nothing is asked about them."""


Shown = Sequence[Photograph]
Key = tuple[bool, int]
"""Whether a reader has the detector in INT8, and its threads."""


def run(setup: Setup) -> Part:
    """Alone on one thread and on two, and by four clients at once."""
    shown = _photographs(setup)
    pool = EnginePool(_RUNS)
    with TemporaryDirectory() as folder:
        detector = Path(folder) / "detector.onnx"
        setup.say("reading: the detector in INT8")
        notes = write_detector(source_file(), detector)
        made: dict[Key, RapidOcrReader] = {
            (quick, threads): RapidOcrReader(pool, detector=detector if quick else None, threads=threads)
            for quick, threads in product((True, False), _THREADS)
        }
        try:
            found = {key: Readings() for key in made}
            for number, each in enumerate(shown):
                setup.say(f"reading: photograph {number + 1} of {len(shown)}")
                for key, reader in made.items():
                    _read(reader, each, found[key])
            crowd = _crowded(setup, made, pool, shown)
        finally:
            pool.close()
    words: dict[str, Any] = {str(key): readings.lines for key, readings in found.items()}
    return Part(_rows(shown, found, crowd), {"fonts": fonts(), "detector": notes, "lines": words})


def _photographs(setup: Setup) -> list[Photograph]:
    photographs = Photographs(setup.folder / "own-files" / "debian", setup.photographs.resolve(), setup.say)
    setup.say("drawing words into photographs")
    questions = drawn(photographs, setup.count(_HALF, 10))
    gate, shown = WordGate(), []
    for question in questions:
        pixels = pixels_of(question.picture)
        if (part := gate.find(pixels)) is not None:
            shown.append(Photograph(pixels, part, question.gold))
    return shown


def _read(reader: RapidOcrReader, shown: Photograph, into: Readings) -> None:
    """One reading; the first of a reader loads and is not counted."""
    if not into.lines:
        reader.lines(shown.pixels, shown.part)
    began = time.perf_counter()
    lines = reader.lines(shown.pixels, shown.part)
    into.milliseconds.append((time.perf_counter() - began) * 1e3)
    into.lines.append(lines)


def _crowded(
    setup: Setup, made: Mapping[Key, RapidOcrReader], pool: EnginePool, shown: Shown
) -> dict[Key, list[float]]:
    """Milliseconds that each of several clients waits for each of its readings, by reader, in turns."""
    waited: dict[Key, list[float]] = {key: [] for key in made}
    for number in range(_EACH):
        setup.say(f"reading: {_CLIENTS} clients, round {number + 1} of {_EACH}")
        chosen = [shown[(number * _CLIENTS + client) % len(shown)] for client in range(_CLIENTS)]
        for key, reader in made.items():
            with ThreadPoolExecutor(_CLIENTS) as clients:
                waited[key] += clients.map(lambda each, reader=reader: _waited(reader, pool, each), chosen)
    return waited


def _waited(reader: RapidOcrReader, pool: EnginePool, shown: Photograph) -> float:
    began = time.perf_counter()
    pool.submit(lambda: reader.lines(shown.pixels, shown.part)).result()
    return (time.perf_counter() - began) * 1e3


def _rows(shown: Shown, found: Mapping[Key, Readings], crowd: Mapping[Key, Sequence[float]]) -> list[Row]:
    quick, whole = found[True, 1], found[False, 1]
    title = f"reading: one of {len(shown)} photographs that the gate lets through"
    rows = [
        against(f"{title}, INT8 detector, one thread", quick.milliseconds, "ms", _PEER, whole.milliseconds),
        against(
            f"{title}, INT8 detector, two threads",
            found[True, 2].milliseconds,
            "ms",
            f"{_PEER}, two threads",
            found[False, 2].milliseconds,
        ),
    ]
    for detector in (True, False):
        name = "INT8 detector" if detector else _PEER
        waited = f"reading: {_CLIENTS} clients at once, {name}, two threads"
        rows.append(against(waited, crowd[detector, 2], "ms", "one thread", crowd[detector, 1]))
    same = [one == other for one, other in zip(quick.lines, whole.lines, strict=True)]
    kept = [line in one for one, other in zip(quick.lines, whole.lines, strict=True) for line in other]
    rows.append(Row("reading: INT8 detector, photographs with equal lines", 100 * float(np.mean(same)), "%"))
    rows.append(Row(f"reading: INT8 detector, of float32's {len(kept)} lines read alike", sum(kept), "lines"))
    known, known_whole = (_known(shown, readings) for readings in (quick, whole))
    asked = sum(bool(each.gold) for each in shown)
    rows.append(Row(f"reading: INT8 detector, of {asked} answers read", known, "answers", _PEER, known_whole))
    return rows


def _known(shown: Shown, readings: Readings) -> int:
    """In how many photographs an answer to a question about words is among those that were read."""
    read = zip(shown, readings.lines, strict=True)
    return sum(bool(each.gold) and says_any(" ".join(lines), each.gold) for each, lines in read)
