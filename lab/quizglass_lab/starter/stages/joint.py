"""Stage 3: pictures and language together, in the mixture of prompts that a server makes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.starter.data.batches import bucketed
from quizglass_lab.starter.data.examples import Encoded, Encoder
from quizglass_lab.starter.data.quiz import Quiz
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.data.tasks.calculating import Calculating
from quizglass_lab.starter.data.tasks.comparing import Comparing
from quizglass_lab.starter.data.tasks.mixed import GeneratorTasks
from quizglass_lab.starter.data.tasks.sorts import walks
from quizglass_lab.starter.loop.training import Meter, Pictures, exact, fit, predict, shown
from quizglass_lab.starter.model.precision import autocast, device_of
from quizglass_lab.starter.model.vlm import Model, picture_features
from quizglass_lab.starter.stages.mixture import JointBatches

BATCH_TOKENS = 4096
GROUNDING_RATE, RATE = 1.2e-3, 8e-4
_VISION, _VISION_SCALE = "model.visual", 0.5
_SCALED_BY = 200
"""Pictures whose features, on average, say how the features of all pictures are scaled."""
_MEASURED = 500
"""Most stored questions that the base is measured on."""
_QUIZZED = 6
"""Questions about one scene."""


def train_joint(
    model: Model,
    batches: JointBatches,
    store: Pictures,
    folder: Path,
    minutes: float,
    *,
    rate: float,
    workers: int = 0,
) -> Meter:
    """Train everything in place, the vision part more slowly. Resumable from `folder`."""
    scales = {_VISION: _VISION_SCALE}
    return fit(model, batches, folder, minutes, rate=rate, store=store, scales=scales, workers=workers)


@torch.no_grad()
def match_scale(model: Model, images: Pictures) -> None:
    """Bring picture features to the scale of word embeddings, where the language part can work on them."""
    features = picture_features(model, shown(images, np.arange(_SCALED_BY), device_of(model)))
    words = model.model.language_model.embed_tokens.weight
    factor = 1.5 * words.square().mean().sqrt() / features.square().mean().sqrt()
    last = model.model.visual.merger.mlp[2]
    last.weight.mul_(factor)
    last.bias.mul_(factor)


@torch.no_grad()
def evaluate(model: Model, groups: Sequence[Sequence[Encoded]], encoder: Encoder, store: Pictures) -> dict[str, float]:
    """Share of exact greedy answers by task, over encoded groups."""
    hits: dict[str, list[float]] = {}
    device = device_of(model)
    for batch in (batch.to(device) for batch in bucketed(groups, encoder, 2 * BATCH_TOKENS)):
        with autocast(device.type):
            right = exact(predict(model, batch, store), batch)
        for task, hit in zip(batch.tasks, right.tolist(), strict=True):
            hits.setdefault(task, []).append(float(hit))
    return {task: round(float(np.mean(values)), 4) for task, values in sorted(hits.items())}


def held_out_quizzes(scenes: Iterable[Scene], encoder: Encoder, seed: int) -> list[list[Encoded]]:
    """Some questions about what each of some scenes shows; their pictures are numbered in this order."""
    quiz = Quiz(random.Random(seed))
    groups = [encoder.encode_all(quiz.group(scene, row, _QUIZZED)) for row, scene in enumerate(scenes)]
    return [group for group in groups if group]


def held_out_groups(asked: Asked, encoder: Encoder, seed: int) -> list[list[Encoded]]:
    """Every kind of prompt about some stored questions, on the pictures of `asked` alone, and comparisons."""
    rng = random.Random(seed)
    every = list(enumerate(zip(asked.questions, asked.libraries, strict=True)))
    tasks = {id(library): GeneratorTasks(library, rng) for library in asked.worlds}
    comparing, calculating = Comparing(rng), Calculating(rng)
    groups: list[list[Encoded]] = []
    for row, (question, library) in rng.sample(every, min(_MEASURED, len(every))):
        made = [*tasks[id(library)].every(question, row), tasks[id(library)].despite_hits(question, row)]
        made += [tasks[id(library)].turn(question, row)] if walks(question, library) else []
        groups += [encoder.encode_all(examples) for examples in made]
        if row % 4 == 0:
            groups += [
                encoder.encode_all(examples)
                for examples in (
                    *(comparing.told(), comparing.read(library)),
                    *(calculating.plain(), calculating.told(), calculating.read(library)),
                )
            ]
    return [group for group in groups if group]
