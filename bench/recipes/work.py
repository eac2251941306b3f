"""The steps of a recipe, each by the project's own command in a process of its own, and kept where it is finished."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.worlds import UNSEEN_SHARE
from quizglass_client import Client
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_client.local import LocalServer
from quizglass_lab.scoring.answers import exact_match

ROOT = Path(__file__).parents[2]
PROMPTS = ROOT / "export" / "quizglass_export" / "starter" / "prompts"
BASE = "models/starter/checkpoints/base"
_BASE_FILES = (
    *("config.json", "generation_config.json", "model.safetensors"),
    *("special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"),
)
_ASKING = ("--prompts", str(PROMPTS), "--picture", "112x112")
_HELD_OUT = "0.15"
REPORT = "report.json"


@dataclass(frozen=True)
class Setup:
    """What is trained and asked, and where its files are kept."""

    folder: Path
    bundle: Path
    """Whose searches bring evidence."""
    seeds: tuple[int, ...]
    """Of the worlds that planners learn from."""
    fresh: int
    """Of the world that is asked about."""
    things: int
    questions: int
    """In each world that planners learn from."""
    asked: int
    """Questions about the fresh world."""
    say: Callable[[str], None]
    more: Sequence[str] = ()
    """Further flags of every training."""

    @property
    def base(self) -> Path:
        """The starter's base model."""
        return ROOT / BASE


@dataclass(frozen=True)
class Asked:
    """What a policy said to every question of a world that has an answer, in the order of the world."""

    right: list[bool]
    plans: list[str]
    needs: list[str]
    """Where each question needs to look, by the world's construction."""
    image_searches: float
    """A turn, like the next."""
    text_searches: float

    @property
    def accuracy(self) -> float:
        """In percent."""
        return 100 * sum(self.right) / len(self.right)


def claim(folder: Path, **settings: object) -> None:
    """Take a folder for steps that are made with these settings.

    Raises:
        SystemExit: it has steps that were made with others, which would be told as if they were of these.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made, wanted = folder / "settings.json", json.loads(json.dumps(settings))
    before = json.loads(made.read_text(encoding="utf-8")) if made.is_file() else wanted
    if others := ", ".join(f"{name} {before.get(name)}" for name in wanted if before.get(name) != wanted[name]):
        raise SystemExit(f"{folder}: its steps were made with {others}; delete it, or name another --workdir")
    made.write_text(json.dumps(wanted), encoding="utf-8")


def command(*words: object) -> dict[str, Any]:
    """Run `quizglass-lab` with these words; gives its report.

    Raises:
        subprocess.CalledProcessError: it failed; what it said stands on the terminal.
    """
    line = [sys.executable, "-m", "quizglass_lab.cli", *map(str, words), "--json"]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def world(setup: Setup, seed: int, questions: int, conflicts: int = 0) -> Path:
    """A world of format 2, half of whose questions are about things that no model was trained on.

    Args:
        conflicts: further questions about sources that disagree. A world has them all or none, so that a seed names it.
    """
    folder = setup.folder / f"world-{seed}"
    if not (folder / "world.json").is_file():
        setup.say(f"world {seed}")
        size = ("--things", setup.things, "--questions", questions, "--unseen-share", UNSEEN_SHARE)
        disputed = ("--conflicts", conflicts, "--unknowable", 0) if conflicts else ()
        command("pocketworld", "--seed", seed, *size, *disputed, "--with-core", "--overwrite", "--out", folder)
    return folder


def notes(setup: Setup) -> Path:
    """Labels of the planner and its examples, by what the base knows of the worlds' questions."""
    folder = setup.folder / "notes"
    if not (folder / REPORT).is_file():
        worlds = [world(setup, seed, setup.questions) for seed in setup.seeds]
        annotated(setup, "planner", worlds, setup.base, folder)
    return folder


def annotated(
    setup: Setup, recipe: str, worlds: Sequence[Path], base: Path, folder: Path, flags: Sequence[object] = ()
) -> None:
    """Write a recipe's examples to a folder: what a base says to the worlds' questions, and what follows of it.

    The command's own report is `report.json` there, written last.
    """
    setup.say(f"asking the base: {recipe}")
    asking = (*_ASKING, "--ask-batch", 256, "--chunk", 256, "--held-out", _HELD_OUT)
    data = ("--dataset", "pocketworld", "--data", *worlds)
    report = command("annotate", recipe, *data, "--answerer", base, *asking, *flags, "--out", folder)
    (folder / REPORT).write_text(json.dumps(report, indent=1), encoding="utf-8")


