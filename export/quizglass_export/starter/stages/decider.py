"""Stage 5: the decider, a LoRA on the base model that answers every policy's decisions with one letter.

One adapter plans (docs/policies.md), acts, routes, chooses entries and verifies; prompts tell the tasks apart. What a
question needs is what the annotation found out that the base lacks.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from torch.nn import functional as F
from transformers import Qwen2_5_VLForConditionalGeneration

from quizglass_export.starter.data.batches import Batch, bucketed
from quizglass_export.starter.data.examples import LETTERS, MOST_TOKENS, Encoded, Encoder, Example
from quizglass_export.starter.data.knowing import Known
from quizglass_export.starter.data.store import Asked
from quizglass_export.starter.data.tasks.choices import Choices
from quizglass_export.starter.data.tasks.lookups import Lookups
from quizglass_export.starter.loop.schedule import Schedule, optimiser, resume, save_progress
from quizglass_export.starter.loop.training import Pictures, predict
from quizglass_export.starter.model.precision import autocast
from quizglass_export.starter.stages.annotate import LABELS, Annotation, plan_request

_log = logging.getLogger(__name__)
RANK = 32
ALPHA = 128
DECISIONS: Mapping[str, tuple[str, ...]] = {
    "planner": ("none", "image", "text", "both"),
    "tool_router": ("none", "image", "text", "both"),
    "verifier": ("supported", "unsupported", "contradicted", "incomplete"),
    "act": ("none", "text", "image"),
    "subject": ("other", "book", "logo", "plant", "calculation", "translation"),
    "entity": ("yes", "no"),
    "select": ("1", "2", "3", "4", "5", "none"),
    "select_by_text": ("1", "2", "3", "4", "5", "none"),
}
"""Roles that the adapter fills, with their labels in the order of the letters."""
_TARGETS = r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"
_BATCH_TOKENS = 4096
_POOL = 1500
_SAVE_EVERY = 120.0
_RATE = 4e-4
_LOG_EVERY = 50
"""Seconds."""
_SHARES = {
    "act": 0.9,
    "tool": 0.3,
    "select": 0.3,
    "select_by_text": 0.1,
    "entity": 0.3,
    "verify": 0.7,
    "subject": 0.08,
}
"""Of the planned questions, how many are asked about in each other task."""


def with_adapter(model: Qwen2_5_VLForConditionalGeneration, start: Path | None = None) -> PeftModel:
    """The base with a LoRA on every linear layer of its language part: the one in `start` if there is one, or fresh."""
    if start is not None and (start / "adapter_config.json").is_file():
        return PeftModel.from_pretrained(model, start, is_trainable=True)
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=_TARGETS, task_type="CAUSAL_LM")
    return get_peft_model(model, config)


def balanced(annotations: Sequence[Annotation], rng: random.Random) -> list[Annotation]:
    """About as many of none, text and both, and every image label there is, which is fewer, as in the paper's set."""
    by_plan: dict[str, list[Annotation]] = {plan: [] for plan in LABELS}
    for annotation in annotations:
        by_plan[annotation.plan].append(annotation)
    most = round(1.4 * min(len(by_plan[plan]) for plan in ("none", "text", "both")))
    return [a for group in by_plan.values() for a in rng.sample(group, min(most, len(group)))]


class Decisions:
    """Makes the decisions about annotated questions."""

    def __init__(self, asked: Asked, rng: random.Random, shares: Mapping[str, float] = _SHARES) -> None:
        """`shares` of the questions are asked about in each task besides planning."""
        self.asked = asked
        self.rng = rng
        self.shares = shares
        self._lookups = {id(library): Lookups(library, rng) for library in asked.libraries}
        self._choices = {id(library): Choices(library, rng) for library in asked.libraries}

    def about(self, annotation: Annotation) -> list[Example]:
        """The plan, and some other decisions."""
        row = annotation.row
        question = self.asked.questions[row]
        letter = LABELS[annotation.plan].strip()
        examples: list[Example | None] = [Example(plan_request(question, row), letter, f"plan-{annotation.plan}")]
        known = annotation.known(question)
        if self._drawn("tool"):
            choices = self._choices[id(self.asked.libraries[row])]
            examples.append(choices.tool(question, row, known, annotation.plan, annotation.answers[0]))
        return [*(example for example in examples if example), *self.others(row, known)]

    def others(self, row: int, known: Known) -> list[Example]:
        """Decisions that need no plan."""
        question, library = self.asked.questions[row], id(self.asked.libraries[row])
        choices = self._choices[library]
        examples = [
            self._lookups[library].act(question, row, known) if self._drawn("act") else None,
            choices.select(question, row) if self._drawn("select") else None,
            choices.select(question, row, "select_by_text") if self._drawn("select_by_text") else None,
            choices.entity(question, row) if self._drawn("entity") else None,
            choices.verify(question, row, known) if self._drawn("verify") else None,
            choices.subject(question, row, known) if self._drawn("subject") else None,
        ]
        return [example for example in examples if example is not None]

    def _drawn(self, task: str) -> bool:
        return self.rng.random() < self.shares[task]


def encode(groups: Sequence[Sequence[Example]], encoder: Encoder) -> list[list[Encoded]]:
    """Prompts with their letters, those that are too long left out."""
    lettered = [[_lettered(example, encoder) for example in group] for group in groups]
    short = [[each for each in group if len(each.prompt) <= MOST_TOKENS] for group in lettered]
    return [group for group in short if group]


