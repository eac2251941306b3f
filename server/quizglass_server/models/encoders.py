"""Encoders: pictures and texts to vectors of length one, so that a dot product is a cosine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from quizglass_server.bundle import Bundle
from quizglass_server.domain import RGB, Vector
from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession
from quizglass_server.errors import BundleError
from quizglass_server.models.fitting import PictureFitter, content_hash
from quizglass_server.models.scorers import LIMITS, MAX_BATCH
from quizglass_server.models.vision_inputs import channels
from quizglass_server.scheduling.priority import Priority, at_priority


class OnnxImageEncoder:
    """A picture to a vector."""

    def __init__(self, bundle: Bundle, pool: EnginePool, fitter: PictureFitter, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: the model file is damaged or gives other vectors than the manifest says.
        """
        spec = bundle.image_encoder
        self._spec = spec
        self._fitter = fitter
        self.dimension = spec.dimension
        """Length of the vectors."""
        self.fingerprint = bundle.manifest.files[spec.model].sha256
        """SHA-256 of the model file."""
        size = (3, spec.picture.height, spec.picture.width)
        shapes = {"pixel_values": InputRange((1, *size), (1, *size), (MAX_BATCH, *size))}
        self._session = OnnxSession(bundle.path(spec.model), shapes, "image_embeds", how)
        self.executor = self._session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[RGB, Vector](pool, self._run, lambda _: 1, BatchLimits(MAX_BATCH, MAX_BATCH))
        self._run([np.zeros((spec.picture.height, spec.picture.width, 3), np.uint8)])

    async def embed(self, pictures: Sequence[RGB]) -> list[Vector]:
        """One vector a picture, float32 [dimension]; pictures that look the same to the model are embedded once."""
        if not pictures:
            return []
        places: list[int] = []
        vectors = await self._batcher.run(lambda: self._distinct(pictures, places))
        return [vectors[place] for place in places]

    def _distinct(self, pictures: Sequence[RGB], places: list[int]) -> list[RGB]:
        """Fitted pictures without repetitions; `places` is told where each picture's is."""
        found: dict[bytes, int] = {}
        distinct: list[RGB] = []
        for picture in pictures:
            fitted = self._fitter.fit_pixels(picture, self._spec.picture)
            place = found.setdefault(content_hash(fitted), len(distinct))
            places.append(place)
            if place == len(distinct):
                distinct.append(fitted)
        return distinct

    def _run(self, pictures: Sequence[RGB]) -> list[Vector]:
        pixel_values = np.stack([channels(pixels, self._spec.picture) for pixels in pictures])
        return list(normalised(self._session.run({"pixel_values": pixel_values}), self.dimension, self._session.name))


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
        try:
            self._counter = _quoting(Tokenizer.from_file(str(bundle.path(spec.tokenizer))))
            self._tokenizer = _quoting(Tokenizer.from_file(str(bundle.path(spec.tokenizer))))
        except Exception as error:
            raise BundleError(f"{spec.tokenizer}: not a tokenizer: {error}") from error
        self._counter.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(spec.max_tokens)
        row = InputRange((1, 1), (1, min(32, spec.max_tokens)), (MAX_BATCH, spec.max_tokens))
        shapes, types = {"input_ids": row, "attention_mask": row}, {"token_type_ids": row}
        self._session = OnnxSession(bundle.path(spec.model), shapes, "last_hidden_state", how, optional=types)
        self.executor = self._session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[list[int], Vector](pool, self._run, len, LIMITS)
        self._run(self._rows(["a"]))

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a query, float32 [dimension]; a long one is cut at its end."""
        return await self._embed([self._spec.query_prefix + text for text in texts])

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a passage, float32 [dimension]; a long one is cut at its end. Queries go first."""
        with at_priority(Priority.BACKGROUND):
            return await self._embed([self._spec.passage_prefix + text for text in texts])

    def count_tokens(self, text: str) -> int:
        """Length of a text in the encoder's own tokens, without the special ones around it."""
        return len(self._counter.encode(text, add_special_tokens=False).ids)

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._batcher.run(lambda: self._rows(texts)) if texts else []

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]

    def _run(self, rows: Sequence[list[int]]) -> list[Vector]:
        """Vectors of rows of token ids, padded on the right."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run({name: inputs[name] for name in self._session.inputs})
        return list(normalised(pooled(states, mask, self._spec.pooling), self.dimension, self._session.name))


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


def _quoting(tokenizer: Tokenizer) -> Tokenizer:
    """Texts are data: special tokens written in them are plain characters."""
    tokenizer.encode_special_tokens = True
    return tokenizer
