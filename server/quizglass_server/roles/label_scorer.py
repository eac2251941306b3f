"""A language model cut down to one prefill pass and a row of logits for each label: planner, tool router, verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_server.bundle.files import Bundle
from quizglass_server.bundle.manifest import Patched, Scorer, VisionScorer, graphs
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.providers import InputRange, Ranges
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession
from quizglass_server.errors import BundleError
from quizglass_server.models.batching import LIMITS, MAX_BATCH, prompt_ranges
from quizglass_server.models.fitting import PictureFitter, encode_within
from quizglass_server.models.grids import Grids, blank
from quizglass_server.models.logits import checked, softmax
from quizglass_server.models.prompts import Prompt, PromptError, PromptTemplate, PromptTokenizer
from quizglass_server.models.shared_prompts import Part, SharingScorer
from quizglass_server.models.vision_inputs import Patches, image_span, patch_grid, patches, vision_batch
from quizglass_server.roles.role_checks import EXAMPLES, Values, scorer_prompt

_SEEN_BYTES = 16 << 20
"""Of pictures kept in a model's form, a third of a megabyte each at 112 x 112."""

Probabilities = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Loading:
    """What a model is loaded from and runs with."""

    bundle: Bundle
    pool: EnginePool
    fitter: PictureFitter
    how: OnnxOptions


class LabelScorer:
    """Probability of each label after a prompt about a picture."""

    def __init__(self, role: str, spec: Scorer, loading: Loading) -> None:
        """Load, and run once, so that a model that does not fit its role is found now and not by a turn.

        Args:
            role: its name; it decides which labels there can be and which values the prompt may name.
            spec: what the manifest says about it.
            loading: where it comes from and what it runs with.

        Raises:
            BundleError: a file of the role is damaged, a label is none, or the prompt names a value that there is
                none of.
        """
        path = loading.bundle.path
        image_token = spec.image_token if isinstance(spec, VisionScorer) else None
        prompt = scorer_prompt(role, spec.labels, path(spec.tokenizer), path(spec.prompt), image_token)
        tokenizer, self._template = prompt.tokenizer, prompt.template
        self.labels = [name for name, _ in spec.labels]
        """Names, in the order of the probabilities."""
        try:
            self._graphs: Grids[_VisionGraph] | None = None
            if isinstance(spec, VisionScorer):
                made = [(size, _VisionGraph(spec, size, name, tokenizer, loading)) for size, name in graphs(spec)]
                self._graphs = Grids(made)
                everyone: list[_Graph] = [graph for _, graph in made]
            else:
                everyone = [_TextGraph(spec, tokenizer, loading)]
            self._first = everyone[0]
            for graph in everyone:
                graph.warm_up(self._template, EXAMPLES[role])
        except PromptError as error:
            raise BundleError(f"roles.{role}: {error}") from error
        self.executor = self._first.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def probabilities(self, picture: Picture | None, values: Values) -> Probabilities:
        """Of each label, float64 [L]; a prompt beyond the model's length loses the end of its longest data."""
        return await self._graph(picture).score(self._template, picture, values)

    async def look_at(self, picture: Picture) -> None:
        """Bring a picture into the model's form, which a prompt about it then need not do."""
        await self._graph(picture).look_at(picture)

    def _graph(self, picture: Picture | None) -> _Graph:
        if self._graphs is None or picture is None:
            return self._first
        return self._graphs.fitting(picture.width, picture.height)


class _Graph(Protocol):
    """A scorer's graph, for one picture size or for text alone."""

    @property
    def executor(self) -> str: ...

    def warm_up(self, template: PromptTemplate, example: Values) -> None: ...

    async def score(self, template: PromptTemplate, picture: Picture | None, values: Values) -> Probabilities: ...

    async def look_at(self, picture: Picture) -> None: ...


@dataclass(frozen=True, eq=False, slots=True)
class _Asked:
    """A prompt and a picture, as a vision scorer takes them."""

    ids: list[int]
    seen: Patches | None


