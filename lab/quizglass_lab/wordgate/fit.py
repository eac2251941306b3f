"""Trains the gate; `judge` sets its threshold.

    python -m quizglass_lab.wordgate.fit --sources sources/root --out server/quizglass_server/roles/shared/wordgate.onnx

Takes about ten minutes on one core; the same sources, seed and version of torch give the same weights.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from quizglass_lab.wordgate.network import WordGate, most, save
from quizglass_lab.wordgate.samples import GateSample, Painter, Scenes
from quizglass_lab.wordgate.sources import Sources
from quizglass_server.roles.shared.wordgate import CELL

SIDE = 320
"""Of the pictures it is trained on: the detector's side for small frames."""
SEED = 11
_WORLD_SHARE, _LETTERED_SHARE = 0.4, 0.5
_CELLS_WEIGHT = 0.5
_UNKNOWN = 2


def main() -> None:
    """Train and write."""
    args = _arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    pictures, cells, lettered = drawn(args)
    gate = WordGate()
    gate.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # twice as fast as the other way round
    train(gate, pictures, cells, lettered, epochs=args.epochs, seed=args.seed, minutes=args.minutes)
    save(gate.eval(), args.out, {"threshold": "0.1", "provenance": "not judged yet"})
    print(f"{args.out}: {args.out.stat().st_size} bytes")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True, help="folder of the unpacked packages; see sources.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=0, help="end the training after so long; 0: all epochs")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("work/wordgate"), help="where drawn samples are kept")
    return parser.parse_args()


def drawn(args: argparse.Namespace) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_]]:
    """Pictures [N, S, S, 3], cells [N, S / 8, S / 8] of 0, 1 and 2 for unknown, and whether any words are drawn.

    They are drawn once, and again of other sources.
    """
    args.kept.mkdir(parents=True, exist_ok=True)
    sources = Sources.under(args.sources).part(held_out=False)
    kept = args.kept / f"samples-{args.seed}-{args.samples}-{_digest(sources)}.npz"
    if not kept.exists():
        samples = list(_samples(Painter(sources, Scenes(args.seed), SIDE), args.samples, args.seed))
        partial = kept.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(
                file,
                pictures=np.stack([each.pixels for each in samples]),
                cells=np.stack([_cells(each) for each in samples]),
                lettered=np.array([each.lettered for each in samples]),
            )
        partial.replace(kept)
    with np.load(kept) as held:
        return held["pictures"], held["cells"], held["lettered"]


def _digest(sources: Sources) -> str:
    """Of the names and sizes of the files that samples are made of."""
    files = (*sources.photographs, *sources.stamps, *sources.fonts)
    return sha256(repr([(file.name, file.stat().st_size) for file in files]).encode()).hexdigest()[:12]


def _samples(painter: Painter, count: int, seed: int) -> Iterator[GateSample]:
    rng = random.Random(seed)
    for number in range(count):
        lettered, world = rng.random() < _LETTERED_SHARE, rng.random() < _WORLD_SHARE
        yield painter.sample(f"{seed}/{number}", lettered=lettered, world=world)


def _cells(sample: GateSample) -> NDArray[np.uint8]:
    """What is known of each cell: words in most of it, in none of it, or nothing."""
    down, across = (length // CELL for length in sample.mask.shape)
    blocks = sample.mask.reshape(down, CELL, across, CELL)
    words, unknown = (blocks == 255).mean(axis=(1, 3)), (blocks == 128).any(axis=(1, 3))
    cells = np.where(words > 0.6, 1, np.where(words > 0, _UNKNOWN, 0))
    return np.where(unknown, _UNKNOWN, cells).astype(np.uint8)


def train(
    gate: WordGate,
    pictures: NDArray[np.uint8],
    cells: NDArray[np.uint8],
    lettered: NDArray[np.bool_],
    *,
    epochs: int,
    seed: int,
    minutes: float = 0,
    batch: int = 32,
) -> None:
    """Teach the network cells and whole pictures, at a rate that rises and falls once."""
    order = np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(gate.parameters(), lr=4e-3, weight_decay=1e-3)
    steps = epochs * (len(pictures) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps, pct_start=0.15)
    gate.train()
    began, told = perf_counter(), []
    for step in range(steps):
        at = step % (len(pictures) // batch)
        if at == 0:
            shuffled = order.permutation(len(pictures))
        chosen = np.sort(shuffled[at * batch : (at + 1) * batch])
        pixels = torch.from_numpy(pictures[chosen]).permute(0, 3, 1, 2).float()
        loss = _loss(gate(pixels), torch.from_numpy(cells[chosen]), torch.from_numpy(lettered[chosen]))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        told.append(loss.item())
        if step % 20 == 19:
            print(f"step {step + 1} of {steps}, {perf_counter() - began:.0f} s, loss {np.mean(told):.4f}", flush=True)
            told = []
        if minutes and perf_counter() - began > 60 * minutes:
            break


def _loss(logits: Tensor, cells: Tensor, lettered: Tensor) -> Tensor:
    known = cells != _UNKNOWN
    each = nn.functional.binary_cross_entropy_with_logits(logits[known], cells[known].float())
    whole = nn.functional.binary_cross_entropy_with_logits(most(logits), lettered.float())
    return whole + _CELLS_WEIGHT * each


if __name__ == "__main__":
    main()
