"""Stage 5: the decider, a LoRA on the base model that answers every policy's decisions with one letter.

One adapter plans (docs/policies.md), acts, routes, chooses entries and verifies; prompts tell the tasks apart. What a
question needs is what the annotation found out that the base lacks.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import Qwen2_5_VLForConditionalGeneration

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.starter.data.batches import Batch, bucketed, pool_size
from quizglass_lab.starter.data.examples import LETTERS, MOST_TOKENS, Encoded, Encoder, Example
from quizglass_lab.starter.data.knowing import Known
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.data.tasks.choices import Choices
from quizglass_lab.starter.data.tasks.lookups import Lookups
from quizglass_lab.starter.loop.training import Pictures, fit, predict
from quizglass_lab.starter.model.precision import device_of
from quizglass_lab.starter.stages.annotate import LABELS, Annotation, plan_request
from quizglass_lab.starter.stages.drafting import OwnDraft
from quizglass_lab.starter.stages.judging import SUPPORTED, OwnAnswer, trusted
from quizglass_lab.starter.stages.remembering import memory_threshold

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
_RATE = 4e-4
_SHARES = {
    "act": 0.9,
    "tool": 0.5,
    "select": 0.5,
    "select_by_text": 0.1,
    "entity": 0.3,
    "verify": 0.5,
    "subject": 0.08,
}
"""Of the planned questions, how many are asked about in each other task."""
_OWN = 0.6
"""Verifications of the base's own answers, as a share of the groups about questions."""
_MISTAKEN = 0.25
"""Of those, how many are of wrong answers at least: a base that is right in nine of ten teaches little of mistakes."""


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

    def __init__(
        self,
        asked: Asked,
        rng: random.Random,
        shares: Mapping[str, float] = _SHARES,
        drafts: Sequence[OwnDraft] = (),
    ) -> None:
        """`shares` of the questions are asked about in each task besides planning; `drafts` are the base's own."""
        self.asked = asked
        self.rng = rng
        self.shares = shares
        self._drafts = {draft.row: draft for draft in drafts}
        self._lookups = {id(library): Lookups(library, rng) for library in asked.worlds}
        self._choices = {id(library): Choices(library, rng) for library in asked.worlds}

    def about(self, annotation: Annotation) -> list[Example]:
        """The plan, and some other decisions."""
        row = annotation.row
        question = self.asked.questions[row]
        letter = LABELS[annotation.plan].strip()
        examples: list[Example | None] = [Example(plan_request(question, row), letter, f"plan-{annotation.plan}")]
        if self._drawn("tool"):
            examples.append(self._tool(question, annotation))
        return [*(example for example in examples if example), *self.others(row, annotation.known(question))]

    def _tool(self, question: Question, annotation: Annotation) -> Example | None:
        """What the base's own draft lacks, with its thoughts; or what its plain answer lacks."""
        choices, own = self._choices[id(self.asked.libraries[annotation.row])], self._drafts.get(annotation.row)
        if own is None:
            return choices.tool(question, annotation.row, annotation.plan, annotation.answers[0], ())
        plan = own.plan(question, annotation)
        return choices.tool(question, annotation.row, plan, own.draft, own.steps) if plan else None

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


class DecisionBatches:
    """Pools of batches: decisions about a balanced choice of annotated questions, about those that nothing answers, and
    about the base's own answers.

    What stands beside a question (hits, passages, drafts) is drawn anew whenever it is asked about.
    """

    def __init__(
        self,
        encoder: Encoder,
        asked: Asked,
        labelled: Sequence[Annotation],
        concluded: Sequence[OwnAnswer],
        drafts: Sequence[OwnDraft],
        seed: int,
        scale: int = 1,
    ) -> None:
        """`scale`: how many times larger than on a CPU batches are."""
        self._encoder = encoder
        self._asked = asked
        self._seed = seed
        self._scale = scale
        self._rng = random.Random(seed)
        self._decisions = Decisions(asked, self._rng, drafts=drafts)
        self._labelled = balanced(labelled, self._rng)
        self._concluded = concluded
        self._weights = _weights([answer.label != SUPPORTED for answer in concluded])
        self._open = [row for row, question in enumerate(asked.questions) if question.group is None]

    def reseed(self, number: int) -> None:
        """Draw differently from here on than with another number."""
        self._rng.seed(self._seed + 1000 * number)

    def __call__(self, part: float, copied: float) -> Iterator[Batch]:
        """The next pool."""
        chosen = self._rng.choices(range(len(self._labelled) + len(self._open)), k=pool_size(_POOL, self._scale))
        count = round(_OWN * len(chosen))
        own = self._rng.choices(self._concluded, self._weights, k=count) if self._concluded else []
        groups = encode([*map(self._group, chosen), *map(self._own, own)], self._encoder)
        batches = bucketed(groups, self._encoder, _BATCH_TOKENS * self._scale)
        return iter(self._rng.sample(batches, len(batches)))

    def _group(self, index: int) -> list[Example]:
        if index < len(self._labelled):
            return self._decisions.about(self._labelled[index])
        row = self._open[index - len(self._labelled)]
        return self._decisions.others(row, Known.taught(self._asked.questions[row], self._asked.libraries[row]))

    def _own(self, answer: OwnAnswer) -> list[Example]:
        return [answer.example(self._asked.questions[answer.row])]


