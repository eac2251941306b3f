"""Stage 5: the planner, a LoRA on the base model that answers with one letter (docs/policies.md)."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import Qwen2_5_VLForConditionalGeneration

from quizglass_export.starter.data.batches import Batch, bucketed
from quizglass_export.starter.data.examples import Encoded, Encoder
from quizglass_export.starter.data.store import Asked
from quizglass_export.starter.loop.schedule import Schedule, optimiser, resume, save_progress
from quizglass_export.starter.loop.training import Pictures, predict
from quizglass_export.starter.stages.annotate import LABELS, Annotation, plan_request

_log = logging.getLogger(__name__)
RANK = 32
ALPHA = 128
_TARGETS = r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"
_BATCH_TOKENS = 4096
_SAVE_EVERY = 120.0
"""Seconds."""


def with_adapter(model: Qwen2_5_VLForConditionalGeneration) -> PeftModel:
    """The base with a fresh LoRA on every linear layer of its language part."""
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=_TARGETS, task_type="CAUSAL_LM")
    return get_peft_model(model, config)


def balanced(annotations: Sequence[Annotation], rng: random.Random) -> list[Annotation]:
    """About as many of none, text and both, and every image label there is, which is fewer, as in the paper's set."""
    by_plan: dict[str, list[Annotation]] = {plan: [] for plan in LABELS}
    for annotation in annotations:
        by_plan[annotation.plan].append(annotation)
    most = round(1.4 * min(len(by_plan[plan]) for plan in ("none", "text", "both")))
    return [a for made in by_plan.values() for a in rng.sample(made, min(most, len(made)))]


def encode(annotations: Sequence[Annotation], asked: Asked, encoder: Encoder, first_row: int = 0) -> list[Encoded]:
    """Plan prompts with their letters; the pictures of `asked` start at `first_row` of the store."""
    return [
        Encoded(
            encoder.prompt(plan_request(asked.questions[a.row], first_row + a.row)),
            (encoder.label(LABELS[a.plan]),),
            first_row + a.row,
            a.plan,
        )
        for a in annotations
    ]


def _batches(examples: Sequence[Encoded], encoder: Encoder, rng: random.Random) -> Iterator[Batch]:
    """Endless epochs."""
    while True:
        made = bucketed([[example] for example in examples], encoder, _BATCH_TOKENS)
        yield from rng.sample(made, len(made))


def _letters(scores: Tensor, encoder: Encoder) -> Tensor:
    """Scores of the four letters, [N, 4]."""
    return scores[:, [encoder.label(text) for text in LABELS.values()]]


def train_planner(
    adapted: PeftModel,
    examples: Sequence[Encoded],
    encoder: Encoder,
    store: Pictures,
    folder: Path,
    minutes: float,
    *,
    rate: float = 4e-4,
    log_every: int = 50,
) -> None:
    """Train the adapter in place, loss on the letter alone. Resumable from `folder`."""
    base = adapted.get_base_model()
    trained = nn.ModuleDict({"adapter": adapted})
    optimizer = optimiser(trained, rate, decay=0.01)
    schedule = Schedule(minutes, rate)
    resume(folder, trained, optimizer, schedule)
    batches = _batches(examples, encoder, random.Random(schedule.steps))
    average, right, saved = 1.4, 0.25, schedule.spent
    while schedule.step(optimizer, f"loss {average:.3f}"):
        batch = next(batches)
        with torch.autocast("cpu", torch.bfloat16):
            scores = predict(base, batch, encoder.pad, store).float()
        loss = F.cross_entropy(scores, batch.targets)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        average = 0.97 * average + 0.03 * float(loss)
        right = 0.97 * right + 0.03 * float((scores.argmax(-1) == batch.targets).float().mean())
        if schedule.steps % log_every == 0:
            _log.info("planner step %d %s loss %.3f right %.3f", schedule.steps, schedule.progress(), average, right)
        if schedule.spent - saved > _SAVE_EVERY:
            saved = schedule.spent
            save_progress(folder, trained, optimizer, schedule)
    save_progress(folder, trained, optimizer, schedule)


@torch.no_grad()
def choices(
    adapted: PeftModel, examples: Sequence[Encoded], encoder: Encoder, store: Pictures
) -> list[tuple[str, str]]:
    """(label, chosen plan) of every example, in the order of their lengths."""
    base = adapted.get_base_model()
    plans = list(LABELS)
    made: list[tuple[str, str]] = []
    for batch in bucketed([[example] for example in examples], encoder, 2 * _BATCH_TOKENS):
        best = _letters(predict(base, batch, encoder.pad, store), encoder).argmax(-1).tolist()
        made.extend(zip(batch.tasks, (plans[index] for index in best), strict=True))
    return made


def accuracy(chosen: Sequence[tuple[str, str]]) -> float:
    """Share of right plans."""
    return sum(label == plan for label, plan in chosen) / len(chosen)


def confusion(chosen: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Label to plan to count."""
    return {label: {plan: chosen.count((label, plan)) for plan in LABELS} for label in LABELS}


def report(adapted: PeftModel, tests: Sequence[Annotation], asked: Asked, encoder: Encoder) -> dict[str, object]:
    """Accuracy on held-out annotations, also by whether the thing was ever trained on, and the confusion."""
    chosen = choices(adapted, encode(tests, asked, encoder), encoder, asked.pictures)
    made: dict[str, object] = {"accuracy": round(accuracy(chosen), 4), "confusion": confusion(chosen)}
    for name, core in (("accuracy-core", True), ("accuracy-new", False)):
        part = encode([a for a in tests if a.seen_in_training == core], asked, encoder)
        made[name] = round(accuracy(choices(adapted, part, encoder, asked.pictures)), 4)
    return made