class _VisionGraph:
    """Of a vision-language model, for one picture size."""

    def __init__(
        self, spec: VisionScorer, size: Patched, model: str, tokenizer: PromptTokenizer, loading: Loading
    ) -> None:
        self._size = size
        self._limit = spec.max_tokens
        self._labels = len(spec.labels)
        self._tokenizer = tokenizer
        self._image_id = tokenizer.token_id(spec.image_token)
        self._span = image_span(tokenizer, spec.image_token, size)
        self._fitter = loading.fitter
        self._pool = loading.pool
        path = loading.bundle.path(model)
        self._session = OnnxSession(path, _vision_ranges(spec, size), "logits", loading.how)
        self.executor = self._session.executor
        self._batcher = Batcher(loading.pool, self._run, lambda asked: len(asked.ids), LIMITS)
        self._seen = BoundedCache[bytes, Patches](_SEEN_BYTES, lambda seen: seen.nbytes)

    def warm_up(self, template: PromptTemplate, example: Values) -> None:
        self._run([self._prepared(template, Picture(b"", blank(self._size)), example)])

    async def score(self, template: PromptTemplate, picture: Picture | None, values: Values) -> Probabilities:
        (probabilities,) = await self._batcher.run(lambda: [self._prepared(template, picture, values)])
        return probabilities

    async def look_at(self, picture: Picture) -> None:
        await self._pool.run(lambda: self._patches(picture))

    def _prepared(self, template: PromptTemplate, picture: Picture | None, values: Values) -> _Asked:
        prompt = template.render(picture=picture is not None, **values)
        ids = encode_within(self._tokenizer, prompt, self._span, self._limit)
        return _Asked(ids, None if picture is None else self._patches(picture))

    def _patches(self, picture: Picture) -> Patches:
        seen = self._seen.get(picture.sha256)
        if seen is None:
            seen = patches(self._fitter.fit(picture, self._size), self._size)
            self._seen.put(picture.sha256, seen)
        return seen

    def _run(self, rows: Sequence[_Asked]) -> list[Probabilities]:
        """Probabilities of the labels, one array [L] a row."""
        ids, seen = [row.ids for row in rows], [row.seen for row in rows]
        logits = self._session.run(vision_batch(ids, self._image_id, self._size, seen))
        return list(softmax(checked(logits, (len(rows), self._labels), self._session.name)))


class _TextGraph:
    """Of a text model; pictures do not reach it."""

    def __init__(self, spec: Scorer, tokenizer: PromptTokenizer, loading: Loading) -> None:
        self._limit = spec.max_tokens
        self._tokenizer = tokenizer
        self._scorer = SharingScorer(loading.bundle, spec, loading.pool, loading.how)
        self.executor = self._scorer.executor

    def warm_up(self, template: PromptTemplate, example: Values) -> None:
        self._scorer.run([self._part(template.render(picture=False, **example))])

    async def score(self, template: PromptTemplate, picture: Picture | None, values: Values) -> Probabilities:
        (result,) = await self._scorer.batcher.run(lambda: [self._part(template.render(picture=False, **values))])
        return softmax(result.logits)

    async def look_at(self, picture: Picture) -> None:
        """There is nothing to do."""

    def _part(self, prompt: Prompt) -> Part:
        return Part(encode_within(self._tokenizer, prompt, [], self._limit))


def _vision_ranges(spec: VisionScorer, size: Patched) -> Ranges:
    down, across = patch_grid(size)
    values = 3 * size.temporal * size.patch**2
    text = prompt_ranges(spec.max_tokens)
    row = text["input_ids"]
    return text | {
        "position_ids": InputRange((3, *row.smallest), (3, *row.usual), (3, *row.largest)),
        "pixel_values": InputRange(
            (1, down * across, values), (1, down * across, values), (MAX_BATCH, down * across, values)
        ),
    }
