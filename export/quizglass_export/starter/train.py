"""Trains the starter's base model and planner from nothing, stage by stage.

    python -m quizglass_export.starter.train --workdir work/starter

Each stage keeps its progress under `workdir/<stage>/`: run again after an interruption, it goes on where it was, and a
finished stage is skipped. Budgets are wall-clock minutes.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from quizglass_export.starter.data import pictures, store
from quizglass_export.starter.data.examples import Encoder
from quizglass_export.starter.model.checkpoints import load_base, load_tokenizer, save_base, save_planner
from quizglass_export.starter.model.tokenizer import build_tokenizer
from quizglass_export.starter.model.vlm import new_model
from quizglass_export.starter.stages import annotate, joint, language, planner, vision

_log = logging.getLogger(__name__)
STAGES = ("tokenizer", "pictures", "vision", "language", "grounding", "joint", "annotate", "planner")
MINUTES = {"vision": 16.0, "language": 14.0, "grounding": 8.0, "joint": 50.0, "planner": 24.0}
"""Budgets that two CPU cores manage together in under two hours."""
SHARDS = 8
JOINT_BLOCKS = (3_000_000, 40)
PLANNER_BLOCKS = (3_100_000, 140)
"""Many worlds seen about once: trained for epochs on a few, the planner learns the things by heart instead of whether
the base knows them."""
HELD_OUT_BLOCKS = (3_900_000, 4)
_SEED = 3
_DONE = "done.json"


@dataclass(frozen=True)
class Workplace:
    """Paths of everything that a training run reads and writes."""

    root: Path

    def stage(self, name: str) -> Path:
        """A stage's own folder."""
        return self.root / name

    @property
    def base(self) -> Path:
        """The final base checkpoint."""
        return self.root / "base"

    @property
    def adapter(self) -> Path:
        """The final planner adapter."""
        return self.root / "planner"

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
        return store.asked(self.stage("joint"), *JOINT_BLOCKS)

    def planner_questions(self) -> store.Asked:
        """Questions that are annotated for the planner: the base never saw their scenes."""
        return store.asked(self.stage("annotate"), *PLANNER_BLOCKS)

    def held_out_questions(self) -> store.Asked:
        """Questions on other worlds and other scenes, for measuring."""
        return store.asked(self.stage("joint"), *HELD_OUT_BLOCKS, own=0)

    def finished(self, name: str) -> bool:
        """Whether a stage is done."""
        return (self.stage(name) / _DONE).is_file()

    def finish(self, name: str, report: Mapping[str, object]) -> None:
        """Note a stage's measurements and mark it done."""
        self.stage(name).mkdir(parents=True, exist_ok=True)
        text = json.dumps(report, indent=2, sort_keys=True) + "\n"
        (self.stage(name) / _DONE).write_text(text, encoding="utf-8")
        _log.info("%s done: %s", name, json.dumps(report, sort_keys=True))


def train(
    stages: Sequence[str] = STAGES,
    minutes: Mapping[str, float] | None = None,
    threads: int = 2,
    workdir: Path = Path("work/starter"),
) -> None:
    """Run stages in order; those already done are skipped.

    Args:
        stages: names out of STAGES.
        minutes: wall-clock budgets by stage, instead of MINUTES.
        threads: CPU threads for torch.
        workdir: where progress, checkpoints and measurements go.

    Raises:
        ValueError: an unknown stage.
    """
    unknown = [name for name in stages if name not in STAGES]
    if unknown:
        raise ValueError(f"stages: no such stage {', '.join(unknown)}; choose from {', '.join(STAGES)}")
    torch.set_num_threads(threads)
    work, budget = Workplace(workdir), {**MINUTES, **(minutes or {})}
    for name in STAGES:
        if name in stages and not work.finished(name):
            _log.info("stage %s", name)
            work.finish(name, _RUN[name](work, budget.get(name, 0.0)))


def _tokenizer(work: Workplace, minutes: float) -> dict[str, object]:
    return {"vocabulary": len(build_tokenizer(work.stage("tokenizer")))}


def _pictures(work: Workplace, minutes: float) -> dict[str, object]:
    for index in range(SHARDS):
        if not (work.stage("vision") / f"pictures-{index:03d}.npy").is_file():
            pictures.make_shard(work.stage("vision"), index, vision.SHARD)
    asked = {
        "joint": work.joint_questions(),
        "planner": work.planner_questions(),
        "held-out": work.held_out_questions(),
    }
    return {"scenes": SHARDS * vision.SHARD, **{name: len(made.questions) for name, made in asked.items()}}


