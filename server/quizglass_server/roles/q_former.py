"""BLIP-2's Q-Former (Li et al. 2023): compares passages with a picture, or tells the domain of a question about it.

As coarse reranker it turns the picture into a few query vectors and each passage into one; a passage counts by the
largest dot product (QA-Dragon's coarse stage). As domain router it reads picture and question together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quizglass_server.bundle.files import Bundle
from quizglass_server.bundle.manifest import Normalised, QFormer, QFormerClassifier, graphs
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession
from quizglass_server.models.batching import LIMITS, MAX_BATCH
from quizglass_server.models.fitting import PictureFitter
from quizglass_server.models.grids import Grids, blank, pixel_range
from quizglass_server.models.logits import checked, softmax
from quizglass_server.models.picture_graph import PictureGraph
from quizglass_server.models.prompts import clean
from quizglass_server.models.text_rows import TextRow, TextTokenizer, padded, text_ranges
from quizglass_server.models.vision_inputs import channels

_CACHE_BYTES = 16 << 20

Queries = NDArray[np.float32]
"""A picture as the coarse reranker sees it: float32 [queries, dimension]."""


class OnnxCoarseReranker:
    """How well passages go with a picture."""

    def __init__(
        self, bundle: Bundle, spec: QFormer, pool: EnginePool, fitter: PictureFitter, how: OnnxOptions
    ) -> None:
        """Load both graphs.

        Raises:
            BundleError: a file of the role is damaged, or gives other vectors than the manifest says.
        """
        self._spec = spec
        self._tokenizer = TextTokenizer(bundle.path(spec.tokenizer), spec.max_tokens)
        made = [(size, PictureGraph(bundle.path(name), size, self._seeing, pool, how)) for size, name in graphs(spec)]
        self._pictures = Grids(made)
        self._fitter = fitter
        self._queries = BoundedCache[bytes, Queries](_CACHE_BYTES, lambda queries: queries.nbytes)
        shapes, types = text_ranges(spec.max_tokens)
        self._texts = OnnxSession(bundle.path(spec.text_model), shapes, "text_embeds", how, optional=types)
        self.executor = self._texts.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[TextRow, NDArray[np.float32]](pool, self._embed, len, LIMITS)
        self._embed(self._tokenizer.rows(["a"]))

    async def compare(self, picture: Picture, passages: Sequence[str]) -> list[float]:
        """Largest dot product of each passage's vector with those of the picture, in order; a cosine, -1 to 1."""
        if not passages:
            return []
        texts = [clean(passage) for passage in passages]
        vectors = await self._batcher.run(lambda: self._tokenizer.rows(texts))
        queries = await self._seen(picture)
        return [float((queries @ vector).max()) for vector in vectors]

    async def _seen(self, picture: Picture) -> Queries:
        known = self._queries.get(picture.sha256)
        if known is None:
            graph = self._pictures.fitting(picture.width, picture.height)
            (known,) = await graph.run(lambda: [self._fitter.fit(picture, graph.size)])
            self._queries.put(picture.sha256, known)
        return known

    def _seeing(self, found: NDArray[np.float32], rows: int, name: str) -> list[Queries]:
        return list(checked(found, (rows, self._spec.queries, self._spec.dimension), name))

    def _embed(self, rows: Sequence[TextRow]) -> list[NDArray[np.float32]]:
        given = padded(rows)
        vectors = self._texts.run({name: given[name] for name in self._texts.inputs})
        return list(checked(vectors, (len(rows), self._spec.dimension), self._texts.name))


@dataclass(frozen=True, eq=False, slots=True)
class _Asked:
    """A picture and a question, as the domain router takes them."""

    picture: RGB
    question: TextRow


class OnnxDomainRouter:
    """Which domain a question about a picture belongs to."""

    def __init__(
        self, bundle: Bundle, spec: QFormerClassifier, pool: EnginePool, fitter: PictureFitter, how: OnnxOptions
    ) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or gives other logits than the manifest says.
        """
        self.labels = spec.labels
        """Names of the domains."""
        self._fitter = fitter
        self._tokenizer = TextTokenizer(bundle.path(spec.tokenizer), spec.max_tokens)
        made = [(size, _RouterGraph(bundle, spec, size, name, pool, how)) for size, name in graphs(spec)]
        self._graphs = Grids(made)
        self.executor = self._graphs.first.executor
        """What runs it: tensorrt, cuda or cpu."""
        for size, graph in made:
            graph.run([_Asked(blank(size), self._tokenizer.rows(["a"])[0])])

    async def domains(self, picture: Picture, question: str) -> list[tuple[str, float]]:
        """Every domain with its probability, in the order of the manifest; a long question is cut at its end."""
        graph = self._graphs.fitting(picture.width, picture.height)

        def asked() -> list[_Asked]:
            return [_Asked(self._fitter.fit(picture, graph.size), self._tokenizer.rows([clean(question)])[0])]

        (probabilities,) = await graph.batcher.run(asked)
        return list(zip(self.labels, map(float, probabilities), strict=True))


class _RouterGraph:
    """The domain router's graph for one picture size."""

    def __init__(
        self, bundle: Bundle, spec: QFormerClassifier, size: Normalised, model: str, pool: EnginePool, how: OnnxOptions
    ) -> None:
        self.size = size
        self._labels = len(spec.labels)
        shapes, types = text_ranges(spec.max_tokens)
        shapes["pixel_values"] = pixel_range(size, MAX_BATCH)
        self._session = OnnxSession(bundle.path(model), shapes, "logits", how, optional=types)
        self.executor = self._session.executor
        self.batcher = Batcher[_Asked, NDArray[np.float64]](pool, self.run, lambda asked: len(asked.question), LIMITS)

    def run(self, rows: Sequence[_Asked]) -> list[NDArray[np.float64]]:
        """Probabilities of the domains, one array a row."""
        given: dict[str, NDArray[np.generic]] = dict(padded([row.question for row in rows]))
        given["pixel_values"] = np.stack([channels(row.picture, self.size) for row in rows])
        logits = self._session.run({name: given[name] for name in self._session.inputs})
        return list(softmax(checked(logits, (len(rows), self._labels), self._session.name)))
