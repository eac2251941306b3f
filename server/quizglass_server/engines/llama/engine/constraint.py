"""Constrained output: by a grammar (GBNF).

A constraint follows one answer. The likeliest token that it allows is picked; probabilities stay those of the model.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Sequence
from time import thread_time
from unicodedata import normalize

import llama_cpp.llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.llama.engine.sampling import Row
from quizglass_server.engines.llama.link.prompt import Constraint, ConstraintRefused, RequestRefused
from quizglass_server.engines.llama.native.model import NativeModel

MAX_LABELS = 64
_MAX_CHARACTERS = 256 << 10
_MAX_NESTING = 64
"""Deepest nesting of brackets: llama.cpp's parser recurses, and a stack overflow ends the process."""
_CANDIDATES = 64
"""Likeliest tokens that are tried before all of them are."""
_PICK_S = 1.0
"""On a core: a token that takes longer to pick is the last one, since others wait, and the next takes longer still."""
_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def follower(model: NativeModel, constraint: Constraint) -> GrammarFollower:
    """What follows an answer under a constraint; may be called in any thread.

    Raises:
        ConstraintRefused: it cannot be understood; the message says where.
    """
    text = normalize("NFC", constraint.grammar)
    if len(text) > _MAX_CHARACTERS:
        raise ConstraintRefused(f"a grammar of {len(text)} characters; {_MAX_CHARACTERS} at most")
    if _nesting(text) > _MAX_NESTING:
        raise ConstraintRefused(f"the grammar nests brackets deeper than {_MAX_NESTING}")
    return GrammarFollower(model, text)


def label_tokens(model: NativeModel, labels: Sequence[str]) -> list[list[int]]:
    """Token ids of each label.

    Raises:
        RequestRefused: there are none or too many.
        ConstraintRefused: one is empty or there twice.
    """
    if not 0 < len(labels) <= MAX_LABELS:
        raise RequestRefused(f"{len(labels)} labels; 1 to {MAX_LABELS} can be chosen from")
    ids = [model.tokenise(label, special=False) for label in labels]
    for index, (label, tokens) in enumerate(zip(labels, ids, strict=True)):
        if not tokens:
            raise ConstraintRefused(f"labels[{index}] is empty")
        if tokens in ids[:index]:
            raise ConstraintRefused(f"labels[{index}]: {label!r} is there twice")
    return ids


class GrammarFollower:
    """Follows an answer token by token, with llama.cpp's own grammar sampler."""

    def __init__(self, model: NativeModel, grammar: str) -> None:
        """Compile a grammar whose first rule is `root`.

        Raises:
            ConstraintRefused: it is not GBNF; the message gives llama.cpp's reason.
        """
        handle = None
        if "\0" not in grammar:
            handle = llama.llama_sampler_init_grammar(model.vocab, grammar.encode(), b"root")
        if not handle:
            raise ConstraintRefused(f"the grammar cannot be used: {model.last_error()}")
        self._handle = handle
        self._ends = model.ends
        self._end = int(llama.llama_vocab_eos(model.vocab))
        weakref.finalize(self, llama.llama_sampler_free, handle)

    def complete(self) -> bool:
        """Whether the answer may end here."""
        return self._end < 0 or len(self._allowed(np.array([self._end]))) > 0

    def pick(self, row: Row) -> int | None:
        """The likeliest token allowed next; None when that is the end.

        Raises:
            ConstraintRefused: it takes too long, or the model has no token for what the grammar asks for next.
        """
        began = thread_time()
        token = self._likeliest(row)
        if thread_time() - began > _PICK_S:
            raise ConstraintRefused("the grammar takes too long to follow; make it less ambiguous")
        return token

    def _likeliest(self, row: Row) -> int | None:
        for tokens in _tried(row):
            allowed = self._allowed(tokens)
            if len(allowed):
                token = int(allowed[row.logits[allowed].argmax()])
                return None if self._ends(token) else token
        if self.complete():
            return None
        raise ConstraintRefused("the model has no token for what the grammar asks for next")

    def accept(self, token: int) -> None:
        """The answer goes on with a token that was picked."""
        llama.llama_sampler_accept(self._handle, token)

    def _allowed(self, tokens: NDArray[np.int64]) -> NDArray[np.int32]:
        """Which of the tokens the grammar allows next."""
        data = np.zeros(len(tokens), _TOKEN_DATA)
        data["id"] = tokens
        # Any finite logit: what the grammar forbids becomes minus infinity.
        candidates = llama.llama_token_data_array(
            data=data.ctypes.data_as(llama.llama_token_data_p), size=len(data), selected=-1, sorted=False
        )
        llama.llama_sampler_apply(self._handle, ctypes.byref(candidates))
        allowed: NDArray[np.int32] = data["id"][np.isfinite(data["logit"])]
        return allowed


def _tried(row: Row) -> Iterator[NDArray[np.int64]]:
    """Tokens to be tried one group after the other, the likeliest first, since trying all of them is slow."""
    yield np.array([row.best])
    count = len(row.logits)
    if count > _CANDIDATES:
        yield np.argpartition(row.logits, count - _CANDIDATES)[-_CANDIDATES:]
    yield np.arange(count)


def _nesting(text: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    return deepest
