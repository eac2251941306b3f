"""Stage 3: pictures and language together, in the mixture of prompts that a server makes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from quizglass_export.pocketworld.question import Question
from quizglass_export.pocketworld.scenes import Scene
from quizglass_export.starter.data.batches import Batch, bucketed
from quizglass_export.starter.data.examples import Encoded, Encoder, Example
from quizglass_export.starter.data.knowing import missing_names
from quizglass_export.starter.data.library import Library
from quizglass_export.starter.data.quiz import Quiz
from quizglass_export.starter.data.reading import TextSource, printed, repeating
from quizglass_export.starter.data.renaming import Renaming
from quizglass_export.starter.data.store import Asked
from quizglass_export.starter.data.tasks.comparing import Comparing
from quizglass_export.starter.data.tasks.mixed import GeneratorTasks
from quizglass_export.starter.loop.training import Meter, Pictures, exact, fit, predict
from quizglass_export.starter.model.precision import autocast
from quizglass_export.starter.model.vlm import Model, picture_features

BATCH_TOKENS = 4096
RATE = 8e-4
_VISION_SCALE = 0.5
_POOL = 360
_MEASURED = 500
"""Questions."""
_RENAMED = 0.8
"""Share of the situations whose things get other names."""


@dataclass(frozen=True)
class Mixture:
    """What a pool is made of: quizzes first, in a share that goes from `quizzes[0]` to `quizzes[1]` over the stage.

    Of the quizzes' pictures, `known` show at least one recognised thing; `questions` are asked about each. Of what is
    not a quiz, `situations` are questions in serving situations, `comparisons` ask which of two is more, the rest is
    text alone. Of the situations, `hits` are about hits for things that are not taught by heart.
    """

    quizzes: tuple[float, float]
    known: float
    questions: int
    situations: float
    hits: float
    comparisons: float
    tokens: int
    """Padded tokens of a batch."""


GROUNDING = Mixture((0.9, 0.8), 0.85, 8, 0.3, 0.0, 0.0, 1700)
"""Small, frequent steps until words follow from what the picture shows; the long prompts come after."""
SERVING = Mixture((0.3, 0.16), 0.6, 6, 0.72, 0.2, 0.12, 3000)
"""The server's mixture."""
FURTHER = replace(SERVING, quizzes=(0.2, 0.12), hits=0.4)
"""Of a base that was trained so before, and sees already."""


