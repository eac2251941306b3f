"""Planner and reranker: language models cut down to one prefill pass and a row of logits for each label."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quizglass_server.bundle import Bundle
from quizglass_server.domain import Picture, Plan, PlanDecision, Turn
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.onnx.batcher import Batcher, BatchLimits
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.providers import InputRange, Ranges
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession
from quizglass_server.errors import BundleError
from quizglass_server.manifest import TextScorer, VisionScorer
from quizglass_server.models.fitting import PictureFitter, encode_within
from quizglass_server.models.prompts import PromptError, PromptTemplate, PromptTokenizer, clean
from quizglass_server.models.shared_prompts import Part, SharingScorer, before_data
from quizglass_server.models.vision_inputs import Patches, image_span, patch_grid, patches, vision_batch

MAX_BATCH = 16
BATCH_TOKENS = 512
"""Padded tokens of one run. On a CPU larger ones are no faster, need more memory, and hold up what is urgent."""
LIMITS = BatchLimits(BATCH_TOKENS, MAX_BATCH)
_SEEN_BYTES = 16 << 20
"""Of pictures kept in the planner's form, a third of a megabyte each at 112 x 112."""

Probabilities = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class _Asked:
    """A question to the planner, as the model takes it."""

    ids: list[int]
    seen: Patches | None


