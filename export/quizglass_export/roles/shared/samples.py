"""Inputs for the parity check: questions about pictures, with evidence and passages to rerank.

Real ones come from pocketworld. Random ones are enough to compare an untrained model with its export.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from quizglass_server.domain.turns import RGB
from quizglass_server.models.prompts import PromptValue, filled

SEED = 90_210
"""Seed of the worlds that parity samples come from; no training uses it."""
SCENE_PIXELS = 448
_LONG = 400
"""Words: as many as longer windows of attention than are usual, and few enough to run in float32."""


@dataclass(frozen=True, slots=True)
class ParitySample:
    """One question as the models meet it in a turn."""

    picture: RGB
    question: str
    query: str
    """The question rewritten to stand alone."""
    history: tuple[tuple[str, str], ...]
    words: str
    seen: tuple[str, ...]
    found: tuple[str, ...]
    """Evidence as the generator reads it; often none."""
    passages: tuple[str, ...]
    """What the text encoder embeds and the reranker scores against the query; never empty."""

    def turns(self) -> list[dict[str, str]]:
        """The dialogue so far as prompt templates take it."""
        return [{"question": question, "answer": answer} for question, answer in self.history]

    def values(self, **more: PromptValue) -> dict[str, PromptValue]:
        """What a prompt is filled from in a turn about this question."""
        return filled(
            {
                "question": self.question,
                "history": self.turns(),
                "words": self.words,
                "query": self.query,
                "queries": [self.query],
                "seen": list(self.seen),
                "found": list(self.found),
                "evidence": [*self.seen, *self.found],
                "passage": self.passages[0],
                **more,
            }
        )


def random_samples(count: int, seed: int = SEED) -> list[ParitySample]:
    """Noise pictures of several sizes, with sentences of made-up words; equal seeds give equal samples."""
    rng = random.Random(seed)
    noise = np.random.default_rng(seed)

    def sentence(words: int) -> str:
        letters = ("".join(rng.choices("abdegiklmnoprstuv", k=rng.randint(2, 7))) for _ in range(words))
        return " ".join(letters).capitalize() + rng.choice((".", "?", f" {rng.randint(1, 2000)}."))

    samples = []
    for index in range(count):
        passages = tuple(sentence(rng.randint(8, 40)) for _ in range(1 + index % 3))
        height, width = rng.choice(((112, 112), (150, 90), (96, 224)))
        samples.append(
            ParitySample(
                picture=noise.integers(0, 256, (height, width, 3), dtype=np.uint8),
                question=sentence(rng.randint(3, 12)),
                query=sentence(rng.randint(5, 12)),
                history=tuple((sentence(5), sentence(2)) for _ in range(index % 3)),
                words=sentence(2) if index % 4 == 0 else "",
                seen=tuple(sentence(7) for _ in range(index % 2)),
                found=passages[: index % 3],
                passages=passages,
            )
        )
    return samples


def pocketworld_samples(count: int, seed: int = SEED, things: int = 120) -> list[ParitySample]:
    """Questions about a world with the core's things and new ones.

    Each has its gold evidence, where its group looks anything up, and among the passages a wrong one.
    """
    from quizglass_lab.pocketworld.articles import world_articles
    from quizglass_lab.pocketworld.draw import draw_scene
    from quizglass_lab.pocketworld.names import CORE_SEED, CORE_THINGS
    from quizglass_lab.pocketworld.questions import make_questions
    from quizglass_lab.pocketworld.world import make_world, with_core

    world = with_core(make_world(seed, things), make_world(CORE_SEED, CORE_THINGS))
    articles = {article.id: article for article in world_articles(world)}
    others = sorted(articles)
    rng = random.Random(seed)
    samples = []
    for question in make_questions(world, count, seed):
        gold = [articles[entry] for entry in question.gold_entries if entry in articles]
        told = [(article.title, _telling(article.paragraphs, question.answer)) for article in gold]
        wrong = articles[rng.choice(others)]
        target = articles.get(question.target or "")
        samples.append(
            ParitySample(
                picture=np.asarray(draw_scene(question.scene, SCENE_PIXELS).convert("RGB"), dtype=np.uint8),
                question=question.text,
                query=question.gold_query,
                history=question.history,
                words=question.words or "",
                seen=(target.caption,) if target and question.group in ("image", "both") else (),
                found=tuple(text for _, text in told) if question.group in ("text", "both") else (),
                passages=tuple(f"{title}: {text}" for title, text in (*told, (wrong.title, wrong.paragraphs[0]))),
            )
        )
    return samples


def _telling(paragraphs: Sequence[str], answer: str) -> str:
    """The paragraph that holds the answer, else the first."""
    return next((text for text in paragraphs if answer in text), paragraphs[0])


def long_passage(samples: Sequence[ParitySample]) -> str:
    """Passages in a row, up to 400 words: what a model does beyond a sliding window shows in no short text."""
    return " ".join(" ".join(passage for sample in samples for passage in sample.passages).split()[:_LONG])


SOURCES = {"pocketworld": pocketworld_samples, "random": random_samples}


def draw_samples(source: str, count: int) -> Sequence[ParitySample]:
    """Samples from one of `SOURCES`."""
    return SOURCES[source](count)


class LazySamples(Sequence[ParitySample]):
    """Samples that are drawn when first asked for: a build that finds its steps finished needs none."""

    def __init__(self, source: str, count: int) -> None:
        self._source, self._count = source, count

    @cached_property
    def _drawn(self) -> Sequence[ParitySample]:
        return draw_samples(self._source, self._count)

    def __len__(self) -> int:
        return len(self._drawn)

    @overload
    def __getitem__(self, index: int) -> ParitySample: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ParitySample]: ...

    def __getitem__(self, index: int | slice) -> ParitySample | Sequence[ParitySample]:
        return self._drawn[index]
