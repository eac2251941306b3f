"""What models give, made probabilities or vectors of length one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quizglass_server.errors import BundleError, EngineFailed


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Over the last axis, in double precision."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """The logistic function of each value, in double precision."""
    return np.asarray(1 / (1 + np.exp(-logits.astype(np.float64).clip(-500, 500))))


def checked(values: NDArray[np.float32], shape: tuple[int, ...], name: str) -> NDArray[np.float32]:
    """Values that are numbers and have the shape that the manifest says.

    Raises:
        BundleError: the shape is another; names the model.
        EngineFailed: some are not numbers.
    """
    if values.shape != shape:
        raise BundleError(f"{name}: gives values of shape {list(values.shape)}, the manifest says {list(shape)}")
    if not np.isfinite(values).all():
        raise EngineFailed(f"{name}: gives values that are not numbers; export it again")
    return values


def normalised(vectors: NDArray[np.float32], dimension: int, name: str) -> NDArray[np.float32]:
    """Vectors of length one.

    Raises:
        BundleError: they are not of the manifest's dimension, or not numbers.
    """
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise BundleError(f"{name}: gives vectors of shape {list(vectors.shape)}, the manifest says {dimension}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BundleError(f"{name}: gives vectors that are not numbers")
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
