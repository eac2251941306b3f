"""Inputs for the parity check: questions about pictures, with evidence and passages to rerank.

General ones are short English questions about well-known things. Random ones are enough to compare an untrained model
with its export.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from PIL import Image

from quizglass_bundle.inputs.prompts import PromptValue, filled
from quizglass_bundle.inputs.resizing import RGB

SEED = 90_210
_THINGS = (
    ("Mount Everest", "mountain", (("height", "8,849 metres"), ("country", "Nepal"), ("first ascent", "1953"))),
    ("the Eiffel Tower", "tower", (("height", "330 metres"), ("city", "Paris"), ("architect", "Stephen Sauvestre"))),
    ("gold", "metal", (("symbol", "Au"), ("melting point", "1,064 °C"), ("atomic number", "79"))),
    ("the giant panda", "animal", (("diet", "bamboo"), ("country", "China"), ("usual weight", "100 kilograms"))),
    ("Saturn", "planet", (("number of rings", "seven"), ("largest moon", "Titan"), ("length of a year", "29 years"))),
    ("the Mona Lisa", "painting", (("painter", "Leonardo da Vinci"), ("museum", "the Louvre"), ("support", "poplar"))),
    ("espresso", "drink", (("country", "Italy"), ("main ingredient", "coffee"), ("usual size", "30 millilitres"))),
    ("the Danube", "river", (("length", "2,850 kilometres"), ("mouth", "the Black Sea"), ("source", "Germany"))),
)
"""Name, kind and facts of each thing that `general_samples` asks about."""
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


def general_samples(count: int, seed: int = SEED) -> list[ParitySample]:
    """Questions about well-known things with true and with unrelated passages; equal seeds give equal samples."""
    rng = random.Random(seed)
    samples = []
    for index in range(count):
        thing, kind, facts = _THINGS[index % len(_THINGS)]
        (name, value), (other, its) = rng.sample(facts, 2)
        wrong, _, wrong_facts = _THINGS[(index + rng.randint(1, len(_THINGS) - 1)) % len(_THINGS)]
        told = f"The {name} of {thing} is {value}. The {other} is {its}."
        beside = f"The {wrong_facts[0][0]} of {wrong} is {wrong_facts[0][1]}."
        samples.append(
            ParitySample(
                picture=_drawn(rng),
                question=f"What is the {name} of this {kind}?",
                query=f"What is the {name} of {thing}?",
                history=((f"What is this {kind} called?", thing),) if index % 3 == 0 else (),
                words=thing if index % 4 == 1 else "",
                seen=(f"{thing}, a {kind}",) if index % 2 else (),
                found=(told,) if index % 3 else (),
                passages=(f"{thing}: {told}", f"{wrong}: {beside}"),
            )
        )
    return samples


def _drawn(rng: random.Random) -> RGB:
    """A blurred pattern of a few colours: like a photograph neither noise nor plain."""
    coarse = np.array([[[rng.randint(0, 255) for _ in range(3)] for _ in range(5)] for _ in range(4)], dtype=np.uint8)
    size = rng.choice(((320, 240), (240, 320), (448, 448)))
    return np.asarray(Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC), dtype=np.uint8)


def long_passage(samples: Sequence[ParitySample]) -> str:
    """Passages in a row, up to 400 words: what a model does beyond a sliding window shows in no short text."""
    return " ".join(" ".join(passage for sample in samples for passage in sample.passages).split()[:_LONG])


SOURCES: dict[str, Callable[[int, int], Sequence[ParitySample]]] = {
    "general": general_samples,
    "random": random_samples,
}


class LazySamples(Sequence[ParitySample]):
    """Samples that are drawn when first read: a build that finds its steps finished needs none."""

    def __init__(self, draw: Callable[[], Sequence[ParitySample]]) -> None:
        self._draw = draw

    @cached_property
    def _drawn(self) -> Sequence[ParitySample]:
        return self._draw()

    def __len__(self) -> int:
        return len(self._drawn)

    @overload
    def __getitem__(self, index: int) -> ParitySample: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ParitySample]: ...

    def __getitem__(self, index: int | slice) -> ParitySample | Sequence[ParitySample]:
        return self._drawn[index]
