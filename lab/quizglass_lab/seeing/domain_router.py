"""Trains the domain router: a head on the coarse reranker's Q-Former, kept as it is, names the domain of a question."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional
from transformers import Blip2ForImageTextRetrieval

from quizglass_export.checkpoints.files import CLASSIFIER
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.words import DOMAINS, NUMBER_DOMAIN, TEXT_DOMAIN
from quizglass_lab.retrieval.image_encoder import normalise_pixels
from quizglass_lab.retrieval.training import TimedRun, finish, finished, prepare
from quizglass_lab.seeing.asked import Exam, exams, pictures
from quizglass_lab.seeing.coarse_trainer import CoarseTrainer
from quizglass_lab.seeing.q_former_shape import load_q_former

NAME = "domain_router"
LABELS = (*dict.fromkeys(DOMAINS.values()), TEXT_DOMAIN, NUMBER_DOMAIN)
"""Names of the domains, in the order of the head's rows."""
_BATCH = 96
_RATE = 1e-2
_EXAM_STEPS = 2
_MEASURED = (4_990_000, 500, 800)
"""Seed and size of the world on which it is measured, and how many questions."""


def train_domain_router(workdir: Path, minutes: float, threads: int = 1, seed: int = 0) -> Path:
    """Train (or go on training) the head and save it beside the Q-Former; returns `workdir`/domain_router.

    Needs the coarse reranker.
    """
    prepare(workdir, threads, seed)
    out = workdir / NAME
    if finished(out):
        return out
    base = CoarseTrainer(*load_q_former(workdir / "coarse_reranker"))
    head = nn.Linear(base.questions.model.config.qformer_config.hidden_size, len(LABELS))
    run = TimedRun(NAME, out / "training", head, minutes, _RATE)
    rng = random.Random(f"domain router/{seed}/{run.step}")
    supply = exams(rng)
    exam = next(supply)
    for step in run.steps():
        if step % _EXAM_STEPS == 0:
            exam = next(supply)
        batch = rng.sample(exam.all, min(_BATCH, len(exam.all)))
        logits, labels = head(mean_states(base, batch, rng)), labels_of(batch)
        right = (logits.argmax(1) == labels).float().mean().item()
        run.update(functional.cross_entropy(logits, labels), right=right)
    _save(head, base.questions.model, workdir / "coarse_reranker")
    finish(out, evaluate(workdir), run)
    return out


def _save(head: nn.Linear, q_former: Blip2ForImageTextRetrieval, folder: Path) -> None:
    """Write the head, and what its rows are called as the Q-Former's `id2label`."""
    weights = {name: value.detach().contiguous() for name, value in head.state_dict().items()}
    save_file(weights, str(folder / CLASSIFIER))
    q_former.config.id2label = dict(enumerate(LABELS))
    q_former.config.save_pretrained(folder)


@torch.no_grad()
def mean_states(base: CoarseTrainer, questions: Sequence[Question], rng: random.Random | None = None) -> Tensor:
    """What the head reads of questions, float32 [B, H]: it is linear, so the mean of its logits is that of the mean."""
    pixels = normalise_pixels(pictures(questions, rng))
    return base.states(pixels, [question.text for question in questions]).mean(1)


def labels_of(questions: Sequence[Question]) -> Tensor:
    """Rows of the head, int64 [B]."""
    return torch.tensor([LABELS.index(question.domain) for question in questions])


def evaluate(workdir: Path) -> dict[str, object]:
    """Share of right domains on a world never trained on: of all questions, by domain, and of the commonest one."""
    base = CoarseTrainer(*load_q_former(workdir / "coarse_reranker"))
    head = load_file(str(workdir / "coarse_reranker" / CLASSIFIER))
    exam = Exam.of(*_MEASURED)
    questions, right = exam.all, []
    for start in range(0, len(questions), _BATCH):
        part = questions[start : start + _BATCH]
        logits = functional.linear(mean_states(base, part), head["weight"], head["bias"])
        right.append(logits.argmax(1) == labels_of(part))
    hits, labels = torch.cat(right).float(), labels_of(questions)
    by_domain = {name: hits[labels == i] for i, name in enumerate(LABELS)}
    return {
        "accuracy": round(hits.mean().item(), 4),
        "by domain": {
            name: [len(those), round(those.mean().item(), 4)] for name, those in by_domain.items() if len(those)
        },
        "commonest": round(labels.bincount().max().item() / len(labels), 4),
    }
