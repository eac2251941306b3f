"""Fits the layer of capture faults and sets its thresholds.

    python -m quizglass_lab.coaching.fit --photographs sources/root \\
        --out server/quizglass_server/session/coaching/layer.json

Weights come from the worlds of --seed and from crops of photographs, thresholds from clean ones of --clean-seed:
FALSE_ALARMS of the drawn ones are beyond any, and as many of the photographs beyond each but those of blur and
darkness, since some were taken out of focus, and some at night. What is measured with is drawn from other seeds, and
from other photographs (`bench.session`).
Ten minutes on one core; the same seeds, photographs and version of torch give the same weights.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from quizglass_lab.coaching.photographs import crops, wholes
from quizglass_lab.coaching.samples import CLEAN, CaptureSample, samples
from quizglass_lab.pocketworld.scenes import FAULTS
from quizglass_server.session.coaching.statistics import statistics

SEED, CLEAN_SEED, NIGHT_SEED = 6101, 6102, 6106
FALSE_ALARMS = 0.01
"""Share of flawless pictures that may be called faulty: half of the share that is promised to users."""
_STEPS, _RATE, _DECAY = 1500, 1e-2, 0.02
_TILT_OF_PHOTOGRAPHS = 0.1
"""How much photographs count where tilt is learned: their own lines are seldom level, and tell little of the camera."""
_OF_PHOTOGRAPHS = ("blur", "dark")
"""Faults that photographs may have as they are."""
_MOST_LIGHT = 0.3
"""The most light that is left in a picture drawn as at night, as a share of its light by day."""

Values = NDArray[np.float32]
Measured = tuple[Values, list[str]]
"""Numbers of pictures [N, M], and what is wrong with each."""


def main() -> None:
    """Fit and write."""
    args = _arguments()
    pictures = wholes(args.photographs)
    nights = night(args.seed, samples(args.night_seed, args.nights, (CLEAN,)))
    photographed_nights = night(args.seed, crops(args.night_seed, args.nights, pictures, (CLEAN,)))
    write(
        args.out,
        args.seed,
        measured(chain(samples(args.seed, args.samples), nights)),
        measured(chain(crops(args.seed, args.crops, pictures), photographed_nights)),
        measured(samples(args.clean_seed, args.clean, (CLEAN,)))[0],
        measured(crops(args.clean_seed, args.clean_crops, pictures, (CLEAN,)))[0],
    )
    print(f"{args.out}: {args.out.stat().st_size} bytes")


def night(seed: int, taken: Iterable[CaptureSample]) -> Iterator[CaptureSample]:
    """Pictures in hardly any light, down to none: pocketworld's dark ones can still be made out."""
    rng = random.Random(f"night/{seed}")
    for each in taken:
        yield replace(each, pixels=(each.pixels * (_MOST_LIGHT * rng.random() ** 2)).astype(np.uint8), fault="dark")


def measured(taken: Iterable[CaptureSample]) -> Measured:
    """Numbers of pictures, and their faults."""
    every = [(statistics(each.pixels), each.fault) for each in taken]
    return np.stack([numbers for numbers, _ in every]), [fault for _, fault in every]


def write(
    path: Path, seed: int, drawn: Measured, photographed: Measured, clean: Values, clean_photographed: Values
) -> None:
    """Fit, and write the file that `quizglass_server.session.coaching.coach` reads."""
    numbers = np.concatenate([drawn[0], photographed[0]])
    mean, spread = numbers.mean(0), np.maximum(numbers.std(0), 1e-3)
    trust = np.ones((len(numbers), len(FAULTS)), np.float32)
    trust[len(drawn[0]) :, FAULTS.index("tilt")] = _TILT_OF_PHOTOGRAPHS
    torch.manual_seed(seed)
    layer = fitted((numbers - mean) / spread, [*drawn[1], *photographed[1]], trust)
    weights, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    of_drawn, of_photographed = ((each - mean) / spread @ weights.T + bias for each in (clean, clean_photographed))
    thresholds = np.maximum(limits(of_drawn), _limits_of_photographs(of_photographed))
    note = (
        f"{len(drawn[0])} drawings and {len(photographed[0])} crops of photographs, seed {seed}; thresholds: "
        f"{len(clean)} clean drawings and {len(clean_photographed)} clean crops"
    )
    _write(path, mean, spread, weights, bias, thresholds, note)


def fitted(numbers: Values, faults: list[str], trust: Values) -> nn.Linear:
    """A logistic layer, one output a fault, of numbers [N, M] that are about 0 and as wide as 1.

    `trust` [N, F] is how much each picture counts for each fault.
    """
    inputs, weight = torch.from_numpy(numbers.astype(np.float32)), torch.from_numpy(trust)
    wanted = torch.tensor([[float(fault == name) for name in FAULTS] for fault in faults])
    layer = nn.Linear(numbers.shape[1], len(FAULTS))
    optimiser = torch.optim.AdamW(layer.parameters(), lr=_RATE, weight_decay=_DECAY)
    for _ in range(_STEPS):
        loss = nn.functional.binary_cross_entropy_with_logits(layer(inputs), wanted, weight)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return layer


def limits(logits: Values) -> Values:
    """Thresholds [F] of which all together have FALSE_ALARMS of clean pictures [N, F], each about as many."""
    low, high = 0.0, FALSE_ALARMS
    for _ in range(30):
        share = (low + high) / 2
        alarms = (logits > np.quantile(logits, 1 - share, axis=0)).any(1).mean()
        low, high = (share, high) if alarms <= FALSE_ALARMS else (low, share)
    return np.asarray(np.quantile(logits, 1 - low, axis=0), np.float32)


def _limits_of_photographs(logits: Values) -> Values:
    """Thresholds [F] beyond each of which FALSE_ALARMS of clean crops [N, F] are; none of the permitted ones."""
    thresholds = np.quantile(logits, 1 - FALSE_ALARMS, axis=0)
    return np.where([fault in _OF_PHOTOGRAPHS for fault in FAULTS], -np.inf, thresholds).astype(np.float32)


def _write(path: Path, mean: Values, spread: Values, weights: Values, bias: Values, limits: Values, note: str) -> None:
    by_fault = {name: dict(zip(FAULTS, rows, strict=True)) for name, rows in (("bias", bias), ("thresholds", limits))}
    layer = {
        "provenance": note,
        "mean": _rounded(mean),
        "spread": _rounded(spread),
        "weights": {fault: _rounded(row) for fault, row in zip(FAULTS, weights, strict=True)},
        **{name: {fault: round(float(each), 5) for fault, each in rows.items()} for name, rows in by_fault.items()},
    }
    path.write_text(json.dumps(layer, indent=1) + "\n", encoding="utf-8")


def _rounded(values: Values) -> list[float]:
    return [round(float(each), 5) for each in values]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--photographs", type=Path, required=True, help="folder of packages; see wordgate/sources.py")
    parser.add_argument("--samples", type=int, default=5600)
    parser.add_argument("--crops", type=int, default=2400)
    parser.add_argument("--nights", type=int, default=300)
    parser.add_argument("--clean", type=int, default=1500)
    parser.add_argument("--clean-crops", type=int, default=600)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--clean-seed", type=int, default=CLEAN_SEED)
    parser.add_argument("--night-seed", type=int, default=NIGHT_SEED)
    return parser.parse_args()


if __name__ == "__main__":
    main()
