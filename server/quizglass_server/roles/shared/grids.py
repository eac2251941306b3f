"""Models that have a graph for each of several picture sizes: which one a picture goes to, and what it makes of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from math import log
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import Normalised, Size, graphs
from quizglass_bundle.inputs.vision_inputs import channels
from quizglass_bundle.parts import ImageEncoderPart, TaggerPart
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.roles.shared.batching import BATCH_PIXELS, MAX_BATCH
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.scheduling.priority import Priority, current_priority

Sized = TypeVar("Sized")
Row = TypeVar("Row")
Read = Callable[[NDArray[np.float32], int, str], Sequence[Row]]
"""Makes a row for each picture from a model's output: the values, of how many pictures, and the model's name."""
PicturePart = ImageEncoderPart | TaggerPart
SAME_SHAPE = log(1.05)
"""Sizes that distort a picture by no more than this beyond the best count as equally good."""


class Grids(Generic[Sized]):
    """What a model has for each picture size, the first one first."""

    def __init__(self, made: Sequence[tuple[Size, Sized]]) -> None:
        self._sizes = [size for size, _ in made]
        self._made = [each for _, each in made]

    @property
    def first(self) -> Sized:
        """The graph for the size that is used when there is no picture."""
        return self._made[0]

    def fitting(self, width: int, height: int) -> Sized:
        """The graph for the size that suits a picture of so many pixels best."""
        return self._made[best_size(self._sizes, width, height)]


def best_size(sizes: Sequence[Size], width: int, height: int) -> int:
    """Place of the size that changes a picture's aspect ratio least; among equally good ones, its area least."""
    if len(sizes) == 1:
        return 0
    bent = [abs(log(size.width / size.height) - log(width / height)) for size in sizes]
    good = [place for place, each in enumerate(bent) if each <= min(bent) + SAME_SHAPE]
    return min(good, key=lambda place: abs(log(sizes[place].width * sizes[place].height / (width * height))))


def blank(size: Size) -> RGB:
    """A black picture of a size, to run a model once with."""
    return np.zeros((size.height, size.width, 3), np.uint8)


def pixel_range(size: Size, rows: int) -> InputRange:
    """Shapes of `pixel_values` [B, 3, H, W] for 1 to `rows` pictures."""
    shape = (3, size.height, size.width)
    return InputRange((1, *shape), (1, *shape), (rows, *shape))


class PictureGraphs(Generic[Row]):
    """A model of pictures alone: `pixel_values` [B, 3, H, W] to one output, read as a row for each picture.

    Args:
        spec: what the manifest says of it.
        output: name of the graphs' output.
        read: makes rows of it.
        loading: the bundle's files, and what runs them.

    Raises:
        BundleError: a file is damaged, or takes other inputs; and what `read` raises of values that do not fit.
    """

    def __init__(self, spec: PicturePart, output: str, read: Read[Row], loading: Loading) -> None:
        self._fitter = loading.fitter
        stepped = spec.pad_to == "steps"
        sized = graphs(spec)
        self._graphs = Grids(
            [(size, _PictureGraph(name, size, output, read, loading, stepped)) for size, name in sized]
        )
        self.executor = self._graphs.first.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def rows(self, pictures: Sequence[Picture]) -> list[Row]:
        """A row for each picture, in order; one that is there several times goes through the model once."""
        keep = current_priority() is not Priority.BACKGROUND  # an import's would push out what turns look at
        of_graph: dict[_PictureGraph[Row], list[Picture]] = defaultdict(list)
        for picture in dict.fromkeys(pictures):
            of_graph[self._graphs.fitting(picture.width, picture.height)].append(picture)
        rows: dict[Picture, Row] = {}
        for graph, those in of_graph.items():
            rows |= zip(those, await graph.run(partial(self._fitted, those, graph.size, keep)), strict=True)
        return [rows[picture] for picture in pictures]

    def _fitted(self, pictures: Sequence[Picture], size: Size, keep: bool) -> list[RGB]:
        return [self._fitter.fit(picture, size, keep=keep) for picture in pictures]


class _PictureGraph(Generic[Row]):
    """For pictures of one size."""

    def __init__(
        self, model: str, size: Normalised, output: str, read: Read[Row], loading: Loading, stepped: bool
    ) -> None:
        """Load, and run once."""
        self.size = size
        self._read = read
        path = loading.files.path(model)
        signature = Signature(output, {"pixel_values": pixel_range(size, MAX_BATCH)}, stepped=stepped)
        self._session = OnnxSession(path, signature, loading.how)
        self.executor = self._session.executor
        most = BATCH_PIXELS // (size.width * size.height) if self.executor == "cpu" else MAX_BATCH
        limits = BatchLimits(MAX_BATCH, max(1, min(MAX_BATCH, most)))
        self._batcher = Batcher[RGB, Row](loading.pool, self._run, lambda _: 1, limits)
        self._run([blank(size)])

    async def run(self, prepare: Callable[[], Sequence[RGB]]) -> list[Row]:
        """One row for each picture that `prepare` gives, in order; see `Batcher.run`."""
        return await self._batcher.run(prepare)

    def _run(self, pictures: Sequence[RGB]) -> list[Row]:
        pixel_values = np.stack([channels(pixels, self.size) for pixels in pictures])
        values = self._session.run({"pixel_values": pixel_values})
        return list(self._read(values, len(pictures), self._session.name))
