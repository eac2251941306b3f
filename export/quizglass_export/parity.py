"""Comparing exported models with the PyTorch models that they came from.

The exported side runs on the server's own preprocessing (`quizglass_server.roles.shared`), the PyTorch side on
transformers' processors and positions, so a difference anywhere between picture and logits shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from quizglass_export.checks import Check, at_least, at_most, share

if TYPE_CHECKING:  # a bundle of graphs that are written here is compared without
    import torch

Floats = NDArray[np.float32]
Inputs = dict[str, NDArray[np.generic]]
BATCHES = (8,)


def session(path: Path) -> Any:
    """An ONNX Runtime session on one CPU thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # As the server has it: exact sums of INT8 products on processors whose own would overflow.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def batches(count: int, size: int) -> Iterator[range]:
    """Index ranges of at most `size`."""
    for start in range(0, count, size):
        yield range(start, min(start + size, count))


def scored(
    path: Path,
    inputs: Callable[[Sequence[int]], Inputs],
    count: int,
    sizes: Sequence[int],
    rows: Sequence[int] | None = None,
) -> tuple[list[Floats], list[list[Floats]]]:
    """Logits [L] of each sample alone, and of all of them in padded batches of each size; of some rows, or of all."""
    run = session(path)

    def logits(indices: Sequence[int]) -> Floats:
        values: Floats = run.run(["logits"], inputs(indices))[0]
        return values if rows is None else values[:, list(rows)]

    alone = [logits([index])[0] for index in range(count)]
    return alone, [[row for part in batches(count, size) for row in logits(list(part))] for size in sizes]


def check_scorer(
    role: str,
    path: Path,
    references: Sequence[Floats],
    inputs: Callable[[Sequence[int]], Inputs],
    bound: float,
    sizes: Sequence[int] = BATCHES,
    rows: Sequence[int] | None = None,
) -> list[Check]:
    """Compare a scorer's logits, each sample alone and in padded batches.

    Args:
        role: the scorer's role.
        path: the ONNX file.
        references: PyTorch's label logits [L] of each sample.
        inputs: makes the ONNX inputs for a list of sample indices.
        bound: largest difference allowed.
        sizes: of the batches.
        rows: places of the labels among the model's logits; None: they are all of them.

    Returns:
        Difference alone, difference in batches, and whether all labels are the same.
    """
    alone, together = scored(path, inputs, len(references), sizes, rows)
    apart = [_difference(row, other) for row, other in zip(alone, references, strict=True)]
    padded = [_difference(row, other) for rows in together for row, other in zip(rows, references, strict=True)]
    same = [
        all(int(row.argmax()) == int(reference.argmax()) for row in rows)
        for *rows, reference in zip(alone, *together, references, strict=True)
    ]
    named = ", ".join(map(str, sizes))
    return [
        at_most(role, "largest difference of logits, one at a time", apart, bound),
        at_most(role, f"largest difference of logits, padded batches of {named}", padded, bound),
        share(role, "equal labels", same, 1.0),
    ]


def _difference(first: Floats, second: Floats) -> float:
    return float(np.abs(first - second).max())


def check_vectors(role: str, exported: Sequence[Floats], references: Sequence[Floats], bound: float) -> Check:
    """Smallest cosine between exported and reference vectors [D]."""
    cosines = [
        float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) for a, b in zip(exported, references, strict=True)
    ]
    return at_least(role, "smallest cosine", cosines, bound)


def pool(states: Floats, mask: NDArray[np.int64], how: str) -> Floats:
    """[B, S, D] states and [B, S] mask to unit vectors [B, D]: the mean over tokens, the first, or the last."""
    weights = mask[:, :, None].astype(np.float32)
    if how == "cls":
        pooled = states[:, 0]
    elif how == "last":
        pooled = states[np.arange(len(states)), mask.sum(1) - 1]
    else:
        pooled = (states * weights).sum(1) / weights.sum(1).clip(min=1)
    normed: Floats = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    return normed


def as_array(tensor: torch.Tensor) -> Floats:
    """A tensor's values as float32."""
    return np.asarray(tensor.detach().float().numpy())
