"""The coarse reranker: BLIP-2's Q-Former (Li et al. 2023) compares passages with a picture and the question about it.

Picture and question become a few query vectors and each passage one; a passage counts by the largest dot product
(QA-Dragon, equation 2). Graphs that read the picture alone are served too: they compare with that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import graphs
from quizglass_bundle.inputs.products import product
from quizglass_bundle.inputs.prompts import clean
from quizglass_bundle.inputs.text_rows import TextRow, TextTokenizer, padded
from quizglass_bundle.parts import CoarseRerankerPart
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.roles.shared.batching import LIMITS, text_ranges
from quizglass_server.roles.shared.grids import Grids
from quizglass_server.roles.shared.loading import Loading, RoleKey
from quizglass_server.roles.shared.logits import checked
from quizglass_server.roles.shared.question_graph import Asked, QuestionGraph

_CACHE_BYTES = 16 << 20

Queries = NDArray[np.float32]
"""A picture and a question as the coarse reranker sees them: float32 [queries, dimension]."""


class CoarseReranker(Protocol):
    """Compares passages with a picture, cheaply."""

    async def compare(self, picture: Picture, question: str, passages: Sequence[str]) -> list[float]:
        """How well each passage ("<title>: <chunk>") goes with what is asked about the picture.

        A cosine, -1 to 1, in order.
        """
        ...


COARSE_RERANKER = RoleKey[CoarseReranker]("coarse_reranker")


class OnnxCoarseReranker:
    """How well passages go with a picture and a question."""

    def __init__(self, spec: CoarseRerankerPart, loading: Loading) -> None:
        """Load both graphs.

        Raises:
            BundleError: a file of the role is damaged, or gives other vectors than the manifest says.
        """
        self._spec = spec
        self._fitter = loading.fitter
        self._tokenizer = TextTokenizer(loading.files.path(spec.tokenizer), spec.max_tokens)
        sized = [
            (size, QuestionGraph(name, size, spec.max_tokens, "image_embeds", self._seeing, loading))
            for size, name in graphs(spec)
        ]
        self._pictures = Grids(sized)
        self._queries = BoundedCache[tuple[bytes, str], Queries](_CACHE_BYTES, lambda queries: queries.nbytes)
        signature = Signature("text_embeds", *text_ranges(spec.max_tokens))
        path = loading.files.path(spec.text_model)
        self._texts = OnnxSession(path, signature, loading.how)
        self.executor = self._texts.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[TextRow, NDArray[np.float32]](loading.pool, self._embed, len, LIMITS)
        rows = self._tokenizer.rows(["a"])
        self._embed(rows)
        for _, graph in sized:
            graph.warm_up(rows[0])

    async def compare(self, picture: Picture, question: str, passages: Sequence[str]) -> list[float]:
        """Largest dot product of each passage's vector with those of picture and question, in order."""
        if not passages:
            return []
        texts = [clean(passage) for passage in passages]
        vectors = await self._batcher.run(lambda: self._tokenizer.rows(texts))
        queries = await self._encoded(picture, clean(question))
        return [float(product(queries, vector).max()) for vector in vectors]

    async def _encoded(self, picture: Picture, question: str) -> Queries:
        graph = self._pictures.fitting(picture.width, picture.height)
        key = (picture.key, question if graph.asks else "")
        queries = self._queries.get(key)
        if queries is None:

            def asked() -> list[Asked]:
                return [Asked(self._fitter.fit(picture, graph.size), self._tokenizer.rows([question])[0])]

            (queries,) = await graph.run(asked)
            self._queries.put(key, queries)
        return queries

    def _seeing(self, values: NDArray[np.float32], rows: int, name: str) -> list[Queries]:
        return list(checked(values, (rows, self._spec.queries, self._spec.dimension), name))

    def _embed(self, rows: Sequence[TextRow]) -> list[NDArray[np.float32]]:
        inputs = padded(rows)
        vectors = self._texts.run({name: inputs[name] for name in self._texts.inputs})
        return list(checked(vectors, (len(rows), self._spec.dimension), self._texts.name))