def _lettered(example: Example, encoder: Encoder) -> Encoded:
    request = example.request
    label = encoder.label(f" {example.answer}")
    return Encoded(encoder.prompt(request), (label,), request.picture, example.task)


def training_groups(asked: Asked, labelled: Sequence[Annotation], rng: random.Random) -> list[list[Example]]:
    """Decisions about a balanced choice of annotated questions, and about those that nothing answers."""
    decisions = Decisions(asked, rng)
    unanswerable = [row for row, question in enumerate(asked.questions) if question.group is None]
    groups = [decisions.about(annotation) for annotation in balanced(labelled, rng)]
    for row in unanswerable:
        known = Known.taught(asked.questions[row], asked.libraries[row])
        groups += [decisions.others(row, known)]
    return groups


def _batches(groups: Sequence[Sequence[Encoded]], encoder: Encoder, rng: random.Random) -> Iterator[Batch]:
    """Endless epochs, a pool at a time: batches take far more memory than what they are made of."""
    while True:
        order = rng.sample(groups, len(groups))
        for start in range(0, len(order), _POOL):
            batches = bucketed(order[start : start + _POOL], encoder, _BATCH_TOKENS)
            yield from rng.sample(batches, len(batches))


def train_decider(
    adapted: PeftModel,
    groups: Sequence[Sequence[Encoded]],
    encoder: Encoder,
    store: Pictures,
    folder: Path,
    minutes: float,
) -> None:
    """Train the adapter in place, loss on the letter alone. Resumable from `folder`."""
    base = adapted.get_base_model()
    trained = nn.ModuleDict({"adapter": adapted})
    optimizer = optimiser(trained, _RATE, decay=0.01)
    schedule = Schedule(minutes, _RATE)
    resume(folder, trained, optimizer, schedule)
    batches = _batches(groups, encoder, random.Random(schedule.steps))
    average, right, saved = 1.4, 0.25, schedule.spent
    while schedule.step(optimizer, f"loss {average:.3f}"):
        batch = next(batches)
        with autocast():
            scores = predict(base, batch, encoder.pad, store).float()
        loss = F.cross_entropy(scores, batch.targets)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        average = 0.97 * average + 0.03 * float(loss)
        right = 0.97 * right + 0.03 * float((scores.argmax(-1) == batch.targets).float().mean())
        if schedule.steps % _LOG_EVERY == 0:
            _log.info("decider step %d %s loss %.3f right %.3f", schedule.steps, schedule.progress(), average, right)
        if schedule.spent - saved > _SAVE_EVERY:
            saved = schedule.spent
            save_progress(folder, trained, optimizer, schedule)
    save_progress(folder, trained, optimizer, schedule)


@torch.no_grad()
def letters_chosen(
    adapted: PeftModel, groups: Sequence[Sequence[Encoded]], encoder: Encoder, store: Pictures
) -> list[tuple[str, str, str]]:
    """(task, right letter, chosen letter) of every example."""
    base = adapted.get_base_model()
    ids = [encoder.label(f" {letter}") for letter in LETTERS]
    choices: list[tuple[str, str, str]] = []
    pools = (groups[start : start + _POOL // 5] for start in range(0, len(groups), _POOL // 5))
    for batch in chain.from_iterable(bucketed(pool, encoder, 2 * _BATCH_TOKENS) for pool in pools):
        best = predict(base, batch, encoder.pad, store)[:, ids].argmax(-1).tolist()
        right = [ids.index(int(target)) for target in batch.targets]
        tasks = [batch.tasks[int(owner)] for owner in batch.owners]
        choices.extend(
            (task, LETTERS[gold], LETTERS[chosen]) for task, gold, chosen in zip(tasks, right, best, strict=True)
        )
    return choices


def share_right(chosen: Sequence[tuple[str, str, str]]) -> float:
    """Share of right letters; 0 of none."""
    return round(sum(gold == letter for _, gold, letter in chosen) / max(1, len(chosen)), 4)


def report(adapted: PeftModel, tests: Sequence[Annotation], asked: Asked, encoder: Encoder) -> dict[str, object]:
    """Shares of right letters on held-out questions: by decision and label; of plans also by whether the thing was ever
    trained on, with the confusion."""
    decisions = Decisions(asked, random.Random(7), dict.fromkeys(_SHARES, 1.0))
    groups = encode([decisions.about(annotation) for annotation in tests], encoder)
    chosen = letters_chosen(adapted, groups, encoder, asked.pictures)
    tasks = sorted({task for task, _, _ in chosen})
    shares: dict[str, object] = {
        "by-label": {task: share_right([each for each in chosen if each[0] == task]) for task in tasks}
    }
    for decision in sorted({task.split("-")[0] for task in tasks}):
        shares[decision] = share_right([each for each in chosen if each[0].split("-")[0] == decision])
    plans = {letter.strip(): plan for plan, letter in LABELS.items()}
    planned = [(plans[gold], plans.get(letter, "none")) for task, gold, letter in chosen if task.startswith("plan-")]
    shares["confusion"] = {gold: {plan: planned.count((gold, plan)) for plan in LABELS} for gold in LABELS}
    for name, core in (("plan-core", True), ("plan-new", False)):
        part = [decisions.about(a)[:1] for a in tests if a.seen_in_training == core]
        shares[name] = share_right(letters_chosen(adapted, encode(part, encoder), encoder, asked.pictures))
    return shares
