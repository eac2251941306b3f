"""Where a training run keeps what it reads and writes, and how it begins from checkpoints."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from quizglass_lab.starter.data import store
from quizglass_lab.starter.data.examples import Encoder
from quizglass_lab.starter.loop import schedule, sittings
from quizglass_lab.starter.model.checkpoints import load_base, load_tokenizer
from quizglass_lab.starter.model.vlm import new_model

logger = logging.getLogger(__name__)
TRAINED_BEFORE = ("tokenizer", "language")
"""Stages of the base that shipped checkpoints make up for."""
COPIED = ("text_encoder", "reranker_base", "reranker", "image_encoder", "detector", "coarse_reranker")
"""Parts of shipped checkpoints that are taken as they are."""
_SEED = 3
_WORLDS = (3_000_000, 3_200_000)
"""First seeds of the worlds that are trained on: of a first training, and of one that goes on from checkpoints."""
_DONE = "done.json"
_OWN_CORES = 2
"""Beside a GPU, for the process that trains."""


@dataclass(frozen=True)
class Sizes:
    """How much of each world is drawn; tests take less."""

    shard: int = 8000
    """Number of scenes in a shard."""
    slots: int = 3
    free: int = 5
    """Shards of labelled scenes of each sort, to learn to see from and to be asked about; the first to measure with."""
    joint: int = 60
    decider: int = 80
    """Many worlds seen about once: trained for epochs on a few, deciders learn the things by heart instead of whether
    the base knows them."""
    annotated: int = 28_000
    """Questions of the decider's worlds, at most."""
    held_out: int = 4
    scale: int = 1
    """How many times larger batches are than two CPU cores like them."""
    rate: float = 1.0
    """Factor on the joint stage's rate of learning: larger batches bear a higher one."""
    decider_scale: int = 1
    """As `scale`, for the decider, which has fewer questions to learn from."""
    decider_minutes: float = inf
    """Of training, at most: in more a fast machine would show the decider the same questions again and again."""

    @property
    def shards(self) -> Mapping[str, int]:
        """How many shards of scenes there are, by sort."""
        return {"slots": self.slots, "free": self.free}


ON_GPU = Sizes(
    shard=2000,
    slots=12,
    free=36,
    joint=160,
    decider=120,
    annotated=42_000,
    scale=12,
    rate=1.5,
    decider_scale=4,
    decider_minutes=0.8,
)
"""For a GPU and the many cores beside it, each of which makes a shard."""


@dataclass(frozen=True)
class Workplace:
    """Paths of everything that a training run reads and writes."""

    root: Path
    workers: int = 1
    """Processes that draw pictures."""
    sizes: Sizes = field(default_factory=Sizes)
    device: torch.device = torch.device("cpu")  # noqa: RUF009 (it never changes)
    """Where models learn."""
    kept: float = 1.0
    """Of the way from the weights that the base began with to the trained ones: what of it is gone in the end."""

    @property
    def makers(self) -> int:
        """Processes that make batches ahead: none where the CPU learns too."""
        return 0 if self.device.type == "cpu" else max(1, self.workers - _OWN_CORES)

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
        """An untrained base, where models learn."""
        return new_model(self.tokenizer(), _SEED).to(self.device)

    def trained_base(self) -> Qwen2_5_VLForConditionalGeneration:
        """The final base, where models learn."""
        return load_base(self.base).to(self.device)

    @property
    def worlds(self) -> int:
        """Seed of the first world that questions are about; who goes on with a base sees others than it began with."""
        return _WORLDS[self.continued]

    def joint_questions(self) -> store.Asked:
        """Questions that the base learns from."""
        return store.asked(self.stage("joint"), self.worlds, self.sizes.joint, workers=self.workers)

    def decider_questions(self) -> store.Asked:
        """Questions that are annotated for the decider: the base never saw their scenes."""
        return store.asked(self.stage("annotate"), self.worlds + 100_000, self.sizes.decider, workers=self.workers)

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
        if self.device.type == "cuda":
            record["device"] = torch.cuda.get_device_name(self.device)
        part = folder / f"{_DONE}.part"  # half a file would count as done
        part.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        part.replace(folder / _DONE)
        logger.info("%s done: %s", name, json.dumps(record, sort_keys=True))

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
    state = torch.load(path, map_location="cpu", weights_only=True)
    return int(state["steps"]), float(state["spent"]) / 60
