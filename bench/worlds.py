"""Worlds to measure on: never trained on, half of the questions about things no model has seen."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from quizglass_export.pocketworld.dataset import SCENE_SIZE, build_world, write_entries
from quizglass_export.pocketworld.draw import draw_scene
from quizglass_export.pocketworld.questions import Question, make_questions, make_unknowable
from quizglass_export.pocketworld.world import CORE_THINGS, World

UNSEEN_SHARE = 0.5


@dataclass(frozen=True)
class Trial:
    """A world on disk and the questions about it."""

    seed: int
    world: World
    folder: Path
    questions: list[Question]
    unknowable: list[Question]

    @property
    def unseen(self) -> frozenset[str]:
        """Ids of the things that no model was trained on."""
        return frozenset(thing.id for thing in self.world.things if thing.id.startswith(f"w{self.seed}-"))


def prepare(seed: int, things: int, questions: int, folder: Path) -> Trial:
    """Draw a world of `things` things, the trained core among them, and write its entries.

    Raises:
        ValueError: too few things to hold the core.
    """
    if things <= CORE_THINGS:
        raise ValueError(f"things: {things} leaves no room beside the {CORE_THINGS} trained ones")
    world = build_world(seed, things - CORE_THINGS, core=True)
    if not (folder / "entries.jsonl").exists():
        write_entries(world, folder)
    asked = make_questions(world, questions, seed, unseen_share=UNSEEN_SHARE)
    return Trial(seed, world, folder, asked, make_unknowable(world, questions // 10, seed))


def picture(question: Question) -> bytes:
    """The question's picture as PNG."""
    out = io.BytesIO()
    draw_scene(question.scene, SCENE_SIZE).save(out, "PNG", compress_level=1)
    return out.getvalue()
