"""`llama_batch` over numpy memory, so that filling it costs no loop of ctypes calls.

llama.cpp takes either token ids or embeddings in one batch, never both: a picture goes by itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import llama_cpp.llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

_INT = ctypes.POINTER(ctypes.c_int32)


class TokenBatch:
    """Runs of tokens of several sequences, filled anew for each step."""

    def __init__(self, size: int) -> None:
        """Make an empty batch of at most `size` tokens."""
        self.count = 0
        self.outputs = 0
        """Rows of logits that the step will give, in the order in which they were asked for."""
        self._token = np.zeros(size, np.int32)
        self._position = np.zeros(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._frame = _Frame(size)
        self._steps = np.arange(size, dtype=np.int32)
        self._struct = self._frame.struct(self._position, self._wanted, token=self._token)

    def clear(self) -> None:
        """Start over."""
        self.count = self.outputs = 0

    def add(
        self, tokens: Sequence[int] | NDArray[np.int32], position: int, sequence: int, wanted_from: int | None = None
    ) -> None:
        """Append a run of one sequence; logits are given after each of its tokens from index `wanted_from` on."""
        start, end = self.count, self.count + len(tokens)
        self._token[start:end] = tokens
        self._position[start:end] = self._steps[: end - start] + position
        self._frame.sequence[start:end] = sequence
        self._wanted[start:end] = 0
        if wanted_from is not None:
            self._wanted[start + wanted_from : end] = 1
            self.outputs += end - start - wanted_from
        self.count = end

    def add_each(self, tokens: list[int], positions: list[int], sequences: list[int]) -> None:
        """Append one token of each of several sequences, with logits after it."""
        start, end = self.count, self.count + len(tokens)
        self._token[start:end] = tokens
        self._position[start:end] = positions
        self._frame.sequence[start:end] = sequences
        self._wanted[start:end] = 1
        self.outputs += end - start
        self.count = end

    @property
    def first(self) -> int:
        """The first token."""
        return int(self._token[0])

    @property
    def struct(self) -> llama.llama_batch:
        """For `llama_decode`; valid until the batch changes."""
        self._struct.n_tokens = self.count
        return self._struct


class EmbeddingBatch:
    """A piece of one picture's embedding."""

    def __init__(self, embedding: NDArray[np.float32], positions: NDArray[np.int32], sequence: int) -> None:
        """Make a batch, after which no logits are given.

        Args:
            embedding: float32 [n, width], contiguous.
            positions: int32 [k, n]: k is 4 with M-RoPE (time, row, column, 0), else 1.
            sequence: where it goes.
        """
        count = len(embedding)
        # Kept, since llama.cpp reads them through bare pointers.
        self._embedding = np.ascontiguousarray(embedding, np.float32)
        self._position = np.ascontiguousarray(positions, np.int32)
        self._wanted = np.zeros(count, np.int8)
        self._frame = _Frame(count)
        self._frame.sequence[:] = sequence
        self.struct = self._frame.struct(self._position, self._wanted, embedding=self._embedding)
        self.struct.n_tokens = count


class _Frame:
    """The part of a batch that says which sequence each row belongs to: always exactly one."""

    def __init__(self, size: int) -> None:
        self.sequence = np.zeros(size, np.int32)
        self._counts = np.ones(size, np.int32)
        self._pointers = self.sequence.ctypes.data + 4 * np.arange(size, dtype=np.uint64)

    def struct(
        self,
        position: NDArray[np.int32],
        wanted: NDArray[np.int8],
        token: NDArray[np.int32] | None = None,
        embedding: NDArray[np.float32] | None = None,
    ) -> llama.llama_batch:
        return llama.llama_batch(
            n_tokens=0,
            token=None if token is None else token.ctypes.data_as(_INT),
            embd=None if embedding is None else embedding.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            pos=position.ctypes.data_as(_INT),
            n_seq_id=self._counts.ctypes.data_as(_INT),
            seq_id=self._pointers.ctypes.data_as(ctypes.POINTER(_INT)),
            logits=wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )
