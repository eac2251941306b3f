"""Proves that llama.cpp computes on this machine what it should, before a generator process says that it serves.

Twice. A tiny model in all formats that llama.cpp has special code for must give the logits that are known of it: wrong
code, of a compiler or for another CPU, gives others, or ends the process. Then the model that is to be served must
give numbers, and the same ones whether its tokens are read together or singly, which are different code paths.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import IO

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.native import known_model
from quizglass_server.engines.llama.native.batch import TokenBatch
from quizglass_server.engines.llama.native.errors import LoadFailed
from quizglass_server.engines.llama.native.logs import LlamaLog
from quizglass_server.engines.llama.native.model import DECODED, NativeModel
from quizglass_server.engines.llama.native.options import LoadOptions

MOST_APART = 0.1
"""Of the known logits: length of the difference over theirs. Right code is at 0.03, one wrong matrix above 0.2."""
_MOST_APART_OWN = 0.4
"""Between a token that is read with others and the same one read singly: any model is far below, noise is at 1.4."""
_TEXT = "The answer is on the sign above the door, as everybody knows."
_TOKENS = 8
"""More than the four rows from which on llama.cpp computes them together."""
logger = logging.getLogger(__name__)


class Nonsense(Exception):
    """What is computed is wrong; the message says what and by how much."""


def prove(log: LlamaLog, options: LoadOptions) -> None:
    """Compare the tiny model's logits with the known ones, with the buffers of `options`.

    Raises:
        Nonsense: they differ, or are not numbers.
    """
    began = perf_counter()
    with _unnamed() as file:
        file.write(known_model.gguf())
        file.flush()
        tiny = replace(
            options,
            model=Path(f"/dev/fd/{file.fileno()}"),
            projector=None,
            context=len(known_model.PROMPT),
            sequences=1,
            # Work too small to be shared: on a busy machine threads would wait for each other a hundred times as long.
            threads=1,
            generator_batch=1,
            generator_cells=0,
        )
        try:
            model = NativeModel(tiny, log)
        except LoadFailed as error:
            raise Nonsense(f"the model for the self-test cannot be loaded: {error}") from error
    try:
        *before, last = known_model.PROMPT
        together, singly = _decoded(model, before, 0), _decoded(model, [last], len(before))
    finally:
        model.close()
    for got, expected in zip((together, singly), known_model.LOGITS, strict=True):
        wrong = _apart(got, np.array(expected, np.float32))
        if not wrong <= MOST_APART:
            raise Nonsense(f"the self-test's answer is off by {_percent(wrong)}")
    logger.info("llama.cpp computes what it should (%.0f ms)", 1e3 * (perf_counter() - began))


def prove_model(model: NativeModel) -> None:
    """Read a few tokens together and the last of them singly; whatever is in the model's memory is forgotten.

    Raises:
        LoadFailed: it has no tokenizer.
        Nonsense: logits are not numbers, or the two ways differ.
    """
    if not model.reads_text:
        raise LoadFailed(f"{model.options.model.name}: has no tokenizer; export it again")
    tokens = model.tokenise(_TEXT, special=False)[:_TOKENS]
    if len(tokens) < _TOKENS:
        tokens = [token % model.vocabulary for token in range(_TOKENS)]
    model.clear()
    together = _decoded(model, tokens, 0)
    model.forget(0, len(tokens) - 1)
    singly = _decoded(model, tokens[-1:], len(tokens) - 1)
    model.clear()
    name, wrong = model.options.model.name, _apart(singly, together)
    if not wrong <= _MOST_APART_OWN:
        raise Nonsense(f"{name}: a token read with others and read singly differ by {_percent(wrong)}")


def _decoded(model: NativeModel, tokens: Sequence[int], position: int) -> NDArray[np.float32]:
    """Logits after the last token."""
    batch = TokenBatch(len(tokens))
    batch.add(list(tokens), position, 0, wanted_from=len(tokens) - 1)
    if (code := model.decode(batch)) != DECODED:
        raise Nonsense(f"{model.options.model.name}: llama.cpp cannot decode ({code}): {model.last_error()}")
    model.synchronise()
    row: NDArray[np.float32] = model.logits(1)[0]
    return row.copy()


def _apart(got: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
    """Distance over length; not a number where one of them is not."""
    return float(np.linalg.norm(got - expected) / max(float(np.linalg.norm(expected)), 1e-9))


def _percent(wrong: float) -> str:
    return f"{100 * wrong:.0f} %" if np.isfinite(wrong) else "what is not a number"


def _unnamed() -> IO[bytes]:
    """A file that nobody else sees: in memory, where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("self-test"), "wb")
    return tempfile.TemporaryFile()
