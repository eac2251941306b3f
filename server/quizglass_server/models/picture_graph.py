"""A graph that takes pictures and nothing else, in batches: the image encoder's, the coarse reranker's first half."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from quizglass_server.bundle.manifest import Normalised
from quizglass_server.domain.turns import RGB
from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession
from quizglass_server.models.batching import MAX_BATCH
from quizglass_server.models.grids import blank, pixel_range
from quizglass_server.models.vision_inputs import channels

Result = TypeVar("Result")
Read = Callable[[NDArray[np.float32], int, str], Sequence[Result]]
"""Makes results of what a model gave: the values, of how many pictures, and the model's name, for errors."""


class PictureGraph(Generic[Result]):
    """For pictures of one size: `pixel_values` [B, 3, H, W] to `image_embeds`."""

    def __init__(self, path: Path, size: Normalised, read: Read[Result], pool: EnginePool, how: OnnxOptions) -> None:
        """Load, and run once.

        Raises:
            BundleError: the file is damaged, or gives other values than the manifest says.
        """
        self.size = size
        self._read = read
        self._session = OnnxSession(path, {"pixel_values": pixel_range(size, MAX_BATCH)}, "image_embeds", how)
        self.executor = self._session.executor
        self._batcher = Batcher[RGB, Result](pool, self._run, lambda _: 1, BatchLimits(MAX_BATCH, MAX_BATCH))
        self._run([blank(size)])

    async def run(self, prepare: Callable[[], Sequence[RGB]]) -> list[Result]:
        """One result for each picture that `prepare` gives, in order; see `Batcher.run`."""
        return await self._batcher.run(prepare)

    def _run(self, pictures: Sequence[RGB]) -> Sequence[Result]:
        pixel_values = np.stack([channels(pixels, self.size) for pixels in pictures])
        return self._read(self._session.run({"pixel_values": pixel_values}), len(pictures), self._session.name)
