"""Trains the starter's base model and its deciders, from nothing or from shipped checkpoints, stage by stage.

Each stage keeps its progress under `workdir/<stage>/`: run again after an interruption, it goes on where it was, and a
finished stage is skipped. Budgets are minutes as `Schedule` counts them.
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
from quizglass_lab.starter import STAGES
from quizglass_lab.starter.data import pictures
from quizglass_lab.starter.loop.training import Pictures, on_device
from quizglass_lab.starter.model.checkpoints import save_adapter, save_base
from quizglass_lab.starter.model.interpolation import interpolate
from quizglass_lab.starter.model.precision import chosen_device
from quizglass_lab.starter.model.tokenizer import build_tokenizer
from quizglass_lab.starter.stages import (
    annotate,
    decider,
    drafting,
    joint,
    judging,
    language,
    mixture,
    search_router,
    vision,
)
from quizglass_lab.starter.stages.records import save_rows
from quizglass_lab.starter.workplace import ON_GPU, Sizes, Workplace

logger = logging.getLogger(__name__)
CONTINUED_RATE = 6e-4
"""Of the stages with pictures and language, for a base that was trained before."""
_TOWER = "visual.pt"
_JUDGED = 3
"""Of every so many questions that are annotated, one is answered from evidence for the verifier, too, and one is
drafted for the tool router. To fit the verifier's thresholds, all that are held out are answered."""
_SCENES_ASKED = 500
"""Free scenes, never trained on, that the finished base is asked about."""


def train(
    stages: Sequence[str],
    minutes: Mapping[str, float],
    threads: int = 2,
    workdir: Path = Path("work/starter"),
    sizes: Sizes | None = None,
    device: str = "cpu",
    kept: float = 1.0,
) -> None:
    """Run stages in order; those already done are skipped.

    Args:
        stages: names out of STAGES.
        minutes: budgets of those stages that train.
        threads: processes that draw pictures; without a GPU torch's threads, beside one processes that make batches.
        workdir: where progress, checkpoints and measurements go.
        sizes: how much is drawn, and how large batches are; by default what suits the device.
        device: where models learn: `cpu`, `cuda`, or `auto` for a GPU where there is one.
        kept: of the way that the base's weights go in the joint stage, above 0 and at most 1; less than all of it
            only for a base that was taken over from checkpoints.

    Raises:
        ValueError: an unknown stage; no GPU where one was asked for; no share of a way, or none to go back.
    """
    unknown = [name for name in stages if name not in STAGES]
    if unknown:
        raise ValueError(f"stages: no such stage {', '.join(unknown)}; choose from {', '.join(STAGES)}")
    place = chosen_device(device)
    torch.set_num_threads(threads if place.type == "cpu" else 1)  # beside a GPU they would only wait for each other
    work = Workplace(workdir, threads, sizes or (Sizes() if place.type == "cpu" else ON_GPU), place, kept)
    if not 0 < kept <= 1:
        raise ValueError(f"interpolate: {kept:g} is not a share above 0 and at most 1")
    if kept < 1 and not work.continued:
        raise ValueError("interpolate: a base that is trained from nothing has no earlier weights to go back to")
    if kept < 1 and "joint" not in stages:
        raise ValueError("interpolate: the base goes back at the end of the stage joint, which is not among the stages")
    for name in STAGES:
        if name in stages and not work.finished(name):
            logger.info("stage %s", name)
            with work.sitting(name):
                report = _RUN[name](work, minutes.get(name, 0.0))
            work.finish(name, report)


def _tokenizer(work: Workplace, minutes: float) -> dict[str, object]:
    return {"vocabulary": len(build_tokenizer(work.stage("tokenizer")))}


def _pictures(work: Workplace, minutes: float) -> dict[str, object]:
    shards = [(sort, index) for sort, count in work.sizes.shards.items() for index in range(count)]
    pictures.make_shards(work.stage("vision"), shards, work.sizes.shard, work.workers)
    asked = {
        "joint": work.joint_questions(),
        "decider": work.decider_questions(),
        "held-out": work.held_out_questions(),
    }
    scenes = len(shards) * work.sizes.shard
    return {"scenes": scenes, **{name: len(part.questions) for name, part in asked.items()}}


