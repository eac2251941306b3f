"""Deciders: each chooses among labels of its own in one pass. Planner, tool router, verifier, and any other by name."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass.values import Plan
from quizglass_bundle.inputs.prompts import (
    EXAMPLE,
    Prompt,
    PromptError,
    SegmentKind,
    Value,
    Values,
    encode_within,
    filled,
)
from quizglass_bundle.parts import LinearDeciderPart, TextScorer, VisionScorer
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import BundleError, EngineFailed
from quizglass_server.roles.shared.grids import Grids, blank
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.shared.logits import softmax
from quizglass_server.roles.shared.scorers import VisionGraph, VisionPrompt, scorer_prompt, shared_tokenizer
from quizglass_server.roles.shared.scorers import probabilities as label_probabilities
from quizglass_server.roles.shared.shared_prompts import PromptPart, SharingScorer

logger = logging.getLogger(__name__)

SUPPORTED = "supported"
"""The verifier's label for an answer that its evidence supports; any other says that it does not."""
DIRECT = "direct"
"""A search router's label for a draft that is sent without any look."""
PLANS = tuple(plan.value for plan in Plan)
VERIFIER = "verifier"
SELECTING = ("select", "select_by_text")
"""Deciders that select one of several entries, or none of them."""


class Decider(Protocol):
    """Chooses one of a closed set of labels."""

    @property
    def executor(self) -> str:
        """What runs it: tensorrt, cuda or cpu."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """Names of the values that it reads: those in its prompt, or its features."""
        ...

    @property
    def shows_several(self) -> bool:
        """Whether its prompt shows pictures of entries besides the wearer's own."""
        ...

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        """Every label with its probability, in the order of the manifest; together 1.

        Args:
            pictures: the wearer's own first, and those of entries after it where the prompt shows them.
            values: fill the prompt, or are the features.
        """
        ...

    async def look_at(self, picture: Picture) -> None:
        """Do what a decision about this picture needs and its values do not change."""
        ...


def check_labels(role: str, names: Sequence[str]) -> None:
    """Raise BundleError where the labels are not what a named decider's must be."""
    if role in ("planner", "tool_router") and not set(names) <= set(PLANS):
        raise BundleError(f"roles.{role}.labels: {', '.join(names)}: not all are plans; use {', '.join(PLANS)}")
    if role == VERIFIER and SUPPORTED not in names:
        raise BundleError(f"roles.{role}.labels: {', '.join(names)}: none is {SUPPORTED!r}")


class VisionDecider:
    """Chooses by a vision-language model's logits after a prompt."""

    def __init__(self, role: str, spec: VisionScorer, loading: Loading) -> None:
        """Load, and run once, so that a model that does not fit its role fails now and not in a turn."""
        check_labels(role, [name for name, _ in spec.labels])
        tokenizer, path = shared_tokenizer(spec.tokenizer, loading), loading.files.path(spec.prompt)
        prompt = scorer_prompt(role, spec.labels, tokenizer, path, spec.image_token)
        self._spec, self._tokenizer, self._template = spec, prompt.tokenizer, prompt.template
        self.needs = prompt.template.names
        self.shows_several = prompt.template.shows_several and spec.takes > 1
        if prompt.template.shows_several and not self.shows_several:
            logger.warning(
                "its prompt shows several pictures, its graph takes the wearer's alone", extra={"role": role}
            )
        try:
            made = VisionGraph.every_size(spec, prompt.tokenizer, loading)
            self._graphs = Grids([(graph.size, graph) for graph in made])
            for graph in made:
                for count in (1, 2)[: spec.takes]:
                    shown = self._asked(graph, [Picture(b"", blank(graph.size))] * count, EXAMPLE)
                    self._named(graph, graph.try_out(shown.ids, len(shown.pictures)))
        except PromptError as error:
            raise BundleError(f"roles.{role}: {error}") from error
        self.executor = self._graphs.first.executor
        self.notice = next((graph.notice for graph in made if graph.notice), "")

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        """Probability of each label.

        A prompt beyond the model's length goes without the pictures of entries, then loses the end of its longest data.
        """
        graph = self._graph(pictures)
        return self._named(graph, await graph.logits(lambda: self._asked(graph, pictures, values)))

    async def look_at(self, picture: Picture) -> None:
        """Bring a picture into the model's form, which a prompt about it then need not do."""
        await self._graph([picture]).look_at(picture)

    def _graph(self, pictures: Sequence[Picture]) -> VisionGraph:
        """For the size that suits the first picture, which all of a prompt's are brought to."""
        return self._graphs.fitting(pictures[0].width, pictures[0].height) if pictures else self._graphs.first

    def _asked(self, graph: VisionGraph, pictures: Sequence[Picture], values: Values) -> VisionPrompt:
        prompt = self._prompt(graph, min(len(pictures), self._spec.takes), values)
        shown = [pictures[segment.picture] for segment in prompt if segment.kind is SegmentKind.IMAGE]
        if len(shown) > self._spec.takes:
            raise PromptError(f"prompt template {self._template.name}: shows {len(shown)} pictures of {len(pictures)}")
        ids = encode_within(self._tokenizer, prompt, graph.span, self._spec.max_tokens)
        return VisionPrompt(ids, tuple(shown))

    def _prompt(self, graph: VisionGraph, count: int, values: Values) -> Prompt:
        """The prompt with so many pictures; with the first alone where it would be too long otherwise."""
        given = filled(values)
        prompt = self._template.render(pictures=count, **given)
        if count > 1 and len(self._tokenizer.encode(prompt, graph.span)) > self._spec.max_tokens:
            prompt = self._template.render(pictures=1, **given)
        return prompt

    def _named(self, graph: VisionGraph, logits: NDArray[np.float32]) -> list[tuple[str, float]]:
        return _named(
            [name for name, _ in self._spec.labels], label_probabilities(self._spec, logits[None], graph.name)[0]
        )


