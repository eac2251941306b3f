"""Questions with their rendered pictures, made once and asked in many situations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_export.pocketworld.questions import Question, make_questions, make_unknowable
from quizglass_export.pocketworld.world import core_world, make_world, with_core
from quizglass_export.starter.data.library import Library
from quizglass_export.starter.data.pictures import render_all

BLOCK = 440
"""Questions of one world: a balanced set, a set that the base can answer itself, and some nobody can."""


@dataclass(frozen=True)
class Asked:
    """Questions and their pictures, row by row; `libraries` are the worlds they belong to."""

    questions: list[Question]
    libraries: list[Library]
    pictures: NDArray[np.uint8]


def _block(seed: int, *, unseen_share: float, own: int) -> tuple[list[Question], Library]:
    world = with_core(make_world(seed, 90), core_world())
    balanced = make_questions(world, BLOCK - own - 30, seed, unseen_share=unseen_share)
    recognised = make_questions(core_world(), own, seed, groups=("none", "text")) if own else []
    return balanced + recognised + make_unknowable(world, 30, seed), Library(world)


def blocks(
    first_seed: int, count: int, *, unseen_share: float = 0.5, own: int = 120
) -> Iterator[tuple[list[Question], Library]]:
    """`count` blocks of questions, each of its own world."""
    for index in range(count):
        yield _block(first_seed + index, unseen_share=unseen_share, own=own)


def asked(
    folder: Path, first_seed: int, count: int, *, unseen_share: float = 0.5, own: int = 120, workers: int = 1
) -> Asked:
    """`count` blocks, rendered once into `folder`."""
    questions: list[Question] = []
    libraries: list[Library] = []
    for made, library in blocks(first_seed, count, unseen_share=unseen_share, own=own):
        questions.extend(made)
        libraries.extend([library] * len(made))
    path = folder / f"questions-{first_seed}-{count}.npy"
    pictures = render_all((question.scene for question in questions), len(questions), path, first_seed, workers)
    return Asked(questions, libraries, pictures)
