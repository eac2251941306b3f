"""Scorers of real size without a checkpoint: what is timed does not hang on the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from quizglass_export.written_graphs.card_scorer import SHARED, CardScorer, DecoderShape, Rotary

LABELS = 2
_POSITIONS = 1024
_THETA = 1e6


@dataclass(frozen=True)
class Size:
    """A decoder's shape with what its weights need besides."""

    shape: DecoderShape
    inner: int
    """Of its feed-forward."""
    vocabulary: int

    @property
    def parameters(self) -> int:
        """That take part in every token: all but the embedding."""
        shape = self.shape
        heads = shape.size * (2 * shape.heads + 2 * shape.groups)
        return shape.layers * shape.width * (heads + 3 * self.inner)


def as_transformers(size: Size) -> Any:
    """transformers' configuration of a Qwen3 of this size, with the angles and the epsilon that `write_random` has."""
    from transformers import Qwen3Config

    shape = size.shape
    return Qwen3Config(
        vocab_size=size.vocabulary,
        hidden_size=shape.width,
        intermediate_size=size.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.groups,
        head_dim=shape.size,
        rms_norm_eps=shape.epsilon,
        rope_theta=_THETA,
    )


QWEN3_06B = Size(DecoderShape(28, 16, 8, 128, 1024, 1e-6, "silu"), 3072, 151_669)
"""Of Qwen3-Reranker-0.6B, as its published config.json has it."""
SMALL = Size(DecoderShape(2, 4, 2, 32, 128, 1e-6, "silu"), 192, 500)
"""To see that everything runs."""


def write_random(
    size: Size, path: Path, number: type[np.floating[Any]] = np.float16, packed: Path | None = None
) -> None:
    """Write the scorer with small random weights, the same ones each time, and its packed graph beside it."""
    angles = np.outer(np.arange(_POSITIONS), _THETA ** (-np.arange(0, size.shape.size, 2) / size.shape.size))
    rotary = Rotary(np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))
    read = weights(size) if packed is None else cache(weights(size))  # drawn once: it takes longer than writing them
    given = (size.shape, read, rotary, label_rows(size), number)
    CardScorer(*given).write(path, SHARED if packed else "")
    if packed is not None:
        CardScorer(*given, packed=True).write(packed, like=path)


def label_rows(size: Size) -> NDArray[np.float32]:
    """Rows of the output matrix [labels, width]."""
    return _random("labels", (LABELS, size.shape.width))


def weights(size: Size) -> Callable[[str], NDArray[np.float32] | None]:
    """transformers' names of Qwen3's weights to arrays; None for a name that it has none of."""
    shape, queries, keys = size.shape, size.shape.heads * size.shape.size, size.shape.groups * size.shape.size
    sizes: dict[str, tuple[int, ...]] = {
        "embed_tokens": (size.vocabulary, shape.width),
        "q_proj": (queries, shape.width),
        "k_proj": (keys, shape.width),
        "v_proj": (keys, shape.width),
        "o_proj": (shape.width, queries),
        "gate_proj": (size.inner, shape.width),
        "up_proj": (size.inner, shape.width),
        "down_proj": (shape.width, size.inner),
    }
    norms = {"q_norm": shape.size, "k_norm": shape.size}

    def read(name: str) -> NDArray[np.float32] | None:
        if name.endswith(".bias"):
            return None
        part = name.split(".")[-2]
        if part in sizes:
            return _random(name, sizes[part])
        return np.ones(norms.get(part, shape.width), np.float32)

    return read


def _random(name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    rng = np.random.default_rng(crc32(name.encode()))
    return rng.standard_normal(shape, np.float32) * np.float32(0.02)
