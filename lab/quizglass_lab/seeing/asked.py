"""Questions about pictures of endless worlds, with the passages that answer them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import core_world, make_world, with_core
from quizglass_lab.retrieval.pairs import Pair, PassageLibrary
from quizglass_lab.retrieval.shapes import IMAGE_SIZE
from quizglass_lab.seeing.scenes import FINE_SHARE, QUICK_SIZE, SCENE_SIZE, draw

WORLDS = 4_500_000
"""First seed of the worlds that are asked about."""
_FORMAT, _THINGS, _QUESTIONS = 2, 200, 240


@dataclass(frozen=True)
class Exam:
    """A world's passages, and questions that they answer."""

    library: PassageLibrary
    questions: Sequence[tuple[Question, Pair]]
    others: Sequence[Question]
    """Those that no passage answers."""

    @classmethod
    def of(cls, seed: int, things: int, questions: int, *, core: bool = False) -> Exam:
        """The exam of a world; with `core`, of one mixed with the things known by heart."""
        world = make_world(seed, things, format=_FORMAT)
        library = PassageLibrary(with_core(world, core_world(_FORMAT)) if core else world)
        asked = make_questions(library.world, questions, seed, format=_FORMAT)
        pairs = [(question, library.pair(question)) for question in asked]
        return cls(
            library,
            [(question, pair) for question, pair in pairs if pair is not None],
            [question for question, pair in pairs if pair is None],
        )

    @cached_property
    def all(self) -> list[Question]:
        """Every question."""
        return [*(question for question, _ in self.questions), *self.others]


def exams(rng: random.Random) -> Iterator[Exam]:
    """Endless ones; every third with the things known by heart."""
    while True:
        yield Exam.of(WORLDS + rng.getrandbits(18), _THINGS, _QUESTIONS, core=rng.random() < 1 / 3)


def pictures(questions: Sequence[Question], rng: random.Random | None = None) -> NDArray[np.uint8]:
    """Their scenes, uint8 [N, 112, 112, 3]: drawn as they are served, or with `rng` mostly with less work."""
    quick = [rng is not None and rng.random() > FINE_SHARE for _ in questions]
    sizes = (QUICK_SIZE if each else SCENE_SIZE for each in quick)
    return np.stack([draw(each.scene, IMAGE_SIZE, size).pixels for each, size in zip(questions, sizes, strict=True)])
