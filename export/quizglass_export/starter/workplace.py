"""Where a training run keeps what it reads and writes, and how it begins from checkpoints."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from quizglass_export.starter.data import store
from quizglass_export.starter.data.examples import Encoder
from quizglass_export.starter.loop import schedule, sittings
from quizglass_export.starter.model.checkpoints import load_base, load_tokenizer
from quizglass_export.starter.model.vlm import new_model

_log = logging.getLogger(__name__)
TRAINED_BEFORE = ("tokenizer", "language")
"""Stages of the base that shipped checkpoints make up for."""
COPIED = ("text_encoder", "reranker_base", "reranker", "image_encoder", "detector", "coarse_reranker")
"""Parts of shipped checkpoints that are taken as they are."""
_SEED = 3
_DONE = "done.json"


@dataclass(frozen=True)
class Sizes:
    """How much of each world is drawn; tests take less."""

    shard: int = 8000
    """Scenes of a shard."""
    joint: int = 60
    decider: int = 80
    """Many worlds seen about once: trained for epochs on a few, deciders learn the things by heart instead of whether
    the base knows them."""
    held_out: int = 4


@dataclass(frozen=True)
class Workplace:
    """Paths of everything that a training run reads and writes."""

    root: Path
    workers: int = 1
    """Processes that draw pictures."""
    sizes: Sizes = field(default_factory=Sizes)

    def stage(self, name: str) -> Path:
        """A stage's own folder."""
        return self.root / name

    @property
    def base(self) -> Path:
        """The final base checkpoint."""
        return self.root / "base"

    @property
    def adapter(self) -> Path:
        """The decider's final adapter; its graph is the planner's."""
        return self.root / "planner"

    @property
    def first_adapter(self) -> Path:
        """What the decider begins with, if the training goes on from checkpoints."""
        return self.stage("decider") / "first"

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The shared tokenizer."""
        return load_tokenizer(self.stage("tokenizer"))

    def encoder(self) -> Encoder:
        """Prompts to token ids."""
        return Encoder(self.stage("tokenizer"))

    def new_model(self) -> Qwen2_5_VLForConditionalGeneration:
        """An untrained base."""
        return new_model(self.tokenizer(), _SEED)

    def joint_questions(self) -> store.Asked:
        """Questions that the base learns from."""
        return store.asked(self.stage("joint"), 3_000_000, self.sizes.joint, workers=self.workers)

    def decider_questions(self) -> store.Asked:
        """Questions that are annotated for the decider: the base never saw their scenes."""
        return store.asked(self.stage("annotate"), 3_100_000, self.sizes.decider, workers=self.workers)

    def held_out_questions(self) -> store.Asked:
        """Questions on other worlds and other scenes, for measuring."""
        return store.asked(self.stage("joint"), 3_900_000, self.sizes.held_out, own=0, workers=self.workers)

    def finished(self, name: str) -> bool:
        """Whether a stage is done."""
        return (self.stage(name) / _DONE).is_file()

    @property
    def start(self) -> Path:
        """The base that was taken over from checkpoints, if one was."""
        return self.root / "start.pt"

    @property
    def continued(self) -> bool:
        """Whether the base was taken over from checkpoints."""
        return self.start.is_file()

    @contextmanager
    def sitting(self, name: str) -> Iterator[None]:
        """Time a sitting of a stage."""
        with sittings.sitting(self.stage(name)):
            yield

    def finish(self, name: str, report: Mapping[str, object]) -> None:
        """Note a stage's measurements, with its minutes, steps and memory, and mark it done."""
        folder = self.stage(name)
        folder.mkdir(parents=True, exist_ok=True)
        steps, minutes = _progress(folder)
        took = sittings.taken(folder)
        if minutes > took.get("minutes", 0.0):  # a sitting was killed before it could be noted
            took["minutes"] = round(minutes, 2)
        record = {**report, **took, **({"steps": steps} if steps else {})}
        (folder / _DONE).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        _log.info("%s done: %s", name, json.dumps(record, sort_keys=True))

    def begin_from(self, checkpoints: Path) -> None:
        """Take over shipped checkpoints, unless that was done before: what they hold counts as trained.

        The base goes where tower and language go on, the adapter where the decider does; encoders, reranker and
        settings are copied.

        Raises:
            FileNotFoundError: there is no base in the directory.
        """
        if self.continued:
            return
        model = load_base(checkpoints / "base")
        self.stage("tokenizer").mkdir(parents=True, exist_ok=True)
        for path in (checkpoints / "base").glob("*token*.json"):
            shutil.copyfile(path, self.stage("tokenizer") / path.name)
        for part in COPIED:
            if (checkpoints / part).is_dir():
                shutil.copytree(checkpoints / part, self.root / part, dirs_exist_ok=True)
        if (checkpoints / "planner").is_dir():
            shutil.copytree(checkpoints / "planner", self.first_adapter, dirs_exist_ok=True)
        if (checkpoints / "settings.json").is_file():
            shutil.copyfile(checkpoints / "settings.json", self.root / "settings.json")
        for name in TRAINED_BEFORE:
            self.finish(name, {"from": "checkpoints"})
        torch.save(model.state_dict(), self.start)


def _progress(folder: Path) -> tuple[int, float]:
    """Steps and minutes of a stage that takes any, as its progress has them."""
    path = folder / schedule.PROGRESS
    if not path.is_file():
        return 0, 0.0
    state = torch.load(path, weights_only=True)
    return int(state["steps"]), float(state["spent"]) / 60
