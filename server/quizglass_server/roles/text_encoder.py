"""The text encoder: texts to vectors of length one, so that a dot product is a cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.hashes import fingerprint
from quizglass_bundle.inputs.text_rows import TextRow, TextTokenizer, TokenCounter, padded
from quizglass_bundle.parts import TextEncoderPart
from quizglass_server.domain.turns import Vector
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.roles.shared.batching import LIMITS, text_ranges
from quizglass_server.roles.shared.loading import Loading, RoleKey
from quizglass_server.roles.shared.logits import normalised
from quizglass_server.scheduling.priority import Priority, at_priority


class TextEncoder(Protocol):
    """Embeds queries and passages for text search."""

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that makes a passage's vector: vectors of different fingerprints do not compare."""
        ...

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a query."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a passage ("<title>: <chunk>")."""
        ...

    def count_tokens(self, text: str) -> int:
        """Length of a text in the encoder's own tokens."""
        ...


TEXT_ENCODER = RoleKey[TextEncoder]("text_encoder")


class OnnxTextEncoder:
    """A text to a vector."""

    def __init__(self, spec: TextEncoderPart, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged or gives other vectors than the manifest says.
        """
        self._spec = spec
        self.dimension = spec.dimension
        """Length of the vectors."""
        self.fingerprint = fingerprint(
            model=loading.files.sha256(spec.model),
            tokenizer=loading.files.sha256(spec.tokenizer),
            pooling=spec.pooling,
            passage_prefix=spec.passage_prefix,
            max_tokens=spec.max_tokens,
        )
        """Hash of the parts that make a passage's vector; a query's prefix is not stored with anything, and may
        change."""
        self._tokenizer = TextTokenizer(loading.files.path(spec.tokenizer), spec.max_tokens)
        self._counter = TokenCounter(loading.files.path(spec.tokenizer))
        signature = Signature("last_hidden_state", *text_ranges(spec.max_tokens), stepped=spec.pad_to == "steps")
        self._session = OnnxSession(loading.files.path(spec.model), signature, loading.how)
        self.executor = self._session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[TextRow, Vector](loading.pool, self._run, len, LIMITS)
        self._run(self._tokenizer.rows(["a"]))

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a query, float32 [dimension]; a long one is cut at its end."""
        return await self._embed([self._spec.query_prefix + text for text in texts])

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a passage, float32 [dimension]; a long one is cut at its end. Queries go first."""
        with at_priority(Priority.BACKGROUND):
            return await self._embed([self._spec.passage_prefix + text for text in texts])

    def count_tokens(self, text: str) -> int:
        """Length of a text in the encoder's own tokens, without the special ones around it."""
        return self._counter.count(text)

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._batcher.run(lambda: self._tokenizer.rows(texts)) if texts else []

    def _run(self, rows: Sequence[TextRow]) -> list[Vector]:
        inputs = padded(rows)
        states = self._session.run({name: inputs[name] for name in self._session.inputs})
        return list(
            normalised(pooled(states, inputs["attention_mask"], self._spec.pooling), self.dimension, self._session.name)
        )


def pooled(states: NDArray[np.float32], mask: NDArray[np.int64], how: str) -> NDArray[np.float32]:
    """One row a text: float32 [B, D] of [B, S, D]; the mean, the first token (cls) or the last of those unmasked."""
    if how == "cls":
        return np.asarray(states[:, 0])
    if how == "last":
        return np.asarray(states[np.arange(len(states)), mask.sum(axis=1) - 1])
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((states * weights).sum(axis=1) / weights.sum(axis=1))
