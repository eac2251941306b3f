"""Texts and pairs of texts as encoders take them: token ids with the special tokens of their own around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from quizglass_bundle.errors import BundleError

_SHORT = 400
"""Characters of a text that is encoded sooner than Python's lock could be handed over and got back, which the way for
batches does."""
TYPES = "token_type_ids"
"""The input that BERT has and most others lack."""


@dataclass(frozen=True, eq=False, slots=True)
class TextRow:
    """A text, or a pair of texts, as token ids."""

    ids: list[int]
    types: list[int]
    """Type of each token: 0 in the first text, 1 in the second, where the model tells them apart."""

    def __len__(self) -> int:
        return len(self.ids)


class TextTokenizer:
    """Makes rows of at most `limit` tokens. Texts are data: special tokens written in them are plain characters."""

    def __init__(self, path: Path, limit: int) -> None:
        """Load a `tokenizer.json`.

        Raises:
            BundleError: it is none, or `limit` leaves no room beside its special tokens.
        """
        name = f"{path.parent.name}/{path.name}"
        try:
            self._tokenizer = _quoting(path)
            # Of a pair the longer text loses its end first, so a passage is cut long before a query is.
            self._tokenizer.enable_truncation(limit, strategy="longest_first")
        except Exception as error:
            raise BundleError(f"{name}: not a tokenizer for {limit} tokens: {error}") from error
        if (added := self._tokenizer.num_special_tokens_to_add(True)) >= limit:
            raise BundleError(f"{name}: adds {added} special tokens to a pair, max_tokens is {limit}")

    def rows(self, texts: Sequence[str | tuple[str, str]]) -> list[TextRow]:
        """One row a text or pair; what is too long is cut at its end, of a pair the longer text first."""
        if len(texts) == 1 and isinstance(text := texts[0], str) and len(text) <= _SHORT:
            encodings = [self._tokenizer.encode(text)]
        else:
            encodings = self._tokenizer.encode_batch_fast(list(texts))
        return [TextRow(encoding.ids, encoding.type_ids) for encoding in encodings]


class TokenCounter:
    """Counts the tokens of whole texts, which `TextTokenizer` cuts; a second copy of the tokenizer, for this alone."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = _quoting(path)
        self._tokenizer.no_truncation()

    def count(self, text: str) -> int:
        """Length of a text, without the special tokens around it."""
        # Of its ways to encode, the ones for batches let other threads have Python's lock meanwhile.
        return len(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0])


def padded(rows: Sequence[TextRow], width: int | None = None) -> dict[str, NDArray[np.int64]]:
    """`input_ids`, `attention_mask` and `token_type_ids`, int64 [B, S], padded to `width` or the longest."""
    shape = (len(rows), width or max(map(len, rows)))
    ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row.ids
        mask[index, : len(row)] = 1
        types[index, : len(row)] = row.types
    return {"input_ids": ids, "attention_mask": mask, TYPES: types}


def _quoting(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    tokenizer.no_padding()
    return tokenizer