class OnnxPlanner:
    """The planning agent's model: which of four lookups a question needs."""

    def __init__(self, bundle: Bundle, pool: EnginePool, fitter: PictureFitter, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or a label is no plan.
        """
        spec = bundle.planner
        self._spec = spec
        self._fitter = fitter
        self._plans = [_plan(name) for name, _ in spec.labels]
        self._tokenizer = PromptTokenizer(bundle.path(spec.tokenizer))
        try:
            self._template = PromptTemplate.load(bundle.path(spec.prompt))
            self._image_id = self._tokenizer.token_id(spec.image_token)
            self._span = image_span(self._tokenizer, spec.image_token, spec.picture)
        except PromptError as error:
            raise BundleError(f"roles.planner: {error}") from error
        self._session = OnnxSession(bundle.path(spec.model), _vision_ranges(spec), "logits", how)
        self.executor = self._session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._pool = pool
        self._batcher = Batcher(pool, self._run, lambda asked: len(asked.ids), LIMITS)
        self._seen = BoundedCache[bytes, Patches](_SEEN_BYTES, lambda seen: seen.nbytes)
        blank = Picture(b"", np.zeros((spec.picture.height, spec.picture.width, 3), np.uint8))
        _warm_up("planner", lambda: self._run([self._prepared(Turn("", "a", blank), "a")]))

    async def plan(self, turn: Turn, words: str) -> PlanDecision:
        """Plan for a turn; a question beyond the model's length is cut, never refused."""
        (probabilities,) = await self._batcher.run(lambda: [self._prepared(turn, words)])
        best = self._plans[int(probabilities.argmax())]
        return PlanDecision(best, "planner", tuple(zip(self._plans, map(float, probabilities), strict=True)))

    async def look_at(self, picture: Picture) -> None:
        """Bring a picture into the model's form, which its next plan then need not do."""
        await self._pool.run(lambda: self._patches(picture))

    def _prepared(self, turn: Turn, words: str) -> _Asked:
        history = [{"question": each.question, "answer": each.answer} for each in turn.history]
        prompt = self._template.render(
            picture=turn.picture is not None, question=turn.question, history=history, words=words
        )
        ids = encode_within(self._tokenizer, prompt, self._span, self._spec.max_tokens)
        return _Asked(ids, None if turn.picture is None else self._patches(turn.picture))

    def _patches(self, picture: Picture) -> Patches:
        seen = self._seen.get(picture.sha256)
        if seen is None:
            seen = patches(self._fitter.fit(picture, self._spec.picture), self._spec.picture)
            self._seen.put(picture.sha256, seen)
        return seen

    def _run(self, rows: Sequence[_Asked]) -> Sequence[Probabilities]:
        """Probabilities of the labels, one array [L] a row."""
        ids, seen = [row.ids for row in rows], [row.seen for row in rows]
        return list(softmax(self._session.run(vision_batch(ids, self._image_id, self._spec.picture, seen))))


class OnnxReranker:
    """Qwen3-Reranker's form: how probable it is that a passage answers a query."""

    def __init__(self, bundle: Bundle, pool: EnginePool, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or the labels are not yes and no.
        """
        spec = bundle.reranker
        self._spec = spec
        names = [name for name, _ in spec.labels]
        if "yes" not in names:
            raise BundleError(f"roles.reranker.labels: {names} has no 'yes'")
        self._yes = names.index("yes")
        self._tokenizer = PromptTokenizer(bundle.path(spec.tokenizer))
        try:
            self._template = PromptTemplate.load(bundle.path(spec.prompt))
        except PromptError as error:
            raise BundleError(f"roles.reranker: {error}") from error
        ranges = _text_ranges(spec)
        session = OnnxSession(bundle.path(spec.model), ranges, "logits", how, free=("past", "keep"))
        self.executor = session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._scorer = SharingScorer(session)
        limits = BatchLimits(BATCH_TOKENS, 1) if self._scorer.alone else LIMITS
        self._pool = pool
        self._batcher = Batcher(pool, self._scorer.run, lambda part: len(part.ids), limits)
        _warm_up("reranker", lambda: self._scorer.run([Part(ids) for ids in self._encoded("a", ["a"])]))

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Probability of "yes" for each passage, in order; a long passage is cut at its end.

        What the prompts begin with, up to the passage, is run once, while the rows are tokenised.
        """
        if not passages:
            return []
        beginning: list[int] = []
        first = self._batcher.submit(lambda: self._first(query, passages[0], beginning))
        encoding = self._pool.submit(lambda: self._encoded(query, passages))
        try:
            begun = await asyncio.wrap_future(first)
            rows = await asyncio.wrap_future(encoding)
        finally:
            first.cancel()
            encoding.cancel()
        at = len(beginning)
        if begun and all(len(row) > at and row[:at] == beginning for row in rows):
            parts = [Part(row[at:], begun[0].states) for row in rows]
        else:  # also where a query was cut, and with it the beginning
            parts = [Part(row) for row in rows]
        results = await self._batcher.run(lambda: parts)
        logits = np.stack([result.logits for result in results])
        return [float(probability) for probability in softmax(logits)[:, self._yes]]

    def _first(self, query: str, passage: str, beginning: list[int]) -> list[Part]:
        """What has to run first, which `beginning` is told of: nothing, for a model that cannot share it."""
        if self._scorer.shares:
            prompt = self._template.render(query=query, passage=passage)
            begun = self._tokenizer.encode(before_data(prompt, clean(passage)))
            beginning += begun if len(begun) < self._spec.max_tokens else []
        return [Part(beginning, keep=True)] if beginning else []

    def _encoded(self, query: str, passages: Sequence[str]) -> list[list[int]]:
        """Token ids of each prompt."""
        prompts = [self._template.render(query=query, passage=passage) for passage in passages]
        return [encode_within(self._tokenizer, prompt, [], self._spec.max_tokens) for prompt in prompts]


def _warm_up(role: str, work: Callable[[], object]) -> None:
    """Run once before anybody waits for it; a prompt that cannot be filled is found here, not by a turn."""
    try:
        work()
    except PromptError as error:
        raise BundleError(f"roles.{role}: {error}") from error


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Over the last axis, in double precision."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _plan(name: str) -> Plan:
    try:
        return Plan(name)
    except ValueError:
        known = ", ".join(plan.value for plan in Plan)
        raise BundleError(f"roles.planner.labels: {name!r} is no plan; use {known}") from None


def _text_ranges(spec: TextScorer | VisionScorer) -> dict[str, InputRange]:
    row = InputRange((1, 1), (1, min(128, spec.max_tokens)), (MAX_BATCH, spec.max_tokens))
    return {"input_ids": row, "attention_mask": row}


def _vision_ranges(spec: VisionScorer) -> Ranges:
    down, across = patch_grid(spec.picture)
    values = 3 * spec.picture.temporal * spec.picture.patch**2
    text = _text_ranges(spec)
    row = text["input_ids"]
    return text | {
        "position_ids": InputRange((3, *row.smallest), (3, *row.usual), (3, *row.largest)),
        "pixel_values": InputRange(
            (1, down * across, values), (1, down * across, values), (MAX_BATCH, down * across, values)
        ),
    }
