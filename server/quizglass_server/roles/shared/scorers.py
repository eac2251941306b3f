"""Language models cut down to one prefill pass and some rows of their head: one logit for each label.

Several roles may name one such model, each with its own prompt and its own rows: it is loaded once, and what they ask
runs together. Where the vision tower is a graph of its own, further models may have it in common.
"""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import Patched, graphs
from quizglass_bundle.inputs.prompts import PromptError, PromptTemplate, PromptTokenizer, load_template
from quizglass_bundle.inputs.vision_inputs import (
    VISION_END,
    VISION_START,
    Features,
    Patches,
    feature_batch,
    image_span,
    image_tokens,
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
from quizglass_server.roles.shared.grids import blank
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.shared.logits import checked, softmax
from quizglass_server.roles.shared.towers import FEATURES, SharedTower

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


def shared_tokenizer(name: str, loading: Loading) -> PromptTokenizer:
    """The tokenizer of a bundle's file, read once for all scorers that name it."""
    return loading.once((PromptTokenizer, name), lambda: PromptTokenizer(loading.files.path(name)))


def scorer_prompt(
    role: str, labels: Sequence[tuple[str, str]], tokenizer: PromptTokenizer, prompt: Path, image_token: str | None
) -> ScorerPrompt:
    """Load and check the prompt of a scorer, for which no model is needed.

    Args:
        role: its name.
        labels: (name, text).
        tokenizer: its tokenizer.
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
        _check_label_tokens(tokenizer, [text for _, text in labels])
        for token in () if image_token is None else (image_token, VISION_START, VISION_END):
            tokenizer.token_id(token)
        return ScorerPrompt(tokenizer, load_template(prompt, sees=image_token is not None))
    except PromptError as error:
        raise BundleError(f"roles.{role}: {error}") from error


def _check_label_tokens(tokenizer: PromptTokenizer, texts: Sequence[str]) -> None:
    ids = [tokenizer.label(text) for text in texts]
    for place, token in enumerate(ids):
        if (first := ids.index(token)) < place:
            both = f"{texts[first]!r} and {texts[place]!r}"
            raise PromptError(f"labels {both} are one token in {tokenizer.path.name}; choose another text")


@dataclass(frozen=True, eq=False, slots=True)
class VisionPrompt:
    """A prompt and its pictures, in the order in which it shows them."""

    ids: list[int]
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, eq=False, slots=True)
class VisionRow:
    """The same as a vision scorer takes it: patches of each picture, or what its tower made of them."""

    ids: list[int]
    seen: tuple[NDArray[np.float32], ...]

    def __len__(self) -> int:
        return len(self.ids)


class VisionGraph:
    """A vision scorer's graph for one picture size."""

    @classmethod
    def every_size(cls, spec: VisionScorer, tokenizer: PromptTokenizer, loading: Loading) -> list[VisionGraph]:
        """The graph of each size, the first one first, loaded once for all roles that say the same of them."""
        made = []
        for (size, model), tower in zip(graphs(spec), spec.towers, strict=True):
            key: Hashable = (cls, model, tower, size, spec.tokenizer, spec.image_token, spec.max_tokens, spec.takes)
            load = partial(cls, spec, size, (model, tower), tokenizer, loading)
            made.append(loading.once(key, load))
        return made

    def __init__(
        self,
        spec: VisionScorer,
        size: Patched,
        files: tuple[str, str | None],
        tokenizer: PromptTokenizer,
        loading: Loading,
    ) -> None:
        """Load.

        Args:
            spec: the scorer.
            size: of its pictures.
            files: the graph, and that of its vision tower, where it has one of its own.
            tokenizer: the scorer's.
            loading: the bundle's files, and what runs them.

        Raises:
            BundleError: a file is damaged, takes other inputs or fewer pictures than the manifest says, or does not go
                with its tower.
            PromptError: the tokenizer lacks a token of pictures.
        """
        self.size = size
        self.span = image_span(tokenizer, spec.image_token, size)
        """Token ids that stand for a picture."""
        self._image_id = tokenizer.token_id(spec.image_token)
        self._fitter = loading.fitter
        self._pool = loading.pool
        model, tower = files
        stepped = spec.pad_to == "steps"
        self._tower = SharedTower.shared(tower, size, loading, stepped=stepped) if tower is not None else None
        self._session = self._opened(spec, model, loading)
        self.name = self._session.name
        self.notice = self._tower.notice(spec.takes) if self._tower is not None else ""
        """Why it is slower than it could be, and what to do; empty when it is not."""
        given = "pixel_values" if self._tower is None else FEATURES
        if spec.takes > 1 and isinstance(self._session.shape(given)[1], int):
            raise BundleError(
                f"{self.name}: takes one picture a prompt, not {spec.takes} as the manifest says; export it again"
            )
        self.executor = self._session.executor
        self._alone = isinstance(self._session.shape("input_ids")[0], int)
        limits = BatchLimits(BATCH_TOKENS, 1) if self._alone else LIMITS
        self._batcher = Batcher[VisionRow, Logits](loading.pool, self._run, len, limits, prompts=True)
        """Runs rows together with those of other callers."""
        self._patches = BoundedCache[bytes, Patches](
            loading.fitter.kept_bytes // 2, lambda seen: seen.nbytes, kind="forms"
        )

    def _opened(self, spec: VisionScorer, model: str, loading: Loading) -> OnnxSession:
        width = None if self._tower is None else self._tower.width
        signature = Signature("logits", _vision_ranges(spec, self.size, width), stepped=spec.pad_to == "steps")
        try:
            return OnnxSession(loading.files.path(model), signature, loading.how)
        except BundleError as error:
            if self._tower is None:
                raise
            raise BundleError(f"{error}; its tower is {self._tower.name}") from error

    async def look_at(self, picture: Picture) -> None:
        """Bring a picture into the model's form: have its tower run, or make patches of it."""
        tower = self._tower
        if tower is None:
            await self._pool.run(lambda: self._patched(picture))
        elif tower.keeps:
            await self._pool.run(lambda: tower.begin(picture))

    async def logits(self, prepare: Callable[[], VisionPrompt]) -> Logits:
        """Logits [R] of the prompt that `prepare` makes on a thread of the pool.

        A tower's run is this caller's alone, or awaited where another caller has begun it; the rest may share a run.
        """
        if self._tower is None:
            (logits,) = await self._batcher.run(lambda: [self._row(prepare())])
            return logits
        ids, begun = await self._pool.run(partial(self._begun, self._tower, prepare))
        seen = [await wrap_future(each) if isinstance(each, Future) else each for each in begun]
        row = VisionRow(ids, tuple(seen))
        (logits,) = await self._batcher.run(lambda: [row])
        return logits

    def try_out(self, ids: list[int], count: int) -> Logits:
        """Logits [R] of a prompt with so many pictures that show nothing, made now."""
        if self._tower is None:
            seen = patches(blank(self.size), self.size)
        else:
            seen = np.zeros((image_tokens(self.size), self._tower.width), np.float32)
        return self._run([VisionRow(ids, (seen,) * count)])[0]

    @staticmethod
    def _begun(
        tower: SharedTower, prepare: Callable[[], VisionPrompt]
    ) -> tuple[list[int], list[Features | Future[Features]]]:
        prompt = prepare()
        return prompt.ids, [tower.begin(picture) for picture in prompt.pictures]

    def _row(self, prompt: VisionPrompt) -> VisionRow:
        return VisionRow(prompt.ids, tuple(map(self._patched, prompt.pictures)))

    def _patched(self, picture: Picture) -> Patches:
        """A picture in the model's form, made once."""
        seen = self._patches.get(picture.key)
        if seen is None:
            seen = patches(self._fitter.fit(picture, self.size), self.size)
            self._patches.put(picture.key, seen)
        return seen

    def _run(self, rows: Sequence[VisionRow]) -> list[Logits]:
        """Logits, one array [R] a row."""
        if self._alone:
            return [self._together([row])[0] for row in rows]
        return self._together(rows)

    def _together(self, rows: Sequence[VisionRow]) -> list[Logits]:
        ids, seen = [row.ids for row in rows], [row.seen for row in rows]
        if self._tower is None:
            return list(self._session.run(vision_batch(ids, self._image_id, self.size, seen)))
        return list(self._session.run(feature_batch(ids, self._image_id, self.size, seen, self._tower.width)))


def _vision_ranges(spec: VisionScorer, size: Patched, width: int | None) -> Ranges:
    """Of a graph that takes pictures, or what a tower makes of them: so many numbers for each of their tokens."""
    down, across = patch_grid(size)
    name, shape = "pixel_values", (down * across, 3 * size.temporal * size.patch**2)
    if width is not None:
        name, shape = FEATURES, (image_tokens(size), width)
    text = prompt_ranges(spec.max_tokens)
    row = text["input_ids"]
    return text | {
        "position_ids": InputRange((3, *row.smallest), (3, *row.usual), (3, *row.largest)),
        name: InputRange((1, *shape), (1, *shape), (MAX_BATCH, spec.takes * shape[0], shape[1])),
    }
