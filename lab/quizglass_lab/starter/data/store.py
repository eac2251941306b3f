"""Questions with their rendered pictures, made once and asked in many situations."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_lab.pocketworld.disputes import with_disputes
from quizglass_lab.pocketworld.questions import (
    Question,
    make_conflicts,
    make_questions,
    make_sessions,
    make_unknowable,
)
from quizglass_lab.pocketworld.world import core_world, make_world, with_core
from quizglass_lab.starter.data.drawing import render_all
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.processes import in_processes

BLOCK = 440
"""About how many questions there are of one world: a balanced set, one of several lookups, one about what sources
disagree on, sessions, one that the base can mostly answer itself, and some unanswerable ones."""
FIRST_FORMAT = 5
"""Every so many blocks one is of format 1."""
_UNKNOWABLE = 40
_OF_LOOKUPS = 80
_OF_CONFLICTS = 36
_SESSIONS = 8
_CASES = 6
"""Disputes of each kind in a world."""


@dataclass(frozen=True)
class Asked:
    """Questions and their pictures, row by row; `libraries` are the worlds they belong to."""

    questions: list[Question]
    libraries: list[Library]
    pictures: NDArray[np.uint8]

    @property
    def worlds(self) -> tuple[Library, ...]:
        """Each of the libraries once."""
        return tuple(dict.fromkeys(self.libraries))


Part = tuple[list[Question], Library]


def _block(world_of: tuple[int, int], *, unseen_share: float, own: int) -> list[Part]:
    """A world of this seed and format; the recognised things' own questions are of its format too."""
    seed, number = world_of
    core = core_world(number)
    world = with_core(make_world(seed, 90, format=number), core)
    lookups, conflicts = (_OF_LOOKUPS, _OF_CONFLICTS) if number == 2 else (0, 0)
    sessions = 4 * _SESSIONS if number == 2 else 0
    balanced = BLOCK - own - lookups - conflicts - sessions - _UNKNOWABLE
    questions = make_questions(world, balanced, seed, unseen_share=unseen_share, format=number)
    if lookups:
        questions += make_questions(world, lookups, seed, unseen_share=unseen_share, format=number, mix="cog")
        questions += make_sessions(world, _SESSIONS, seed, unseen_share=unseen_share)
    if own:
        questions += make_questions(core, own, seed, groups=("none", "text"), format=number)
    parts = [(questions + make_unknowable(world, _UNKNOWABLE, seed, format=number), Library(world))]
    if conflicts:
        disputed = with_disputes(world, _CASES)
        parts.append((make_conflicts(disputed, conflicts, seed), Library(disputed)))
    for _, library in parts:
        library.write_articles()  # here, where several processes do it
    return parts


def blocks(
    first_seed: int, count: int, *, unseen_share: float = 0.5, own: int = 120, workers: int = 1
) -> Iterator[Part]:
    """`count` blocks of questions, each of its own world; what is in dispute comes with a world of its own."""
    numbers = [1 if index % FIRST_FORMAT == FIRST_FORMAT - 1 else 2 for index in range(count)]
    make = functools.partial(_block, unseen_share=unseen_share, own=own)
    for parts in in_processes(make, [(first_seed + index, number) for index, number in enumerate(numbers)], workers):
        yield from parts


@functools.lru_cache(maxsize=3)  # of a training: the base's, the decider's and those held out
def asked(
    folder: Path, first_seed: int, count: int, *, unseen_share: float = 0.5, own: int = 120, workers: int = 1
) -> Asked:
    """`count` blocks, rendered once into `folder`."""
    questions: list[Question] = []
    libraries: list[Library] = []
    for block, library in blocks(first_seed, count, unseen_share=unseen_share, own=own, workers=workers):
        questions.extend(block)
        libraries.extend([library] * len(block))
    path = folder / f"questions-{first_seed}-{count}.npy"
    pictures = render_all((question.scene for question in questions), len(questions), path, first_seed, workers)
    return Asked(questions, libraries, pictures)
