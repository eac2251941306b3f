"""A graph that takes pictures with questions about them, in batches: both halves of a Q-Former's work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import Normalised
from quizglass_bundle.inputs.text_rows import TextRow, padded
from quizglass_bundle.inputs.vision_inputs import channels
from quizglass_server.domain.turns import RGB
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.errors import BundleError
from quizglass_server.roles.shared.batching import LIMITS, MAX_BATCH, text_ranges
from quizglass_server.roles.shared.grids import blank, pixel_range
from quizglass_server.roles.shared.loading import Loading

Result = TypeVar("Result")
Read = Callable[[NDArray[np.float32], int, str], Sequence[Result]]
"""Makes results from a model's output: the values, of how many rows, and the model's name, for errors."""


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """A picture of the graph's size, and a question about it."""

    picture: RGB
    question: TextRow


class QuestionGraph(Generic[Result]):
    """A graph for one picture size: `pixel_values` [B, 3, H, W], `input_ids`, `attention_mask` [B, S] to one output."""

    def __init__(
        self, model: str, size: Normalised, max_tokens: int, output: str, read: Read[Result], loading: Loading
    ) -> None:
        """Load.

        Raises:
            BundleError: the file is damaged, or takes other inputs.
        """
        self.size = size
        self._read = read
        texts, types = text_ranges(max_tokens)
        signature = Signature(output, {"pixel_values": pixel_range(size, MAX_BATCH)}, optional=texts | types)
        self._session = OnnxSession(loading.files.path(model), signature, loading.how)
        self.executor = self._session.executor
        self.asks = texts.keys() <= self._session.inputs
        """Whether the graph reads the question; some read the picture alone."""
        if not self.asks and texts.keys() & self._session.inputs:
            raise BundleError(f"{self._session.name}: needs both of {', '.join(texts)}, or neither")
        self._batcher = Batcher[Asked, Result](loading.pool, self._run, lambda asked: len(asked.question), LIMITS)

    def warm_up(self, question: TextRow) -> Sequence[Result]:
        """Run once, so that a graph that does not fit its role fails now and not in a turn."""
        return self._run([Asked(blank(self.size), question)])

    async def run(self, prepare: Callable[[], Sequence[Asked]]) -> list[Result]:
        """One result for each row that `prepare` gives, in order; see `Batcher.run`."""
        return await self._batcher.run(prepare)

    def _run(self, rows: Sequence[Asked]) -> Sequence[Result]:
        inputs: dict[str, NDArray[np.generic]] = dict(padded([row.question for row in rows]))
        inputs["pixel_values"] = np.stack([channels(row.picture, self.size) for row in rows])
        values = self._session.run({name: inputs[name] for name in self._session.inputs})
        return self._read(values, len(rows), self._session.name)
