"""The image encoder: pictures to vectors of length one, so that a dot product is a cosine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Literal, Protocol

import numpy as np

from quizglass_server.domain.turns import RGB, Picture, Vector
from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.models.batching import MAX_BATCH
from quizglass_server.models.fields import Count, FileName, Gridded, Normalised, Size, graphs
from quizglass_server.models.grids import Grids, blank, pixel_range
from quizglass_server.models.loading import Loading, RolePart
from quizglass_server.models.logits import normalised
from quizglass_server.models.vision_inputs import channels


class ImageEncoder(Protocol):
    """Embeds pictures for image search."""

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the model file: vectors of different fingerprints do not compare."""
        ...

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        """One vector a picture."""
        ...


class ImageEncoderPart(Gridded, RolePart):
    """A picture to one vector of `dimension` floats."""

    engine: Literal["onnx"]
    kind: Literal["image-encoder"]
    model: FileName
    picture: Normalised
    dimension: Count

    def load(self, role: str, loading: Loading) -> OnnxImageEncoder:
        """The encoder; BundleError where a file is damaged or gives other vectors than the manifest says."""
        return OnnxImageEncoder(self, loading)


class OnnxImageEncoder:
    """A picture to a vector."""

    def __init__(self, spec: ImageEncoderPart, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: the model file is damaged or gives other vectors than the manifest says.
        """
        self._fitter = loading.fitter
        self.dimension = spec.dimension
        """Length of the vectors."""
        self.fingerprint = _fingerprint([loading.files.sha256(name) for _, name in graphs(spec)])
        """SHA-256 of the model file; of several, of their hashes."""
        graphs_by_size = [(size, _Graph(name, size, spec.dimension, loading)) for size, name in graphs(spec)]
        self._graphs = Grids(graphs_by_size)
        self.executor = self._graphs.first.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        """One vector a picture, float32 [dimension]; one that is there several times is embedded once."""
        of_graph: dict[_Graph, list[Picture]] = defaultdict(list)
        for picture in dict.fromkeys(pictures):
            of_graph[self._graphs.fitting(picture.width, picture.height)].append(picture)
        vectors: dict[Picture, Vector] = {}
        for graph, those in of_graph.items():
            vectors |= zip(those, await graph.run(partial(self._fitted, those, graph.size)), strict=True)
        return [vectors[picture] for picture in pictures]

    def _fitted(self, pictures: Sequence[Picture], size: Size) -> list[RGB]:
        return [self._fitter.fit(picture, size) for picture in pictures]


class _Graph:
    """For pictures of one size: `pixel_values` [B, 3, H, W] to `image_embeds` [B, dimension]."""

    def __init__(self, model: str, size: Normalised, dimension: int, loading: Loading) -> None:
        """Load, and run once."""
        self.size = size
        self._dimension = dimension
        path = loading.files.path(model)
        signature = Signature("image_embeds", {"pixel_values": pixel_range(size, MAX_BATCH)})
        self._session = OnnxSession(path, signature, loading.how)
        self.executor = self._session.executor
        self._batcher = Batcher[RGB, Vector](loading.pool, self._run, lambda _: 1, BatchLimits(MAX_BATCH, MAX_BATCH))
        self._run([blank(size)])

    async def run(self, prepare: Callable[[], Sequence[RGB]]) -> list[Vector]:
        """One vector for each picture that `prepare` gives, in order; see `Batcher.run`."""
        return await self._batcher.run(prepare)

    def _run(self, pictures: Sequence[RGB]) -> list[Vector]:
        pixel_values = np.stack([channels(pixels, self.size) for pixels in pictures])
        values = self._session.run({"pixel_values": pixel_values})
        return list(normalised(values, self._dimension, self._session.name))


def _fingerprint(hashes: Sequence[str]) -> str:
    return hashes[0] if len(hashes) == 1 else sha256(" ".join(hashes).encode()).hexdigest()
