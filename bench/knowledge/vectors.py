"""Vectors that every store is measured on: clusters on the unit sphere, as embeddings lie; needs NumPy alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
QUERIES = 500  # of a set
SETS = 8
WANTED = 10
BATCH = 128  # rows a durable write, as an import of the server has

Matrix = NDArray[np.float32]


def made(count: int, seed: int = 7) -> tuple[Matrix, Matrix]:
    """`count` vectors and `SETS` times `QUERIES` queries of the same distribution."""
    dice = np.random.default_rng(seed)
    centres = dice.standard_normal((max(8, count // 50), DIMENSION)).astype(np.float32)
    every = centres[dice.integers(0, len(centres), count + SETS * QUERIES)]
    every += 0.7 * dice.standard_normal(every.shape).astype(np.float32)
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    return every[:count], every[count:]


def set_of(queries: Matrix, number: int) -> Matrix:
    """The queries of one set: 0 to find out how far to explore, the others one a round, as users ask new things."""
    at = QUERIES * (number % SETS)
    return queries[at : at + QUERIES]


def nearest(vectors: Matrix, queries: Matrix) -> NDArray[np.int64]:
    """The right answers, by looking at all of them."""
    return np.stack([np.argsort(-(vectors @ query), kind="stable")[:WANTED] for query in queries])


def recall(found: Sequence[Sequence[int]], right: NDArray[np.int64]) -> float:
    """Share of the right answers that were found."""
    return sum(len(set(mine) & set(theirs.tolist())) for mine, theirs in zip(found, right, strict=True)) / right.size


def timed(queries: Matrix, search: Callable[[Matrix], Sequence[int]]) -> tuple[list[Sequence[int]], dict[str, float]]:
    """Answers to all queries, one at a time, and their latency in microseconds."""
    for query in queries[:20]:
        search(query)
    answers, took = [], []
    for query in queries:
        begun = time.perf_counter()
        answers.append(search(query))
        took.append(time.perf_counter() - begun)
    return answers, latency(took)


def latency(took: Sequence[float]) -> dict[str, float]:
    """Percentiles of seconds, in microseconds."""
    return {f"p{share}_us": 1e6 * float(np.percentile(took, share)) for share in (50, 95, 99)}


def resident_mib() -> float:
    """Memory of this process."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def texts(count: int) -> list[str]:
    """A text for each vector, of the length of a paragraph."""
    dice = np.random.default_rng(3)
    words = [f"word{number}" for number in range(20_000)]
    return [f"Passage {n}: " + " ".join(words[at] for at in dice.integers(0, len(words), 40)) for n in range(count)]
