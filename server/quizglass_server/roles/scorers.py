"""What the roles that choose among labels answer: planner, tool router, verifier, and the reranker's yes or no."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np

from quizglass_server.bundle.files import Bundle
from quizglass_server.bundle.manifest import Scorer
from quizglass_server.domain.turns import Picture, Plan, PlanDecision, Turn
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.models.fitting import PictureFitter, encode_within
from quizglass_server.models.logits import softmax
from quizglass_server.models.prompts import PromptValue, clean
from quizglass_server.models.shared_prompts import Part, PartResult, SharingScorer, before_data
from quizglass_server.roles.interfaces import Answered
from quizglass_server.roles.label_scorer import LabelScorer, Loading, Probabilities
from quizglass_server.roles.role_checks import RELEVANT, plans, scorer_prompt


class OnnxPlanner:
    """The planning agent's model: which of four lookups a question needs."""

    def __init__(self, bundle: Bundle, pool: EnginePool, fitter: PictureFitter, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or a label is no plan.
        """
        loading = Loading(bundle, pool, fitter, how)
        spec = bundle.planner
        self._plans = plans("planner", [name for name, _ in spec.labels])
        self._scorer = LabelScorer("planner", spec, loading)
        self.executor = self._scorer.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def plan(self, turn: Turn, words: str) -> PlanDecision:
        """Plan for a turn; a question beyond the model's length is cut, never refused."""
        return _decision(self._plans, await self._scorer.probabilities(turn.picture, _asked(turn, words)), "planner")

    async def look_at(self, picture: Picture) -> None:
        """Bring a picture into the model's form, which its next plan then need not do."""
        await self._scorer.look_at(picture)


class OnnxToolRouter:
    """QA-Dragon's tool router: which lookups a draft answer needs."""

    def __init__(self, spec: Scorer, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or a label is no plan.
        """
        self._plans = plans("tool_router", [name for name, _ in spec.labels])
        self._scorer = LabelScorer("tool_router", spec, loading)
        self.executor = self._scorer.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def route(self, turn: Turn, words: str, draft: str) -> PlanDecision:
        """Plan for a turn whose question was answered from memory with `draft`."""
        values = _asked(turn, words) | {"draft": draft}
        return _decision(self._plans, await self._scorer.probabilities(turn.picture, values), "tool_router")


class OnnxVerifier:
    """Whether an answer is what its evidence says (QA-Dragon's model-based check)."""

    def __init__(self, spec: Scorer, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or no label is `supported`.
        """
        self._scorer = LabelScorer("verifier", spec, loading)
        self.executor = self._scorer.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def check(self, answered: Answered) -> list[tuple[str, float]]:
        """Each label with its probability, in the order of the manifest."""
        probabilities = await self._scorer.probabilities(answered.turn.picture, _answered(answered))
        return list(zip(self._scorer.labels, map(float, probabilities), strict=True))


class OnnxReranker:
    """Qwen3-Reranker's form: how probable it is that a passage answers a query."""

    def __init__(self, bundle: Bundle, pool: EnginePool, how: OnnxOptions) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or no label is `yes`.
        """
        spec = bundle.reranker
        self._spec = spec
        prompt = scorer_prompt("reranker", spec.labels, bundle.path(spec.tokenizer), bundle.path(spec.prompt), None)
        self._tokenizer, self._template = prompt.tokenizer, prompt.template
        self._yes = [name for name, _ in spec.labels].index(RELEVANT)
        self._scorer = SharingScorer(bundle, spec, pool, how)
        self.executor = self._scorer.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._pool = pool
        self._scorer.run([Part(ids) for ids in self._encoded("a", ["a"])])  # before anybody waits for it

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Probability of "yes" for each passage, in order; a long passage is cut at its end.

        What the prompts begin with, up to the passage, is run once. The rows are tokenised meanwhile, in two halves:
        the first runs while the second is tokenised.
        """
        if not passages:
            return []
        beginning: list[int] = []
        first = self._scorer.batcher.submit(lambda: self._first(query, passages[0], beginning))
        middle = (len(passages) + 1) // 2
        halves = [half for half in (passages[:middle], passages[middle:]) if half]
        encodings = [self._pool.submit(partial(self._encoded, query, half)) for half in halves]
        runs: list[Future[list[PartResult]]] = []
        futures: list[Future[Any]] = [first, *encodings]
        try:
            begun = await asyncio.wrap_future(first)
            for encoding in encodings:
                rows = await asyncio.wrap_future(encoding)
                runs.append(self._scorer.batcher.submit(partial(_rest, rows, beginning, begun)))
                futures.append(runs[-1])
            results = [result for run in runs for result in await asyncio.wrap_future(run)]
        finally:
            for future in futures:
                future.cancel()
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


def _rest(rows: Sequence[list[int]], beginning: list[int], begun: Sequence[PartResult]) -> list[Part]:
    """What is left to run of prompts: all of them where one, its query cut, does not begin like the others."""
    at = len(beginning)
    if begun and all(len(row) > at and row[:at] == beginning for row in rows):
        return [Part(row[at:], begun[0].states) for row in rows]
    return [Part(row) for row in rows]


def _asked(turn: Turn, words: str) -> dict[str, PromptValue]:
    """What every prompt about a question may name."""
    history = [{"question": each.question, "answer": each.answer} for each in turn.history]
    return {"question": turn.question, "history": history, "words": words}


def _answered(answered: Answered) -> dict[str, PromptValue]:
    return _asked(answered.turn, answered.words) | {"evidence": list(answered.evidence), "answer": answered.answer}


def _decision(plans: Sequence[Plan], probabilities: Probabilities, by: str) -> PlanDecision:
    best = plans[int(probabilities.argmax())]
    return PlanDecision(best, by, tuple(zip(plans, map(float, probabilities), strict=True)))
