"""The model that a generator process proves itself with: its answer, computed anew from the formats' definitions."""

from __future__ import annotations

from collections.abc import Mapping

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from quizglass_server.engines.generator.checks import known_model as known
from quizglass_server.engines.generator.checks.proof import MOST_APART

Weights = Mapping[str, NDArray[np.float32]]


def dequantised() -> dict[str, NDArray[np.float32]]:
    made = {}
    for tensor in known.tensors():
        kind = gguf.GGMLQuantizationType[tensor.format]
        values = np.frombuffer(tensor.content, np.uint8).reshape(*tensor.shape[:-1], -1)
        made[tensor.name.removesuffix(".weight")] = gguf.dequantize(values, kind).reshape(tensor.shape)
    return made


def norm(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + known.EPSILON)


def rotated(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotary embedding of [tokens, heads, size], neighbours in pairs."""
    tokens, _, size = x.shape
    angles = np.arange(tokens)[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)[None]
    turn = np.exp(1j * angles)[:, None]
    pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
    return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)


def logits(w: Weights) -> NDArray[np.float32]:
    """After every token of the prompt."""
    x = w["token_embd"][list(known.PROMPT)]
    count, head = len(x), known.WIDTH // known.HEADS
    future = np.triu(np.full((count, count), -np.inf), 1)
    for layer in range(known.LAYERS):
        block = f"blk.{layer}."
        h = norm(x)
        q, k, v = ((h @ w[f"{block}attn_{part}"].T).reshape(count, known.HEADS, head) for part in "qkv")
        scores = np.einsum("ihd,jhd->hij", rotated(q), rotated(k)) / np.sqrt(head) + future
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + np.einsum("hij,jhd->ihd", weights, v).reshape(count, -1) @ w[f"{block}attn_output"].T
        h = norm(x)
        gate = h @ w[f"{block}ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w[f"{block}ffn_up"].T)) @ w[f"{block}ffn_down"].T
    return norm(x) @ w["output"].T


def apart(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def test_the_known_answer_is_what_the_formats_define() -> None:
    computed = logits(dequantised())[-2:]
    assert np.array(known.LOGITS) == pytest.approx(computed, abs=1e-3)


@pytest.mark.parametrize("format_", sorted(known.FORMATS))
def test_products_in_each_format_neither_grow_nor_vanish(format_: str) -> None:
    matrix = next(dequantised()[t.name.removesuffix(".weight")] for t in known.tensors() if t.format == format_)
    assert 0.5 < np.std(matrix) * np.sqrt(known.WIDTH) < 2
    assert abs(matrix.mean()) < 0.01


@pytest.mark.parametrize("name", sorted({t.name.removesuffix(".weight") for t in known.tensors() if t.format != "F32"}))
def test_an_error_in_any_matrix_shows_in_the_answer(name: str) -> None:
    weights = dequantised()
    right = logits(weights)[-2:]
    weights[name] = np.roll(weights[name], 8, axis=1)
    assert min(apart(a, b) for a, b in zip(logits(weights)[-2:], right, strict=True)) > 2 * MOST_APART
