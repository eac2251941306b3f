"""Fits the layer of capture faults and sets its thresholds.

    python -m quizglass_export.coaching.fit --out server/quizglass_server/coaching/layer.json

Weights come from the worlds of --seed, thresholds from clean pictures of --clean-seed: FALSE_ALARMS of those are
beyond any. What is measured with is drawn from other seeds (`bench.session`). A few minutes on one core; the same
seeds and version of torch give the same weights.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from quizglass_export.coaching.samples import CLEAN, samples
from quizglass_export.pocketworld.scenes import FAULTS
from quizglass_server.coaching.statistics import statistics

SEED, CLEAN_SEED = 6101, 6102
FALSE_ALARMS = 0.01
"""Half of what is promised."""
_STEPS, _RATE, _DECAY = 400, 1e-2, 0.02

Values = NDArray[np.float32]


def main() -> None:
    """Fit and write."""
    args = _arguments()
    torch.manual_seed(args.seed)
    drawn = [(statistics(each.pixels), each.fault) for each in samples(args.seed, args.samples)]
    numbers = np.stack([each for each, _ in drawn])
    mean, spread = numbers.mean(0), np.maximum(numbers.std(0), 1e-3)
    layer = fitted((numbers - mean) / spread, [fault for _, fault in drawn])
    weights, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    clean = np.stack([statistics(each.pixels) for each in samples(args.clean_seed, args.clean, (CLEAN,))])
    thresholds = limits((clean - mean) / spread @ weights.T + bias)
    note = f"{len(numbers)} pictures of seed {args.seed}; thresholds: {len(clean)} clean ones of {args.clean_seed}"
    write(args.out, mean, spread, weights, bias, thresholds, note)
    print(f"{args.out}: {args.out.stat().st_size} bytes; {note}")


def fitted(numbers: Values, faults: list[str]) -> nn.Linear:
    """A logistic layer, one output a fault, of numbers [N, F] that are about 0 and as wide as 1."""
    inputs = torch.from_numpy(numbers.astype(np.float32))
    wanted = torch.tensor([[float(fault == name) for name in FAULTS] for fault in faults])
    layer = nn.Linear(numbers.shape[1], len(FAULTS))
    optimiser = torch.optim.AdamW(layer.parameters(), lr=_RATE, weight_decay=_DECAY)
    for _ in range(_STEPS):
        loss = nn.functional.binary_cross_entropy_with_logits(layer(inputs), wanted)
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


def write(path: Path, mean: Values, spread: Values, weights: Values, bias: Values, limits: Values, note: str) -> None:
    """The file that `quizglass_server.coaching.coach` reads."""
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
    parser.add_argument("--samples", type=int, default=5600)
    parser.add_argument("--clean", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--clean-seed", type=int, default=CLEAN_SEED)
    return parser.parse_args()


if __name__ == "__main__":
    main()
