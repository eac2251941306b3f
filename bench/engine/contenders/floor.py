"""What llama.cpp itself takes for prompts that arrive together: no schedule of reading and writing is much faster.

Every prompt is read by itself, in as few batches as possible and with nothing else in memory but the prompts before it;
then all answers are written together. There is no process, no message and no sampling in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import fmean
from time import perf_counter

from bench.engine.contenders.shapes import Shape
from quizglass_server.engines.llama.native.batch import TokenBatch
from quizglass_server.engines.llama.native.logs import LlamaLog
from quizglass_server.engines.llama.native.model import DECODED, N_BATCH, NativeModel, start_backend
from quizglass_server.engines.llama.native.options import LoadOptions

FLOOR = "llama.cpp alone, one prompt after the other, then all answers"


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
        options = LoadOptions(shape.model, None, 0, 0, context, sequences=most, threads=threads, generator_batch=most)
        self._model = NativeModel(options, _log())
        self._tokens = TokenBatch(N_BATCH)

    def measure(self, prompts: Sequence[str], tokens: int) -> Floor:
        """Read prompts and write `tokens` tokens to each; which ones makes no difference to the time."""
        self._model.clear()
        texts = [self._model.tokenise(text, special=True) for text in prompts]
        reading = tuple(self._read(ids, sequence) for sequence, ids in enumerate(texts))
        began = perf_counter()
        sequences = list(range(len(texts)))
        for step in range(tokens - 1):
            self._tokens.clear()
            last = [ids[-1] for ids in texts]
            self._tokens.add_each(last, [len(ids) + step for ids in texts], sequences)
            self._decode()
        return Floor(reading, perf_counter() - began)

    def close(self) -> None:
        """Free it."""
        self._model.close()

    def _read(self, ids: list[int], sequence: int) -> float:
        began = perf_counter()
        for start in range(0, len(ids), N_BATCH):
            part = ids[start : start + N_BATCH]
            self._tokens.clear()
            self._tokens.add(part, start, sequence, len(part) - 1)
            self._decode()
        return perf_counter() - began

    def _decode(self) -> None:
        if (code := self._model.decode(self._tokens)) != DECODED:
            raise RuntimeError(f"llama_decode returned {code}: {self._model.last_error()}")
        self._model.synchronise()


@cache
def _log() -> LlamaLog:
    """llama.cpp is to be started once in a process."""
    log = LlamaLog()
    start_backend(log)
    return log
