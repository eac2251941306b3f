"""Batches in which tokens that prompts have in common are computed once: what the packed graph of a scorer is given.

A token's states hang on the tokens before it alone, so prompts share them from the first token up to where they part:
the instruction and the question of a reranking, whatever the passages are. Nothing is kept between runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.stepped import LENGTHS, ROWS, TOKENS, step
from quizglass_server.roles.shared.batching import MAX_BATCH

_LEAST_SAVED = 0.25
"""Share of a batch's padded tokens. The packed graph launches two kernels a layer more than the plain one and computes
attention of every row in full, which is a few hundredths of a decoder's work: a fourth less of the rest outweighs both.
By arithmetic; not measured on a card."""

Packed = dict[str, NDArray[np.generic]]


def packed(rows: Sequence[Sequence[int]]) -> Packed:
    """Inputs of the packed graph.

    Args:
        rows: token ids of each prompt, at least one of each.

    Returns:
        `tokens` int64 [N], each once; `places` int64 [B, S], which of them stands where in a row, S being a step;
        `back` int64 [N], one of the places of each, counted through all rows; `last` int64 [B], which of them ends a
        row; and `ends` int32 [B], where in the row that is.
    """
    length = step(max(map(len, rows)), LENGTHS)
    places = np.zeros((len(rows), length), np.int64)
    tokens: list[int] = []
    back: list[NDArray[np.int64]] = []
    before = -1
    # In the order of their tokens, a row begins with no row as it does with the one before it.
    for row in sorted(range(len(rows)), key=lambda place: list(rows[place])):
        ids = rows[row]
        shared = _alike(ids, rows[before]) if before >= 0 else 0
        places[row, :shared] = places[before, :shared]
        places[row, shared : len(ids)] = np.arange(len(tokens), len(tokens) + len(ids) - shared)
        back.append(np.arange(row * length + shared, row * length + len(ids)))
        tokens += ids[shared:]
        before = row
    ends = np.array([len(ids) - 1 for ids in rows], np.int32)
    return {
        "tokens": np.array(tokens, np.int64),
        "places": places,
        "back": np.concatenate(back),
        "last": places[np.arange(len(rows)), ends],
        "ends": ends,
    }


def pays(inputs: Packed) -> bool:
    """Whether a batch has so many tokens fewer when it is packed that the packed graph is faster."""
    rows, length = inputs["places"].shape
    return bool(step(len(inputs["tokens"]), TOKENS) <= (1 - _LEAST_SAVED) * step(rows, ROWS) * length)


def packed_ranges(limit: int) -> dict[str, InputRange]:
    """Shapes of prompts of up to `limit` tokens."""
    length = step(limit, LENGTHS)
    usual = step(min(128, limit), LENGTHS)
    tokens = InputRange((1,), (MAX_BATCH * min(128, limit) // 2,), (MAX_BATCH * limit,))
    each = InputRange((1,), (MAX_BATCH // 2,), (MAX_BATCH,))
    places = InputRange((1, 1), (MAX_BATCH // 2, usual), (MAX_BATCH, length))
    return {"tokens": tokens, "places": places, "back": tokens, "last": each, "ends": each}


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two rows begin with alike, by halves: comparing slices takes a tenth of comparing tokens."""
    longest = min(len(one), len(other))
    return bisect_left(range(longest), True, key=lambda end: one[: end + 1] != other[: end + 1])
