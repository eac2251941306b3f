"""Worlds to measure on: never trained on, half of the questions about things no model has seen."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TypeVar

from rich.progress import Progress

from bench.fingerprints import code
from quizglass_client import Client
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_lab import pocketworld
from quizglass_lab.pocketworld.dataset import SCENE_SIZE, build_world, write_entries
from quizglass_lab.pocketworld.disputes import EACH, with_disputes
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.names import CORE_THINGS
from quizglass_lab.pocketworld.questions import Question, make_conflicts, make_questions, make_unknowable
from quizglass_lab.pocketworld.world import World
from quizglass_server import knowledge

Way = TypeVar("Way")

UNSEEN_SHARE = 0.5
_FRESH = 2**31
"""Training draws its worlds from smaller seeds."""


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


def prepare(seed: int, things: int, questions: int, folder: Path, *, format: int = 1, mix: str = "balanced") -> Trial:
    """Draw a world of `things` things, the trained core among them, and write its entries.

    Args:
        seed: of the world and the questions.
        things: how many there are.
        questions: how many are asked, and a tenth more that nothing answers.
        folder: where the entries are written, once; all that lies there of an older version's is deleted.
        format: of the world, as `quizglass-lab pocketworld` has it.
        mix: of the questions, likewise.

    Raises:
        ValueError: too few things to hold the core.
    """
    world = _drawn(seed, things, format)
    _write(world, folder)
    asked = make_questions(world, questions, seed, unseen_share=UNSEEN_SHARE, format=format, mix=mix)
    return Trial(seed, world, folder, asked, make_unknowable(world, questions // 10, seed, format=format))


def prepare_disputed(seed: int, things: int, questions: int, folder: Path, each: int = EACH) -> Trial:
    """The same world of format 2 with up to `each` disputes of every kind, and questions about them, kinds in turn."""
    world = with_disputes(_drawn(seed, things, 2), each)
    _write(world, folder)
    return Trial(seed, world, folder, make_conflicts(world, questions, seed), [])


def _drawn(seed: int, things: int, format: int) -> World:
    if things <= CORE_THINGS:
        raise ValueError(f"things: {things} leaves no room beside the {CORE_THINGS} trained ones")
    return build_world(seed, things - CORE_THINGS, core=True, format=format)


def _write(world: World, folder: Path) -> None:
    """Once for each version of the code that draws and stores worlds; what servers made of another goes with it."""
    made = folder / "drawn-by"
    if not made.is_file() or made.read_text(encoding="utf-8") != _drawer():
        shutil.rmtree(folder, ignore_errors=True)
        write_entries(world, folder)
        made.write_text(_drawer(), encoding="utf-8")


def _drawer() -> str:
    """Names the version of the code that draws worlds and of that which stores them.

    A world of another one has other entries for the same seed, or a server cut its texts into other passages.
    """
    return code(pocketworld, knowledge)


def in_own_order(question: str, ways: Sequence[Way]) -> list[Way]:
    """What a question, by its name, is asked of, in an order that is drawn for it.

    What a question needs comes in turn: ways that took turns by the question's number would take one order with all
    questions of a kind.
    """
    return Random(question).sample(ways, len(ways))


def picture(question: Question) -> bytes:
    """The question's picture as PNG."""
    out = io.BytesIO()
    draw_scene(question.scene, SCENE_SIZE).save(out, "PNG", compress_level=1)
    return out.getvalue()


def load(target: str, folder: Path, bars: Progress) -> None:
    """Import the world's entries, unless the knowledge directory has them from a run before."""
    lines = read_entries(folder / "entries.jsonl")
    entries = [line.entry for line in lines if isinstance(line, GoodLine)]
    with Client(target) as client:
        if client.capabilities().entries == len(entries):
            return
        task = bars.add_task(f"{folder.name}: import", total=len(entries))
        report = client.add_entries(entries, on_progress=lambda so_far: bars.update(task, completed=so_far.added))
    if report.refused:
        raise RuntimeError(f"{len(report.refused)} entries were refused, the first: {report.refused[0]}")


def fresh_seeds(count: int) -> list[int]:
    """Seeds that were unknown while this code was written: drawn from its commit's hash.

    Raises:
        subprocess.CalledProcessError: this is no checkout.
    """
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True).stdout
    return [_FRESH + int(sha256(f"{commit.strip()} {place}".encode()).hexdigest()[:6], 16) for place in range(count)]