class JointBatches:
    """Pools of batches: quizzes about pretraining scenes, questions in serving situations, and text alone."""

    def __init__(
        self, encoder: Encoder, scenes: Sequence[Scene], asked: Asked, seed: int, mixture: Mixture = SERVING
    ) -> None:
        """`scenes` are the first rows of the picture store, the pictures of `asked` follow."""
        self.encoder = encoder
        self.scenes = scenes
        self.asked = asked
        self.mixture = mixture
        self.rng = random.Random(seed)
        self.quiz = Quiz(self.rng)
        self.text = TextSource(seed)
        self._known = [row for row, scene in enumerate(scenes) if any(p.thing.recognised for p in scene.things)]
        self.comparing = Comparing(self.rng)
        self._tasks = {id(library): GeneratorTasks(library, self.rng) for library in asked.libraries}
        self._pointing = [row for row, question in enumerate(asked.questions) if points(question, asked.libraries[row])]
        self._renaming = {id(library): Renaming(library, self.rng) for library in asked.libraries}

    def __call__(self, part: float, meter: Meter) -> Iterator[Batch]:
        """The next pool, for the share of the budget already spent."""
        first, last = self.mixture.quizzes
        quizzes = first + (last - first) * part
        groups = [self.encoder.encode_all(self._group(quizzes)) for _ in range(_POOL)]
        groups += [repeating(self.encoder, self.text.passage()) for _ in range(_POOL // 7)]
        groups += [self.encoder.encode_all(printed(self.rng)) for _ in range(_POOL // 9)]
        batches = bucketed([group for group in groups if group], self.encoder, self.mixture.tokens)
        return iter(self.rng.sample(batches, len(batches)))

    def _group(self, quizzes: float) -> Sequence[Example]:
        draw = self.rng.random()
        if draw < quizzes:
            known = self.rng.random() < self.mixture.known
            row = self.rng.choice(self._known) if known else self.rng.randrange(len(self.scenes))
            return self.quiz.group(self.scenes[row], row, self.mixture.questions)
        draw = self.rng.random()
        if draw < self.mixture.situations:
            return self.situation()
        if draw < self.mixture.situations + self.mixture.comparisons:
            return self.comparison()
        return self.text.group()

    def situation(self) -> Sequence[Example]:
        """Prompts of one kind about one stored question."""
        hits = bool(self._pointing) and self.rng.random() < self.mixture.hits
        row = self.rng.choice(self._pointing) if hits else self.rng.randrange(len(self.asked.questions))
        question, library = self.asked.questions[row], id(self.asked.libraries[row])
        tasks = self._tasks[library]
        examples = (tasks.beside_hits if hits else tasks.group)(question, len(self.scenes) + row)
        if question.conflict is not None or self.rng.random() >= _RENAMED:
            return examples
        return self._renaming[library].renamed(examples)

    def comparison(self) -> Sequence[Example]:
        """Which of two is more: of plain numbers, of short passages, of those of a world."""
        draw = self.rng.random()
        if draw < 0.2:
            return self.comparing.plain(6)
        return self.comparing.told() if draw < 0.6 else self.comparing.read(self.rng.choice(self.asked.libraries))


def points(question: Question, library: Library) -> bool:
    """Whether a question points at something in its picture that is not taught by heart, and can be found."""
    thing = library.things.get(question.target or "")
    shown = {placed.thing.id for placed in question.scene.things}
    if thing is None or thing.recognised or thing.id not in shown or question.conflict is not None:
        return False
    return library.findable(thing) and bool(missing_names(question) or question.image_answer == question.answer)


def train_joint(
    model: Model,
    batches: JointBatches,
    store: Pictures,
    folder: Path,
    minutes: float,
    *,
    rate: float,
) -> Meter:
    """Train everything in place, the vision part more slowly. Resumable from `folder`."""
    scales = {"model.visual": _VISION_SCALE}
    return fit(model, batches, folder, minutes, pad=batches.encoder.pad, rate=rate, store=store, scales=scales)


@torch.no_grad()
def match_scale(model: Model, images: Pictures) -> None:
    """Bring picture features to the scale of word embeddings, where the language part can work on them."""
    features = picture_features(model, torch.from_numpy(images[np.arange(200)]))
    words = model.model.language_model.embed_tokens.weight
    factor = 1.5 * words.square().mean().sqrt() / features.square().mean().sqrt()
    last = model.model.visual.merger.mlp[2]
    last.weight.mul_(factor)
    last.bias.mul_(factor)


@torch.no_grad()
def evaluate(model: Model, groups: Sequence[Sequence[Encoded]], encoder: Encoder, store: Pictures) -> dict[str, float]:
    """Share of exact greedy answers by task, over encoded groups."""
    hits: dict[str, list[float]] = {}
    for batch in bucketed(groups, encoder, 2 * BATCH_TOKENS):
        with autocast():
            right = exact(predict(model, batch, encoder.pad, store), batch)
        for task, hit in zip(batch.tasks, right.tolist(), strict=True):
            hits.setdefault(task, []).append(float(hit))
    return {task: round(float(np.mean(values)), 4) for task, values in sorted(hits.items())}


def held_out_groups(asked: Asked, encoder: Encoder, seed: int) -> list[list[Encoded]]:
    """Every kind of prompt about some stored questions, on the pictures of `asked` alone, and comparisons."""
    rng = random.Random(seed)
    every = list(enumerate(zip(asked.questions, asked.libraries, strict=True)))
    tasks = {id(library): GeneratorTasks(library, rng) for library in asked.libraries}
    comparing = Comparing(rng)
    groups: list[list[Encoded]] = []
    for row, (question, library) in rng.sample(every, min(_MEASURED, len(every))):
        groups += [encoder.encode_all(examples) for examples in tasks[id(library)].every(question, row)]
        if row % 4 == 0:
            groups += [
                encoder.encode_all(examples)
                for examples in (comparing.plain(), comparing.told(), comparing.read(library))
            ]
    return [group for group in groups if group]
