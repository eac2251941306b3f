"""What models give for labels, made probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quizglass_server.errors import BundleError, EngineFailed


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Over the last axis, in double precision."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of each value, in double precision."""
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