def _vision(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    report = vision.train_vision(model, work.stage("vision"), minutes)
    torch.save(model.model.visual.state_dict(), work.stage("vision") / "visual.pt")
    return dict(report)


def _language(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    meter = language.train_language(model, work.encoder(), work.stage("language"), minutes)
    torch.save(model.model.language_model.state_dict(), work.stage("language") / "language.pt")
    return dict(meter.shares)


def _pictured(work: Workplace, mixture: joint.Mixture, seed: int) -> tuple[joint.JointBatches, pictures.Album]:
    """Batches over every rendered picture, and the pictures."""
    shards = pictures.load_shards(work.stage("vision"), vision.HELD_OUT_SHARDS)
    scenes = [
        scene
        for index in range(vision.HELD_OUT_SHARDS, vision.HELD_OUT_SHARDS + len(shards))
        for scene in pictures.pretraining_scenes(vision.SHARD, pictures.SHARD_SEED + index)
    ]
    asked = work.joint_questions()
    images = pictures.Album([*(shard[0] for shard in shards), asked.pictures])
    return joint.JointBatches(work.encoder(), scenes, asked, seed, mixture), images


def _grounding(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    _load(model.model.visual, work.stage("vision") / "visual.pt")
    _load(model.model.language_model, work.stage("language") / "language.pt")
    batches, images = _pictured(work, joint.GROUNDING, 4)
    joint.match_scale(model, images)
    meter = joint.train_joint(model, batches, images, work.stage("grounding"), minutes, rate=1.2e-3, vision_scale=0.5)
    torch.save(model.state_dict(), work.stage("grounding") / "model.pt")
    return dict(meter.shares)


def _joint(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    _load(model, work.stage("grounding") / "model.pt")
    batches, images = _pictured(work, joint.SERVING, 5)
    joint.train_joint(model, batches, images, work.stage("joint"), minutes)
    save_base(model, work.tokenizer(), work.base)
    return dict(measure_base(work))


def measure_base(work: Workplace) -> dict[str, float]:
    """Share of exact greedy answers by task, on worlds and scenes never trained on."""
    asked, encoder = work.held_out_questions(), work.encoder()
    return joint.evaluate(load_base(work.base), joint.held_out_groups(asked, encoder, 9), encoder, asked.pictures)


def _annotate(work: Workplace, minutes: float) -> dict[str, object]:
    model, encoder = load_base(work.base), work.encoder()
    folder, counts = work.stage("annotate"), {}
    for name, asked in (("training", work.planner_questions()), ("held-out", work.held_out_questions())):
        rows = annotate.balanced_rows(asked, annotate.MOST[name], random.Random(1))
        made = annotate.annotate(model, encoder, asked, rows)
        annotate.save(made, folder / f"{name}.jsonl")
        counts[name] = annotate.shares(made)
    return dict(counts)


def _planner(work: Workplace, minutes: float) -> dict[str, object]:
    encoder = work.encoder()
    adapted = planner.with_adapter(load_base(work.base))
    asked, held_out = work.planner_questions(), work.held_out_questions()
    labelled = annotate.load(work.stage("annotate") / "training.jsonl")
    examples = planner.encode(planner.balanced(labelled, random.Random(2)), asked, encoder)
    planner.train_planner(adapted, examples, encoder, asked.pictures, work.stage("planner"), minutes)
    save_planner(adapted, work.adapter)
    tests = annotate.load(work.stage("annotate") / "held-out.jsonl")
    return planner.report(adapted, tests, held_out, encoder)


def _load(module: nn.Module, path: Path) -> None:
    module.load_state_dict(torch.load(path, weights_only=True))


_RUN: dict[str, Callable[[Workplace, float], dict[str, object]]] = {
    "tokenizer": _tokenizer,
    "pictures": _pictures,
    "vision": _vision,
    "language": _language,
    "grounding": _grounding,
    "joint": _joint,
    "annotate": _annotate,
    "planner": _planner,
}


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path, default=Path("work/starter"))
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=STAGES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", nargs="*", default=[], metavar="STAGE=MINUTES")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    minutes = {name: float(value) for name, value in (item.split("=") for item in arguments.minutes)}
    train(arguments.stages, minutes, arguments.threads, arguments.workdir)


if __name__ == "__main__":
    main()