class TextDecider:
    """Chooses by a text model's logits after a prompt; pictures do not reach it."""

    shows_several = False

    def __init__(self, role: str, spec: TextScorer, loading: Loading) -> None:
        """Load, and run once."""
        check_labels(role, [name for name, _ in spec.labels])
        tokenizer, path = shared_tokenizer(spec.tokenizer, loading), loading.files.path(spec.prompt)
        prompt = scorer_prompt(role, spec.labels, tokenizer, path, None)
        self._spec, self._tokenizer, self._template = spec, prompt.tokenizer, prompt.template
        self.needs = prompt.template.names
        self._scorer = SharingScorer.shared(spec, loading)
        self.executor = self._scorer.executor
        try:
            self._named(self._scorer.run([self._part(EXAMPLE)])[0].logits)
        except PromptError as error:
            raise BundleError(f"roles.{role}: {error}") from error

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        """Probability of each label; a prompt beyond the model's length loses the end of its longest data."""
        (result,) = await self._scorer.batcher.run(lambda: [self._part(values)])
        return self._named(result.logits)

    async def look_at(self, picture: Picture) -> None:
        """There is nothing to do."""

    def _part(self, values: Values) -> PromptPart:
        prompt = self._template.render(pictures=0, **filled(values))
        return PromptPart(encode_within(self._tokenizer, prompt, [], self._spec.max_tokens))

    def _named(self, logits: NDArray[np.float32]) -> list[tuple[str, float]]:
        names = [name for name, _ in self._spec.labels]
        return _named(names, label_probabilities(self._spec, logits[None], self._scorer.name)[0])


class LinearDecider:
    """Chooses by weighted sums of numbers."""

    executor = "cpu"
    shows_several = False

    def __init__(self, role: str, spec: LinearDeciderPart) -> None:
        """BundleError where a label does not fit the role."""
        check_labels(role, spec.labels)
        self._role, self._spec = role, spec
        self.needs = frozenset(spec.features)

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        """Probability of each label; EngineFailed names a feature that is not there."""
        numbers = np.array([self._number(values, feature) for feature in self._spec.features])
        sums = np.array(self._spec.weights) @ numbers + np.array(self._spec.bias)
        return _named(self._spec.labels, softmax(sums))

    async def look_at(self, picture: Picture) -> None:
        """There is nothing to do."""

    def _number(self, values: Mapping[str, Value], feature: str) -> float:
        value = values.get(feature)
        if value is None:
            there = ", ".join(sorted(values)) or "nothing"
            raise EngineFailed(f"roles.{self._role}: feature {feature!r} is missing; there is {there}")
        if isinstance(value, int | float):
            return float(value)
        return float(len(value.split() if isinstance(value, str) else value))


def _named(labels: Sequence[str], probabilities: NDArray[np.float64]) -> list[tuple[str, float]]:
    return list(zip(labels, map(float, probabilities), strict=True))
