"""The reranker: how well passages answer a query, by a text model's "yes" or by a classification head."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.inputs.prompts import Prompt, clean, encode_within, filled
from quizglass_bundle.inputs.text_rows import TextRow, TextTokenizer, padded
from quizglass_bundle.parts import CrossEncoderPart, TextScorer
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.errors import BundleError
from quizglass_server.roles.shared.batching import LIMITS, text_ranges
from quizglass_server.roles.shared.loading import Loading, RoleKey
from quizglass_server.roles.shared.logits import checked, sigmoid, softmax
from quizglass_server.roles.shared.scorers import probabilities as label_probabilities
from quizglass_server.roles.shared.scorers import scorer_prompt, shared_tokenizer
from quizglass_server.roles.shared.shared_prompts import PartResult, PromptPart, SharingScorer, before_data

_FEW = 3
"""Passages for which one run more would take longer than the beginning that it spares them."""
RELEVANT = "yes"
"""The label for a passage that answers the query."""


class Reranker(Protocol):
    """Scores how well passages answer a query."""

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """How likely each passage ("<title>: <chunk>", or a sentence in its place) by itself answers, 0 to 1, in order.

        A passage that is about the thing and does not say what is asked scores low. Thresholds of a bundle
        (`rerank_accept`, `quote_accept`) are values of this.
        """
        ...


RERANKER = RoleKey[Reranker]("reranker")


def check_labels(names: Sequence[str]) -> None:
    """Raise BundleError where no label says that a passage is relevant."""
    if RELEVANT not in names:
        raise BundleError(f"roles.reranker.labels: {', '.join(names)}: none is {RELEVANT!r}")


class OnnxReranker:
    """How probable it is that a passage answers a query, asked as Qwen3-Reranker asks: "yes" against "no"."""

    def __init__(self, spec: TextScorer, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or no label is `yes`.
        """
        names, tokenizer = [name for name, _ in spec.labels], shared_tokenizer(spec.tokenizer, loading)
        check_labels(names)
        self._spec = spec
        prompt = scorer_prompt("reranker", spec.labels, tokenizer, loading.files.path(spec.prompt), None)
        self._tokenizer, self._template = prompt.tokenizer, prompt.template
        self._yes = names.index(RELEVANT)
        self._scorer = SharingScorer.shared(spec, loading)
        self.executor = self._scorer.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._pool = loading.pool
        for count in (1, _FEW + 1) if self._scorer.packs else (1,):  # each of its graphs, before a request waits for it
            self._relevance(self._scorer.run(self._whole("a", ["a"] * count)))

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Probability of "yes" for each passage, in order; a long passage is cut at its end.

        A few run as they are, together, and so do all of a model that packs its runs. Of more, what the prompts begin
        with, up to the passage, is run once; the rows are tokenised meanwhile, in two halves: the first runs while the
        second is tokenised.
        """
        if not passages:
            return []
        if len(passages) <= _FEW or self._scorer.packs:
            whole = partial(self._whole, query, passages)
            return self._relevance(await self._scorer.batcher.run(whole))
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
        return self._relevance(results)

    def _whole(self, query: str, passages: Sequence[str]) -> list[PromptPart]:
        return [PromptPart(ids) for ids in self._encoded(query, passages)]

    def _relevance(self, results: Sequence[PartResult]) -> list[float]:
        probabilities = label_probabilities(
            self._spec, np.stack([result.logits for result in results]), self._scorer.name
        )
        return [float(probability) for probability in probabilities[:, self._yes]]

    def _first(self, query: str, passage: str, beginning: list[int]) -> list[PromptPart]:
        """What has to run first, which `beginning` names: nothing, for a model that cannot share it."""
        if self._scorer.shares:
            begun = self._tokenizer.encode(before_data(self._prompt(query, passage), clean(passage)))
            beginning += begun if len(begun) < self._spec.max_tokens else []
        return [PromptPart(beginning, keep=True)] if beginning else []

    def _encoded(self, query: str, passages: Sequence[str]) -> list[list[int]]:
        """Token ids of each prompt."""
        prompts = [self._prompt(query, passage) for passage in passages]
        return [encode_within(self._tokenizer, prompt, [], self._spec.max_tokens) for prompt in prompts]

    def _prompt(self, query: str, passage: str) -> Prompt:
        return self._template.render(pictures=0, **filled({"query": query, "passage": passage}))


def _rest(rows: Sequence[list[int]], beginning: list[int], begun: Sequence[PartResult]) -> list[PromptPart]:
    """What is left to run of prompts: all of them where one, its query cut, does not begin like the others."""
    at = len(beginning)
    if begun and all(len(row) > at and row[:at] == beginning for row in rows):
        return [PromptPart(row[at:], begun[0].states) for row in rows]
    return [PromptPart(row) for row in rows]


class OnnxCrossEncoder:
    """How relevant passages are to a query, 0 to 1."""

    def __init__(self, spec: CrossEncoderPart, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or gives other logits than the manifest says.
        """
        self._spec = spec
        self._tokenizer = TextTokenizer(loading.files.path(spec.tokenizer), spec.max_tokens)
        signature = Signature("logits", *text_ranges(spec.max_tokens), stepped=spec.pad_to == "steps")
        self._session = OnnxSession(loading.files.path(spec.model), signature, loading.how)
        self.executor = self._session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self._batcher = Batcher[TextRow, float](loading.pool, self._run, len, LIMITS, prompts=True)
        self._run(self._tokenizer.rows([("a", "a")]))

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Relevance of each passage, in order. Of a pair that is too long the longer text loses its end."""
        if not passages:
            return []
        pairs = [(clean(query), clean(passage)) for passage in passages]
        return await self._batcher.run(lambda: self._tokenizer.rows(pairs))

    def _run(self, rows: Sequence[TextRow]) -> list[float]:
        inputs = padded(rows)
        logits = self._session.run({name: inputs[name] for name in self._session.inputs})
        checked(logits, (len(rows), self._spec.logits), self._session.name)
        return [float(value) for value in self._relevance(logits)]

    def _relevance(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        """Relevance: of one logit its sigmoid, of more the softmax at the manifest's place."""
        if self._spec.logits == 1:
            return sigmoid(logits[:, 0])
        return np.asarray(softmax(logits)[:, self._spec.relevant])