def _weights(mistaken: Sequence[bool]) -> list[float]:
    """How often to draw each answer, so that at least `_MISTAKEN` of those drawn are mistaken."""
    wrong = sum(mistaken)
    if wrong == 0 or wrong >= _MISTAKEN * len(mistaken):
        return [1.0] * len(mistaken)
    oftener = _MISTAKEN / (1 - _MISTAKEN) * (len(mistaken) - wrong) / wrong
    return [oftener if each else 1.0 for each in mistaken]


def train_decider(
    adapted: PeftModel,
    batches: DecisionBatches,
    store: Pictures,
    folder: Path,
    minutes: float,
    workers: int = 0,
) -> None:
    """Train the adapter in place, loss on the letter alone. Resumable from `folder`."""
    base = adapted.get_base_model()
    fit(base, batches, folder, minutes, rate=_RATE, store=store, workers=workers)


@dataclass(frozen=True)
class Weighed:
    """A decision that was asked for: its task, the place of the right letter among LETTERS, and each letter's score."""

    task: str
    right: int
    scores: tuple[float, ...]

    @property
    def chosen(self) -> tuple[str, str, str]:
        """The task, the right letter, and the one that scores most."""
        best = max(range(len(self.scores)), key=self.scores.__getitem__)
        return self.task, LETTERS[self.right], LETTERS[best]

    def probability(self, label: int, labels: int) -> float:
        """Of one of the first `labels` letters, as a decider that has no others gives it."""
        told = torch.tensor(self.scores[:labels]).softmax(0)
        return float(told[label])


@torch.no_grad()
def letters_weighed(
    adapted: PeftModel, groups: Sequence[Sequence[Encoded]], encoder: Encoder, store: Pictures
) -> list[Weighed]:
    """What the adapter says to every example, in any order."""
    base = adapted.get_base_model()
    ids = [encoder.label(f" {letter}") for letter in LETTERS]
    weighed: list[Weighed] = []
    device = device_of(adapted)
    pools = (groups[start : start + _POOL // 5] for start in range(0, len(groups), _POOL // 5))
    for made in chain.from_iterable(bucketed(pool, encoder, 2 * _BATCH_TOKENS) for pool in pools):
        batch = made.to(device)
        scores = predict(base, batch, store)[:, ids].float().tolist()
        right = [ids.index(int(target)) for target in batch.targets]
        tasks = [batch.tasks[int(owner)] for owner in batch.owners]
        weighed.extend(map(Weighed, tasks, right, map(tuple, scores)))
    return weighed


def own_weighed(
    adapted: PeftModel, concluded: Sequence[OwnAnswer], asked: Asked, encoder: Encoder
) -> list[tuple[OwnAnswer, Weighed]]:
    """The base's own answers, those with prompts that are too long left out, and what the verifier says to each."""
    examples = [answer.example(asked.questions[answer.row]) for answer in concluded]
    groups = encode([[replace(example, task=str(place))] for place, example in enumerate(examples)], encoder)
    weighed = letters_weighed(adapted, groups, encoder, asked.pictures)
    return [(concluded[int(each.task)], replace(each, task=examples[int(each.task)].task)) for each in weighed]


def letters_chosen(
    adapted: PeftModel, groups: Sequence[Sequence[Encoded]], encoder: Encoder, store: Pictures
) -> list[tuple[str, str, str]]:
    """(task, right letter, chosen letter) of every example."""
    return [each.chosen for each in letters_weighed(adapted, groups, encoder, store)]


def share_right(chosen: Sequence[tuple[str, str, str]]) -> float:
    """Share of right letters; 0 of none."""
    return round(sum(gold == letter for _, gold, letter in chosen) / max(1, len(chosen)), 4)


def report(
    adapted: PeftModel,
    tests: Sequence[Annotation],
    concluded: Sequence[OwnAnswer],
    drafts: Sequence[OwnDraft],
    asked: Asked,
    encoder: Encoder,
) -> dict[str, object]:
    """Shares of right letters on held-out questions: by decision and label, the verifier's also of the base's own
    answers; of plans also by whether the thing was ever trained on, with the confusion. And the thresholds that are
    fitted to the base's own answers: the verifier's, and that of answers from memory."""
    decisions = Decisions(asked, random.Random(7), dict.fromkeys(_SHARES, 1.0), drafts)
    judged = own_weighed(adapted, concluded, asked, encoder)
    groups = encode([decisions.about(annotation) for annotation in tests], encoder)
    chosen = letters_chosen(adapted, groups, encoder, asked.pictures) + [each.chosen for _, each in judged]
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
    names = DECISIONS["verifier"]
    told = names.index(SUPPORTED)
    verified = [each.probability(told, len(names)) for _, each in judged]
    shares |= trusted(verified, [own.p_min for own, _ in judged], [own.label == SUPPORTED for own, _ in judged])
    return shares | from_memory(adapted, tests, asked, encoder)


def from_memory(adapted: PeftModel, tests: Sequence[Annotation], asked: Asked, encoder: Encoder) -> dict[str, object]:
    """`memory_accept`: how probable the least token must be of an answer to what is planned to need no lookup."""
    plans = encode([[Example(plan_request(asked.questions[a.row], a.row), "A", str(a.row))] for a in tests], encoder)
    chosen = letters_chosen(adapted, plans, encoder, asked.pictures)
    remembered = {int(row) for row, none, letter in chosen if letter == none}
    own = [a for a in tests if a.row in remembered]
    right = [a.known(asked.questions[a.row]).answer for a in own]
    return memory_threshold([a.p_min for a in own], right)
