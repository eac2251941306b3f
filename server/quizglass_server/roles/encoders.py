"""Encoders: pictures and texts to vectors of length one, so that a dot product is a cosine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from quizglass_server.bundle.files import Bundle
from quizglass_server.bundle.manifest import Size, graphs
from quizglass_server.domain.turns import RGB, Vector
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession
from quizglass_server.errors import BundleError
from quizglass_server.models.batching import LIMITS
from quizglass_server.models.fitting import PictureFitter, content_hash
from quizglass_server.models.grids import Grids
from quizglass_server.models.picture_graph import PictureGraph
from quizglass_server.models.text_rows import TextRow, TextTokenizer, TokenCounter, padded, text_ranges
from quizglass_server.scheduling.priority import Priority, at_priority


class OnnxImageEncoder:
    """A picture to a vector."""

    def __init__(self, bundle: Bundle, pool: EnginePool, fitter: PictureFitter, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: the model file is damaged or gives other vectors than the manifest says.
        """
        spec = bundle.image_encoder
        self._fitter = fitter
        self.dimension = spec.dimension
        """Length of the vectors."""
        self.fingerprint = _fingerprint([bundle.manifest.files[name].sha256 for _, name in graphs(spec)])
        """SHA-256 of the model file; of several, of their hashes."""
        made = [(size, PictureGraph(bundle.path(name), size, self._vectors, pool, how)) for size, name in graphs(spec)]
        self._graphs = Grids(made)
        self.executor = self._graphs.first.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def embed(self, pictures: Sequence[RGB]) -> list[Vector]:
        """One vector a picture, float32 [dimension]; pictures that look the same to the model are embedded once."""
        if not pictures:
            return []
        fitting = [self._graphs.fitting(pixels.shape[1], pixels.shape[0]) for pixels in pictures]
        vectors: dict[int, Vector] = {}
        for graph in dict.fromkeys(fitting):
            places = [place for place, each in enumerate(fitting) if each is graph]
            made = await self._embed(graph, [pictures[place] for place in places])
            vectors |= zip(places, made, strict=True)
        return [vectors[place] for place in range(len(pictures))]

    async def _embed(self, graph: PictureGraph[Vector], pictures: Sequence[RGB]) -> list[Vector]:
        places: list[int] = []
        vectors = await graph.run(lambda: self._distinct(pictures, graph.size, places))
        return [vectors[place] for place in places]

    def _distinct(self, pictures: Sequence[RGB], size: Size, places: list[int]) -> list[RGB]:
        """Fitted pictures without repetitions; `places` is told where each picture's is."""
        found: dict[bytes, int] = {}
        distinct: list[RGB] = []
        for picture in pictures:
            fitted = self._fitter.fit_pixels(picture, size)
            place = found.setdefault(content_hash(fitted), len(distinct))
            places.append(place)
            if place == len(distinct):
                distinct.append(fitted)
        return distinct

    def _vectors(self, found: NDArray[np.float32], rows: int, name: str) -> list[Vector]:
        return list(normalised(found, self.dimension, name))


class OnnxTextEncoder:
    """A text to a vector."""

    def __init__(self, bundle: Bundle, pool: EnginePool, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged or gives other vectors than the manifest says.
        """
        spec = bundle.text_encoder
        self._spec = spec
        self.dimension = spec.dimension
        """Length of the vectors."""
        self.fingerprint = bundle.manifest.files[spec.model].sha256
        """SHA-256 of the model file."""
        self._tokenizer = TextTokenizer(bundle.path(spec.tokenizer), spec.max_tokens)
        self._counter = TokenCounter(bundle.path(spec.tokenizer))
        shapes, types = text_ranges(spec.max_tokens)
        self._session = OnnxSession(bundle.path(spec.model), shapes, "last_hidden_state", how, optional=types)
        self.executor = self._session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[TextRow, Vector](pool, self._run, len, LIMITS)
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


def normalised(vectors: NDArray[np.float32], dimension: int, name: str) -> NDArray[np.float32]:
    """Vectors of length one.

    Raises:
        BundleError: they are not of the manifest's dimension, or not numbers.
    """
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise BundleError(f"{name}: gives vectors of shape {list(vectors.shape)}, the manifest says {dimension}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BundleError(f"{name}: gives vectors that are not numbers")
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _fingerprint(hashes: Sequence[str]) -> str:
    return hashes[0] if len(hashes) == 1 else sha256(" ".join(hashes).encode()).hexdigest()
