"""llama.cpp alone, in this process: what reading and writing take without a server around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from time import perf_counter
from typing import Any

import llama_cpp.llama_cpp as llama

from bench.engine.contenders.shapes import Shape
from quizglass_server.engines.generator.checks.backends import load_backends

FLOOR = "llama.cpp alone"
_BATCH = 512


@dataclass(frozen=True, slots=True)
class Floor:
    """Seconds."""

    reading: tuple[float, ...]
    """Each prompt, alone."""
    writing: float
    """All answers but for their first tokens, which reading gives."""

    @property
    def wall(self) -> float:
        """From the arrival to the last token."""
        return sum(self.reading) + self.writing

    @property
    def first(self) -> float:
        """Mean time to the first token, first come, first served."""
        return fmean(accumulate(self.reading))


class Bare:
    """A model without an engine around it."""

    def __init__(self, shape: Shape, threads: int, context: int, most: int) -> None:
        """Load it for at most `most` prompts of `context` tokens with their answers."""
        load_backends()
        llama.llama_backend_init()
        self._model: Any = llama.llama_model_load_from_file(
            str(shape.model).encode(), llama.llama_model_default_params()
        )
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = context * most, _BATCH, _BATCH, most
        params.kv_unified, params.n_threads, params.n_threads_batch = True, threads, threads
        self._context: Any = llama.llama_init_from_model(self._model, params)
        if not self._model or not self._context:
            raise RuntimeError(f"{shape.name}: llama.cpp cannot load {shape.model.name}")
        self._vocabulary = llama.llama_model_get_vocab(self._model)
        self._batch = llama.llama_batch_init(_BATCH, 0, 1)

    def measure(self, prompts: Sequence[str], tokens: int) -> Floor:
        """Read prompts and write `tokens` tokens to each; which ones makes no difference to the time."""
        llama.llama_memory_clear(llama.llama_get_memory(self._context), True)
        texts = [self._tokenised(text) for text in prompts]
        reading = tuple(self._read(ids, sequence) for sequence, ids in enumerate(texts))
        began = perf_counter()
        for step in range(tokens - 1):
            self._decode([(ids[-1], len(ids) + step, sequence, True) for sequence, ids in enumerate(texts)])
        return Floor(reading, perf_counter() - began)

    def close(self) -> None:
        """Free it."""
        llama.llama_batch_free(self._batch)
        llama.llama_free(self._context)
        llama.llama_model_free(self._model)

    def _tokenised(self, text: str) -> list[int]:
        encoded = text.encode()
        room = len(encoded) + 8
        ids = (llama.llama_token * room)()
        return list(ids[: llama.llama_tokenize(self._vocabulary, encoded, len(encoded), ids, room, False, True)])

    def _read(self, ids: list[int], sequence: int) -> float:
        began = perf_counter()
        for start in range(0, len(ids), _BATCH):
            part = ids[start : start + _BATCH]
            last = start + len(part) - 1
            self._decode([(token, at, sequence, at == last) for at, token in enumerate(part, start)])
        return perf_counter() - began

    def _decode(self, rows: Sequence[tuple[int, int, int, bool]]) -> None:
        """Rows of token, position, sequence, and whether its logits are wanted."""
        batch = self._batch
        batch.n_tokens = len(rows)
        for place, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[place], batch.pos[place], batch.logits[place] = token, position, wanted
            batch.n_seq_id[place], batch.seq_id[place][0] = 1, sequence
        if code := llama.llama_decode(self._context, batch):
            raise RuntimeError(f"llama_decode returned {code}")
        llama.llama_synchronize(self._context)