def trained(setup: Setup, name: str, flags: Sequence[str]) -> Path:
    """A planner of the base, with `training.json` beside it; `flags` are those in which it differs from the paper's."""
    return adapted(setup, "planner", setup.base, notes(setup), name, ("--batch", 16, "--accumulation", 1, *flags))


def adapted(setup: Setup, recipe: str, base: Path, data: Path, name: str, flags: Sequence[object]) -> Path:
    """What `train RECIPE` leaves, in the folder `RECIPE-name`."""
    folder = setup.folder / f"{recipe}-{name}"
    if not (folder / "training.json").is_file():
        setup.say(f"training {name}")
        how = ("--no-checkpointing", "--evaluate-every", 50, *flags, *setup.more)
        command("train", recipe, "--checkpoint", base, "--data", data, *_ASKING, *how, "--out", folder)
    return folder


def model_of(setup: Setup, planner: Path) -> str:
    """A trained planner as commands name it: the base with its adapter, or a whole model."""
    whole = planner / "model"
    return str(whole) if whole.is_dir() else f"{setup.base}+{planner / 'adapter'}"


def base_of(setup: Setup, commit: str) -> Path:
    """The base model that the repository had at a commit.

    Raises:
        subprocess.CalledProcessError: this is no checkout with that commit.
    """
    folder = setup.folder / f"base-{commit}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in _BASE_FILES:
        show = ["git", "show", f"{commit}:{BASE}/{name}"]
        (folder / name).write_bytes(subprocess.run(show, cwd=ROOT, check=True, capture_output=True).stdout)
    return folder


@contextmanager
def searching(setup: Setup, folder: Path) -> Iterator[str]:
    """A server that knows a world, to search in; gives its address."""
    knowledge, log = setup.folder / f"knowledge-of-{folder.name}", setup.folder / "server.log"
    with LocalServer(setup.bundle, knowledge, log=log) as server:
        with Client(server.target) as client:
            lines = read_entries(folder / "entries.jsonl")
            entries = [line.entry for line in lines if isinstance(line, GoodLine)]
            if client.capabilities().entries != len(entries):
                setup.say(f"importing {folder.name}")
                client.add_entries(entries)
        yield server.target


def fresh(setup: Setup) -> Path:
    """The world that planners are asked about."""
    return world(setup, setup.fresh, setup.asked)


def answered(
    setup: Setup, server: str, asked: Path, name: str, answerer: object, policies: Sequence[str], planner: str = ""
) -> dict[str, Asked]:
    """What a model answers to a world under each policy; `planner` is the model that plans for the planning agent."""
    folder = setup.folder / f"answers-{name}"
    questions = _rows(asked / "questions.jsonl")
    if any(len(_rows(folder / f"{policy}.jsonl")) < len(questions) for policy in policies):
        setup.say(f"asking {name}: {', '.join(policies)}")
        who = ("--answerer", answerer, *(("--deciders", f"planner={planner}") if planner else ()))
        data = ("--dataset", "pocketworld", "--data", asked, "--server", server)
        command("evaluate", *data, *who, *_ASKING, "--policies", *policies, "--out", folder)
    gold = [each for each in questions if each["group"]]
    return {policy: _asked(folder / f"{policy}.jsonl", gold) for policy in policies}


def _asked(path: Path, gold: Sequence[Mapping[str, Any]]) -> Asked:
    turns = {row["id"]: row for row in _rows(path)}
    given = [turns[each["id"]] for each in gold]
    return Asked(
        [exact_match(turn["answer"], each["answer"], each["aliases"]) for turn, each in zip(given, gold, strict=True)],
        [turn["plan"] for turn in given],
        [each["group"] for each in gold],
        sum(turn["image_searches"] for turn in given) / len(given),
        sum(turn["text_searches"] for turn in given) / len(given),
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    """What a file has, a record a line; nothing where there is no such file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
