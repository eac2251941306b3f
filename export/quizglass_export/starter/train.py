"""Trains the starter's base model and its deciders, from nothing or from shipped checkpoints, stage by stage.

Each stage keeps its progress under `workdir/<stage>/`: run again after an interruption, it goes on where it was, and a
finished stage is skipped. Budgets are wall-clock minutes.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from quizglass_export.checkpoints.files import ROUTER
from quizglass_export.starter import STAGES
from quizglass_export.starter.data import pictures
from quizglass_export.starter.model.checkpoints import load_base, save_adapter, save_base
from quizglass_export.starter.model.tokenizer import build_tokenizer
from quizglass_export.starter.stages import annotate, decider, joint, language, mixture, search_router, vision
from quizglass_export.starter.workplace import Sizes, Workplace

_log = logging.getLogger(__name__)
MINUTES = {"vision": 16.0, "language": 14.0, "grounding": 8.0, "joint": 50.0, "decider": 24.0}
"""Budgets that two CPU cores manage together in about two hours."""
CONTINUED_RATE = 6e-4
"""Of the stages with pictures and language, for a base that was trained before."""
_TOWER = "visual.pt"
_SCENES_ASKED = 500
"""Free scenes, never trained on, that the finished base is asked about."""
SHARDS = {"slots": 3, "free": 5}
"""Of 8,000 labelled scenes, by sort: to learn to see from, and to be asked about; the first of each to measure with."""


def train(
    stages: Sequence[str] = STAGES,
    minutes: Mapping[str, float] | None = None,
    threads: int = 2,
    workdir: Path = Path("work/starter"),
    sizes: Sizes | None = None,
) -> None:
    """Run stages in order; those already done are skipped.

    Args:
        stages: names out of STAGES.
        minutes: wall-clock budgets by stage, instead of MINUTES.
        threads: CPU threads for torch, and processes that draw pictures.
        workdir: where progress, checkpoints and measurements go.
        sizes: how much is drawn.

    Raises:
        ValueError: an unknown stage.
    """
    unknown = [name for name in stages if name not in STAGES]
    if unknown:
        raise ValueError(f"stages: no such stage {', '.join(unknown)}; choose from {', '.join(STAGES)}")
    torch.set_num_threads(threads)
    work, budget = Workplace(workdir, threads, sizes or Sizes()), {**MINUTES, **(minutes or {})}
    for name in STAGES:
        if name in stages and not work.finished(name):
            _log.info("stage %s", name)
            with work.sitting(name):
                report = _RUN[name](work, budget.get(name, 0.0))
            work.finish(name, report)


def _tokenizer(work: Workplace, minutes: float) -> dict[str, object]:
    return {"vocabulary": len(build_tokenizer(work.stage("tokenizer")))}


def _pictures(work: Workplace, minutes: float) -> dict[str, object]:
    for sort, count in SHARDS.items():
        for index in range(count):
            pictures.make_shard(work.stage("vision"), sort, index, work.sizes.shard, work.workers)
    asked = {
        "joint": work.joint_questions(),
        "decider": work.decider_questions(),
        "held-out": work.held_out_questions(),
    }
    scenes = sum(SHARDS.values()) * work.sizes.shard
    return {"scenes": scenes, **{name: len(part.questions) for name, part in asked.items()}}


def _vision(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    if work.continued:
        _load(model, work.start)
    report = vision.train_vision(model, work.stage("vision"), SHARDS, minutes, further=work.continued)
    torch.save(model.model.visual.state_dict(), work.stage("vision") / _TOWER)
    return dict(report)


def _language(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    meter = language.train_language(model, work.encoder(), work.stage("language"), minutes)
    torch.save(model.model.language_model.state_dict(), work.stage("language") / "language.pt")
    return dict(meter.shares)


def _pictured(work: Workplace, kinds: mixture.Mixture, seed: int) -> tuple[mixture.JointBatches, pictures.Album]:
    """Batches over every rendered picture, and the pictures."""
    folder, first = work.stage("vision"), vision.HELD_OUT_SHARDS
    shards = [(sort, index) for sort, count in SHARDS.items() for index in range(first, count)]
    scenes = [scene for shard in shards for scene in pictures.shard_scenes(*shard, work.sizes.shard)]
    asked = work.joint_questions()
    images = pictures.Album([*(pictures.load_shard(folder, *shard)[0] for shard in shards), asked.pictures])
    return mixture.JointBatches(work.encoder(), scenes, asked, seed, kinds), images


def _grounding(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    if work.continued:
        _load(model, work.start)
    else:
        _load(model.model.language_model, work.stage("language") / "language.pt")
    if work.finished("vision") or not work.continued:
        _load(model.model.visual, work.stage("vision") / _TOWER)
    batches, images = _pictured(work, mixture.GROUNDING, 4)
    if not work.continued:
        joint.match_scale(model, images)
    rate = CONTINUED_RATE if work.continued else joint.GROUNDING_RATE
    meter = joint.train_joint(model, batches, images, work.stage("grounding"), minutes, rate=rate)
    torch.save(model.state_dict(), work.stage("grounding") / "model.pt")
    return dict(meter.shares)


def _joint(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    grounded = work.finished("grounding") or not work.continued
    _load(model, work.stage("grounding") / "model.pt" if grounded else work.start)
    batches, images = _pictured(work, mixture.FURTHER if work.continued else mixture.SERVING, 5)
    rate = CONTINUED_RATE if work.continued else joint.RATE
    joint.train_joint(model, batches, images, work.stage("joint"), minutes, rate=rate)
    if work.continued:
        joint.drawn_back(model, torch.load(work.start, weights_only=True))
    save_base(model, work.tokenizer(), work.base)
    return dict(measure_base(work))


def measure_base(work: Workplace) -> dict[str, float]:
    """Share of exact greedy answers by task, on worlds and scenes never trained on."""
    asked, encoder, model = work.held_out_questions(), work.encoder(), load_base(work.base)
    served = joint.evaluate(model, joint.held_out_groups(asked, encoder, 9), encoder, asked.pictures)
    scenes = islice(pictures.shard_scenes("free", 0, work.sizes.shard), _SCENES_ASKED)
    shown, _ = pictures.load_shard(work.stage("vision"), "free", 0)
    return served | joint.evaluate(model, joint.held_out_quizzes(scenes, encoder, 9), encoder, shown)


def _annotate(work: Workplace, minutes: float) -> dict[str, object]:
    model, encoder = load_base(work.base), work.encoder()
    folder, counts = work.stage("annotate"), {}
    for name, asked in (("training", work.decider_questions()), ("held-out", work.held_out_questions())):
        rows = annotate.balanced_rows(asked, annotate.MOST[name], random.Random(1))
        annotations = annotate.annotate(model, encoder, asked, rows)
        annotate.save(annotations, folder / f"{name}.jsonl")
        counts[name] = annotate.shares(annotations)
    return dict(counts)


def _decider(work: Workplace, minutes: float) -> dict[str, object]:
    encoder = work.encoder()
    adapted = decider.with_adapter(load_base(work.base), work.first_adapter)
    asked, held_out = work.decider_questions(), work.held_out_questions()
    labelled = annotate.load(work.stage("annotate") / "training.jsonl")
    groups = decider.encode(decider.training_groups(asked, labelled, random.Random(2)), encoder)
    decider.train_decider(adapted, groups, encoder, asked.pictures, work.stage("decider"), minutes)
    save_adapter(adapted, work.adapter, decider.DECISIONS)
    tests = annotate.load(work.stage("annotate") / "held-out.jsonl")
    return decider.report(adapted, tests, held_out, encoder)


def _search_router(work: Workplace, minutes: float) -> dict[str, object]:
    model, encoder, path = load_base(work.base), work.encoder(), work.adapter / ROUTER
    return search_router.train_router(model, encoder, work.decider_questions(), work.held_out_questions(), path)


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
    "decider": _decider,
    "search_router": _search_router,
}
