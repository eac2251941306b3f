"""Language models cut down to one prefill pass and some rows of their head: one logit for each label.

Several roles may name one such model, each with its own prompt and its own rows: it is loaded once, and what they ask
runs together.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs.prompts import PromptError, PromptTemplate, PromptTokenizer, load_template
from quizglass_bundle.inputs.vision_inputs import (
    VISION_END,
    VISION_START,
    Patches,
    image_span,
    patch_grid,
    patches,
    vision_batch,
)
from quizglass_bundle.parts import Scorer, VisionScorer
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.providers import InputRange, Ranges
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.errors import BundleError
from quizglass_server.roles.shared.batching import BATCH_TOKENS, LIMITS, MAX_BATCH, prompt_ranges
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.shared.logits import checked, softmax

Logits = NDArray[np.float32]
Probabilities = NDArray[np.float64]


def probabilities(part: Scorer, logits: Logits, name: str) -> Probabilities:
    """Probabilities of the labels, float64 [B, labels], from the model's logits [B, R].

    Raises:
        BundleError: the model gives other logits than the manifest says; `name` is the model's.
    """
    if part.rows is None:
        return softmax(checked(logits, (len(logits), len(part.labels)), name))
    if max(part.rows) >= logits.shape[1]:
        raise BundleError(f"{name}: gives {logits.shape[1]} logits, the manifest names row {max(part.rows)}")
    return softmax(checked(logits, logits.shape, name)[:, list(part.rows)])


@dataclass(frozen=True, slots=True)
class ScorerPrompt:
    """What turns a question into a scorer's tokens."""

    tokenizer: PromptTokenizer
    template: PromptTemplate


def scorer_prompt(
    role: str, labels: Sequence[tuple[str, str]], tokenizer: Path, prompt: Path, image_token: str | None
) -> ScorerPrompt:
    """Load and check the prompt of a scorer, for which no model is needed.

    Args:
        role: its name.
        labels: (name, text).
        tokenizer: its `tokenizer.json`.
        prompt: its template.
        image_token: the token that stands for a piece of the picture; None for a model of text alone.

    Raises:
        BundleError: a file cannot be read, a label is there twice or not one token of its own, or the prompt names a
            value that there is none of.
    """
    names = [name for name, _ in labels]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BundleError(f"roles.{role}.labels: {twice[0]!r} is there twice")
    try:
        parsed = PromptTokenizer(tokenizer)
        _check_label_tokens(parsed, [text for _, text in labels])
        for token in () if image_token is None else (image_token, VISION_START, VISION_END):
            parsed.token_id(token)
        return ScorerPrompt(parsed, load_template(prompt, sees=image_token is not None))
    except PromptError as error:
        raise BundleError(f"roles.{role}: {error}") from error


def _check_label_tokens(tokenizer: PromptTokenizer, texts: Sequence[str]) -> None:
    ids = [tokenizer.label(text) for text in texts]
    for place, token in enumerate(ids):
        if (first := ids.index(token)) < place:
            both = f"{texts[first]!r} and {texts[place]!r}"
            raise PromptError(f"labels {both} are one token in {tokenizer.path.name}; choose another text")


@dataclass(frozen=True, eq=False, slots=True)
class VisionRow:
    """A prompt and its pictures, in the order in which it shows them, as a vision scorer takes them."""

    ids: list[int]
    patches: tuple[Patches, ...]

    def __len__(self) -> int:
        return len(self.ids)


class VisionGraph:
    """A vision scorer's graph for one picture size."""

    @classmethod
    def shared(
        cls, spec: VisionScorer, size: Patched, model: str, tokenizer: PromptTokenizer, loading: Loading
    ) -> VisionGraph:
        """The graph of a file, loaded once for all roles that say the same of it."""
        key: Hashable = (cls, model, size, spec.tokenizer, spec.image_token, spec.max_tokens, spec.takes)
        return loading.once(key, lambda: cls(spec, size, model, tokenizer, loading))

    def __init__(
        self, spec: VisionScorer, size: Patched, model: str, tokenizer: PromptTokenizer, loading: Loading
    ) -> None:
        """Load.

        Raises:
            BundleError: the file is damaged, or takes other inputs or fewer pictures than the manifest says.
            PromptError: the tokenizer lacks a token of pictures.
        """
        self.size = size
        self.span = image_span(tokenizer, spec.image_token, size)
        """Token ids that stand for a picture."""
        self._image_id = tokenizer.token_id(spec.image_token)
        self._fitter = loading.fitter
        self._pool = loading.pool
        self._session = OnnxSession(
            loading.files.path(model),
            Signature("logits", _vision_ranges(spec, size), stepped=spec.pad_to == "steps"),
            loading.how,
        )
        self.name = self._session.name
        if spec.takes > 1 and isinstance(self._session.shape("pixel_values")[1], int):
            raise BundleError(
                f"{self.name}: takes one picture a prompt, not {spec.takes} as the manifest says; export it again"
            )
        self.executor = self._session.executor
        self._alone = isinstance(self._session.shape("input_ids")[0], int)
        limits = BatchLimits(BATCH_TOKENS, 1) if self._alone else LIMITS
        self.batcher = Batcher[VisionRow, Logits](loading.pool, self.run, len, limits, prompts=True)
        """Runs rows together with those of other callers."""
        self._patches = BoundedCache[bytes, Patches](
            loading.fitter.kept_bytes // 2, lambda seen: seen.nbytes, kind="forms"
        )

    async def look_at(self, picture: Picture) -> None:
        """Bring a picture into the model's form."""
        await self._pool.run(lambda: self.patches(picture))

    def patches(self, picture: Picture) -> Patches:
        """A picture in the model's form, made once."""
        seen = self._patches.get(picture.key)
        if seen is None:
            seen = patches(self._fitter.fit(picture, self.size), self.size)
            self._patches.put(picture.key, seen)
        return seen

    def run(self, rows: Sequence[VisionRow]) -> list[Logits]:
        """Logits, one array [R] a row."""
        if self._alone:
            return [self._together([row])[0] for row in rows]
        return self._together(rows)

    def _together(self, rows: Sequence[VisionRow]) -> list[Logits]:
        ids, seen = [row.ids for row in rows], [row.patches for row in rows]
        return list(self._session.run(vision_batch(ids, self._image_id, self.size, seen)))


def _vision_ranges(spec: VisionScorer, size: Patched) -> Ranges:
    down, across = patch_grid(size)
    cells, values = down * across, 3 * size.temporal * size.patch**2
    text = prompt_ranges(spec.max_tokens)
    row = text["input_ids"]
    return text | {
        "position_ids": InputRange((3, *row.smallest), (3, *row.usual), (3, *row.largest)),
        "pixel_values": InputRange((1, cells, values), (1, cells, values), (MAX_BATCH, spec.takes * cells, values)),
    }