def _vision(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    if work.continued:
        _load(model, work.start)
    sizes, folder = work.sizes, work.stage("vision")
    report = vision.train_vision(model, folder, sizes.shards, minutes, further=work.continued, scale=sizes.scale)
    torch.save(model.model.visual.state_dict(), work.stage("vision") / _TOWER)
    return dict(report)


def _language(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    folder, scale = work.stage("language"), work.sizes.scale
    meter = language.train_language(model, work.encoder(), folder, minutes, scale=scale, workers=work.makers)
    torch.save(model.model.language_model.state_dict(), work.stage("language") / "language.pt")
    return dict(meter.shares)


def _pictured(work: Workplace, kinds: mixture.Mixture, seed: int) -> tuple[mixture.JointBatches, Pictures]:
    """Batches over every rendered picture, and the pictures."""
    folder, first = work.stage("vision"), vision.HELD_OUT_SHARDS
    shards = [(sort, index) for sort, count in work.sizes.shards.items() for index in range(first, count)]
    scenes = pictures.scenes_of(shards, work.sizes.shard, work.workers)
    asked = work.joint_questions()
    images = pictures.Album([*(pictures.load_shard(folder, *shard)[0] for shard in shards), asked.pictures])
    batches = mixture.JointBatches(work.encoder(), scenes, asked, seed, kinds, work.sizes.scale)
    return batches, on_device(images, work.device)


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
    folder = work.stage("grounding")
    meter = joint.train_joint(model, batches, images, folder, minutes, rate=rate, workers=work.makers)
    torch.save(model.state_dict(), work.stage("grounding") / "model.pt")
    return dict(meter.shares)


def _joint(work: Workplace, minutes: float) -> dict[str, object]:
    model = work.new_model()
    grounded = work.finished("grounding") or not work.continued
    _load(model, work.stage("grounding") / "model.pt" if grounded else work.start)
    batches, images = _pictured(work, mixture.SERVING, 5)
    rate = work.sizes.rate * (CONTINUED_RATE if work.continued else joint.RATE)
    joint.train_joint(model, batches, images, work.stage("joint"), minutes, rate=rate, workers=work.makers)
    if work.kept < 1:
        interpolate(model, torch.load(work.start, map_location="cpu", weights_only=True), work.kept)
    save_base(model, work.tokenizer(), work.base)
    return {**measure_base(work), "kept": work.kept}


def measure_base(work: Workplace) -> dict[str, float]:
    """Share of exact greedy answers by task, on worlds and scenes never trained on."""
    asked, encoder, model = work.held_out_questions(), work.encoder(), work.trained_base()
    served = joint.evaluate(model, joint.held_out_groups(asked, encoder, 9), encoder, asked.pictures)
    scenes = islice(pictures.shard_scenes("free", 0, work.sizes.shard), _SCENES_ASKED)
    shown, _ = pictures.load_shard(work.stage("vision"), "free", 0)
    return served | joint.evaluate(model, joint.held_out_quizzes(scenes, encoder, 9), encoder, shown)


def _annotate(work: Workplace, minutes: float) -> dict[str, object]:
    model, encoder = work.trained_base(), work.encoder()
    folder, counts = work.stage("annotate"), {}
    most = {"training": work.sizes.annotated, "held-out": annotate.HELD_OUT}
    for name, asked in (("training", work.decider_questions()), ("held-out", work.held_out_questions())):
        rows = annotate.balanced_rows(asked, most[name], random.Random(1))
        annotations = annotate.annotate(model, encoder, asked, rows)
        save_rows(annotations, folder / f"{name}.jsonl")
        every = range(len(asked.questions))
        chosen = random.Random(2).sample(every, min(most[name] // _JUDGED, len(every))) if name == "training" else every
        concluded = judging.judged(model, encoder, asked, chosen, seed=2)
        save_rows(concluded, folder / judging.file_of(name))
        tried = random.Random(3).sample(annotations, min(most[name] // _JUDGED, len(annotations)))
        drafts = drafting.drafted(model, encoder, asked, [annotation.row for annotation in tried])
        save_rows(drafts, folder / drafting.file_of(name))
        counts[name] = annotate.shares(annotations) | judging.shares(concluded)
    fitted = judging.certainty(judging.load(folder / judging.file_of("training")))
    return {**counts, "certainty": fitted}


def _decider(work: Workplace, minutes: float) -> dict[str, object]:
    encoder = work.encoder()
    adapted = decider.with_adapter(work.trained_base(), work.first_adapter)
    asked, held_out = work.decider_questions(), work.held_out_questions()
    source = work.stage("annotate")
    labelled, concluded = annotate.load(source / "training.jsonl"), judging.load(source / judging.file_of("training"))
    drafts = drafting.load(source / drafting.file_of("training"))
    batches = decider.DecisionBatches(encoder, asked, labelled, concluded, drafts, 2, work.sizes.decider_scale)
    seen, folder = on_device(asked.pictures, work.device), work.stage("decider")
    decider.train_decider(adapted, batches, seen, folder, min(minutes, work.sizes.decider_minutes), work.makers)
    save_adapter(adapted, work.adapter, decider.DECISIONS)
    tests, answers = annotate.load(source / "held-out.jsonl"), judging.load(source / judging.file_of("held-out"))
    drafts = drafting.load(source / drafting.file_of("held-out"))
    return decider.report(adapted, tests, answers, drafts, held_out, encoder)


def _search_router(work: Workplace, minutes: float) -> dict[str, object]:
    model, encoder, path = work.trained_base(), work.encoder(), work.adapter / ROUTER
    return search_router.train_router(model, encoder, work.decider_questions(), work.held_out_questions(), path)


def _load(module: nn.Module, path: Path) -> None:
    module.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))


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
