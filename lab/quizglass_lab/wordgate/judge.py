"""Measures the gate beside the reader on pictures that it was not trained on, and says which threshold they ask for.

    python -m quizglass_lab.wordgate.judge --sources sources/root --lettered more-photographs --count 400 --write

A picture counts as legible when the reader, given all of it, reads one of the words that are in it. Half of the legible
pictures choose the threshold, a quarter below the highest that passes over at most one in 400 of them; the other half
judges it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import islice
from math import exp
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from quizglass_bundle.inputs.resizing import RGB
from quizglass_lab.wordgate.network import note
from quizglass_lab.wordgate.samples import GateSample, Painter, Scenes
from quizglass_lab.wordgate.sources import Sources
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.roles.reader import RapidOcrReader
from quizglass_server.roles.shared.wordgate import (
    LARGE_SIDE,
    MODEL,
    SMALL_SIDE,
    WordGate,
    fitted,
    is_cheap,
    searched_side,
)

WORLD_SEED = 707
"""Of a pocketworld that nothing was trained on."""
PASSED_OVER = 1 / 400
"""Share of the legible pictures that choose the threshold."""
_LOWER = 0.75
"""Share of the permitted level that is taken: the next camera's pictures are of another sort."""
_LIKE = 0.75
ALL = "all legible"
"""The group of every legible picture."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A picture, and what the gate said of it."""

    group: str
    likelihood: float
    legible: bool
    """Whether the reader reads a word of it; always False without words."""
    same: bool
    """Whether the reader reads the same in the part that the gate gives as in the whole."""


@dataclass(frozen=True, slots=True)
class Group:
    """What the gate does with one sort of pictures, at a threshold."""

    name: str
    pictures: int
    read: float
    """Share that is let through."""
    legible: int
    passed_over: int
    """Legible pictures that the gate does not let through."""
    alike: int
    """Legible pictures whose part has the same words read as the whole picture."""


def main() -> None:
    """Measure, print, and write a report."""
    args = _arguments()
    judged = _all_judged(args.gate, args.sources, args.lettered, args.count)
    threshold = chosen(judged[::2])
    groups = [asdict(group) for group in table(judged[1::2], threshold)]
    report = json.dumps({"threshold": threshold, "groups": groups}, indent=1)
    print(report)
    if args.write:
        choosing = sum(each.legible for each in judged[::2])
        provenance = f"passes over at most 1 in 400 of {choosing} legible pictures: judge --count {args.count}"
        note(args.gate, {"threshold": str(threshold), "provenance": provenance})
    if args.out is not None:
        args.out.write_text(report + "\n")


def measured(sources: Path, lettered: Sequence[Path], count: int) -> list[Group]:
    """The served gate at its own threshold, on the pictures that did not choose it."""
    judged = _all_judged(MODEL, sources, lettered, count)
    return list(table(judged[1::2], WordGate().least))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True, help="folder of the unpacked packages; see sources.py")
    parser.add_argument("--lettered", type=Path, nargs="*", default=(), help="folders of photographs with words")
    parser.add_argument("--gate", type=Path, default=MODEL)
    parser.add_argument("--count", type=int, default=400, help="pictures of each group that is drawn")
    parser.add_argument("--write", action="store_true", help="note the threshold in the gate's file")
    parser.add_argument("--out", type=Path, default=None, help="the report as JSON")
    return parser.parse_args()


def _all_judged(model: Path, sources: Path, lettered: Sequence[Path], count: int) -> list[Judged]:
    gate, reader = WordGate(model=model), RapidOcrReader(EnginePool(1))
    return list(_each_judged(gate, reader, Sources.under(sources, lettered).part(held_out=True), count))


def _each_judged(gate: WordGate, reader: RapidOcrReader, sources: Sources, count: int) -> Iterator[Judged]:
    tidy, free = Scenes(WORLD_SEED, formats=(1,)), Scenes(WORLD_SEED, formats=(2,))
    for name, side, scenes, lettered in (
        ("pocketworld, words", SMALL_SIDE, tidy, True),
        ("pocketworld, no words", SMALL_SIDE, tidy, False),
        ("pocketworld's free scenes, words", SMALL_SIDE, free, True),
        ("pocketworld's free scenes, no words", SMALL_SIDE, free, False),
        ("photographs, words printed on", SMALL_SIDE, None, True),
        ("photographs, no words", SMALL_SIDE, None, False),
        ("large photographs, words printed on", LARGE_SIDE, None, True),
        ("large photographs, no words", LARGE_SIDE, None, False),
    ):
        painter, world = Painter(sources, scenes or tidy, side), scenes is not None
        samples = (painter.sample(f"judge/{side}/{n}", lettered=lettered, world=world) for n in range(count))
        few = islice(samples, count // 4 if side == LARGE_SIDE else count)
        yield from (_judged(gate, reader, name, each) for each in few)
    for path in sources.lettered:
        yield _judged(gate, reader, "photographs of words", GateSample(_photograph(path), _nothing(), (), True))
    for path in sources.photographs:
        yield _judged(gate, reader, "whole photographs, no words", GateSample(_photograph(path), _nothing(), (), False))


def _judged(gate: WordGate, reader: RapidOcrReader, group: str, sample: GateSample) -> Judged:
    small = fitted(sample.pixels, searched_side(sample.pixels))
    likelihood = 1.0 if is_cheap(small) else 1 / (1 + exp(-float(gate.logits(small).max())))
    whole = reader.lines(sample.pixels, None) if sample.lettered else []
    legible = reads(whole, sample.words) if sample.lettered else False
    part = gate.find(sample.pixels)
    same = not legible or (part is not None and reader.lines(sample.pixels, part) == whole)
    return Judged(group, likelihood, legible, same)


def reads(lines: Sequence[str], words: Sequence[str]) -> bool:
    """Whether one of the words is among the lines, about; without any known words, whether there is a word at all."""
    read = " ".join(lines).lower().split()
    if not words:
        return any(sum(letter.isalnum() for letter in word) >= 3 for word in read)
    wanted = " ".join(words).lower().split()
    return any(SequenceMatcher(None, a, b).ratio() >= _LIKE for a in read for b in wanted)


def chosen(judged: Sequence[Judged]) -> float:
    """The highest probability that passes over at most so many of the legible pictures."""
    legible = sorted(each.likelihood for each in judged if each.legible)
    return round(max(0.001, legible[int(PASSED_OVER * len(legible))] * _LOWER), 3)


def table(judged: Sequence[Judged], threshold: float) -> Iterator[Group]:
    """A row for each group, and one for all legible pictures."""
    groups = dict.fromkeys(each.group for each in judged)
    for name in (*groups, ALL):
        rows = [each for each in judged if (each.legible if name == ALL else each.group == name)]
        legible = [each for each in rows if each.legible]
        yield Group(
            name,
            len(rows),
            round(float(np.mean([each.likelihood >= threshold for each in rows])), 4),
            len(legible),
            sum(each.likelihood < threshold for each in legible),
            sum(each.same for each in legible),
        )


def _photograph(path: Path) -> RGB:
    with Image.open(path) as image:
        upright = ImageOps.exif_transpose(image).convert("RGBA")
    white = Image.new("RGBA", upright.size, "white")
    white.alpha_composite(upright)
    white.thumbnail((1920, 1920))
    return np.asarray(white.convert("RGB"))


def _nothing() -> np.ndarray:
    return np.zeros((1, 1), np.uint8)


if __name__ == "__main__":
    main()
