"""Rerankers with a classification head (BERT, XLM-RoBERTa, ModernBERT): query and passage are read as a pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quizglass_server.bundle.files import Bundle
from quizglass_server.bundle.manifest import CrossEncoder
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession
from quizglass_server.models.batching import LIMITS
from quizglass_server.models.logits import checked, sigmoid, softmax
from quizglass_server.models.prompts import clean
from quizglass_server.models.text_rows import TextRow, TextTokenizer, padded, text_ranges


class OnnxCrossEncoder:
    """How relevant passages are to a query, 0 to 1."""

    def __init__(self, bundle: Bundle, spec: CrossEncoder, pool: EnginePool, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or gives other logits than the manifest says.
        """
        self._spec = spec
        self._tokenizer = TextTokenizer(bundle.path(spec.tokenizer), spec.max_tokens)
        shapes, types = text_ranges(spec.max_tokens)
        self._session = OnnxSession(bundle.path(spec.model), shapes, "logits", how, optional=types)
        self.executor = self._session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[TextRow, float](pool, self._run, len, LIMITS)
        self._run(self._tokenizer.rows([("a", "a")]))

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Relevance of each passage, in order. Of a pair that is too long the longer text loses its end."""
        if not passages:
            return []
        pairs = [(clean(query), clean(passage)) for passage in passages]
        return await self._batcher.run(lambda: self._tokenizer.rows(pairs))

    def _run(self, rows: Sequence[TextRow]) -> list[float]:
        given = padded(rows)
        logits = self._session.run({name: given[name] for name in self._session.inputs})
        checked(logits, (len(rows), self._spec.logits), self._session.name)
        return [float(value) for value in self._relevance(logits)]

    def _relevance(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        """Of one logit its sigmoid, of more the softmax at the manifest's place."""
        if self._spec.logits == 1:
            return sigmoid(logits[:, 0])
        return np.asarray(softmax(logits)[:, self._spec.relevant])
