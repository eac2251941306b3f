"""Stage 2: the language model learns to copy, then to read, rewrite and remember, without pictures."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from quizglass_lab.starter.data.batches import Batch, bucketed, pool_size
from quizglass_lab.starter.data.examples import Encoder
from quizglass_lab.starter.data.reading import TextSource, copying, repeating
from quizglass_lab.starter.loop.training import Meter, fit
from quizglass_lab.starter.model.vlm import Model

BATCH_TOKENS = 4096
_RATE = 1.2e-3
_POOL = 600
_COPIED = 0.5
"""Copying alone until half of the rows are copied without any mistake: reading a name hardly emerges otherwise."""
_COPYING_PART = 0.4
"""At most this share of the budget for it."""
_COPYING_TOKENS = 1600


class TextBatches:
    """Pools of batches: copying first, then text; each pool of text is used twice, since it is costly to make."""

    def __init__(self, encoder: Encoder, vocabulary: int, seed: int, scale: int = 1) -> None:
        """`scale`: how many times larger than on a CPU batches are."""
        self.encoder = encoder
        self.vocabulary = vocabulary
        self._seed = seed
        self._scale = scale
        self.reseed(0)

    def reseed(self, number: int) -> None:
        """Draw differently from here on than with another number."""
        self.rng = random.Random(self._seed + number)
        self.text = TextSource(self._seed + number)

    def __call__(self, part: float, copied: float) -> Iterator[Batch]:
        """The next pool, for the share of the budget already spent."""
        if part < _COPYING_PART and copied < _COPIED:
            groups = [copying(self.encoder, self.vocabulary, self.rng) for _ in range(pool_size(320, self._scale))]
            return iter(bucketed(groups, self.encoder, _COPYING_TOKENS * self._scale))
        count = pool_size(_POOL, self._scale)
        groups = [[self.encoder.encode(example) for example in self.text.group()] for _ in range(count)]
        groups += [repeating(self.encoder, self.text.passage()) for _ in range(count // 10)]
        groups += [copying(self.encoder, self.vocabulary, self.rng) for _ in range(count // 40)]
        batches = bucketed(groups, self.encoder, BATCH_TOKENS * self._scale)
        return iter([*self._shuffled(batches), *self._shuffled(batches)])

    def _shuffled(self, batches: list[Batch]) -> list[Batch]:
        return self.rng.sample(batches, len(batches))


def train_language(
    model: Model,
    encoder: Encoder,
    folder: Path,
    minutes: float,
    *,
    scale: int = 1,
    workers: int = 0,
) -> Meter:
    """Train the language part in place; the vision part gets no gradient. Resumable from `folder`."""
    for parameter in model.model.visual.parameters():
        parameter.requires_grad_(False)
    vocabulary = model.model.language_model.embed_tokens.num_embeddings
    batches = TextBatches(encoder, vocabulary, 77, scale)
    meter = fit(model, batches, folder, minutes, rate=_RATE, workers=workers)
    for parameter in model.model.visual.parameters():
        parameter.requires_grad_(True)
    return meter
