"""Trains the coarse reranker: a question about a picture must find the passage that answers it.

Contrastive, as BLIP-2's first stage (Li et al. 2023, section 3.2) with QA-Dragon's input (equation 2): N query tokens
read picture and question, each passage is one [CLS], and a pair counts by the largest of the N dot products. Negatives
are the other passages of the right entries, those of entries with similar names, and all others of the batch.
"""

from __future__ import annotations

import random
from pathlib import Path

from torch import Tensor
from transformers import CLIPVisionModelWithProjection

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.retrieval.image_encoder import normalise_pixels
from quizglass_lab.retrieval.pairs import Pair
from quizglass_lab.retrieval.text_encoder import contrastive_loss, load_text_encoder, make_batch
from quizglass_lab.retrieval.training import TimedRun, finish, finished, prepare
from quizglass_lab.seeing.asked import Exam, exams, pictures
from quizglass_lab.seeing.coarse_trainer import CoarseTrainer
from quizglass_lab.seeing.q_former_shape import build_q_former, save_q_former
from quizglass_lab.seeing.ranking import WORLD, evaluate_coarse

NAME = "coarse_reranker"
_BATCH = 48
_RATE = 7e-4
_STANDING_ALONE = 0.7  # of the questions are put as a rewriter puts them, which is how the server asks
_EXAM_STEPS = 4
_LOOKS = 1.0  # weight of naming the thing that is asked about


def train_coarse_reranker(workdir: Path, minutes: float, threads: int = 1, seed: int = 0) -> Path:
    """Train (or go on training) and save to `workdir`/coarse_reranker; returns that directory.

    Needs the image encoder and the text encoder.
    """
    prepare(workdir, threads, seed)
    out = workdir / NAME
    if finished(out):
        return out
    images = CLIPVisionModelWithProjection.from_pretrained(workdir / "image_encoder")
    texts, tokenizer = load_text_encoder(workdir / "text_encoder")
    model = build_q_former(len(tokenizer), images, texts)
    trainer = CoarseTrainer(model, tokenizer)
    run = TimedRun(NAME, out / "training", trainer, minutes, _RATE)
    rng = random.Random(f"coarse reranker/{seed}/{run.step}")
    supply = exams(rng)
    exam = next(supply)
    trainer.train()
    for step in run.steps():
        if step % _EXAM_STEPS == 0:
            exam = next(supply)
        loss, measures = batch_loss(trainer, exam, rng)
        run.update(loss, **measures)
    save_q_former(model, workdir / "text_encoder", out)
    finish(out, evaluate_coarse(workdir, *WORLD), run)
    return out


def batch_loss(trainer: CoarseTrainer, exam: Exam, rng: random.Random) -> tuple[Tensor, dict[str, float]]:
    """The loss of some questions of an exam, and how many of them find a passage that answers."""
    batch = rng.sample(exam.questions, min(_BATCH, len(exam.questions)))
    columns, right = make_batch(exam.library, [pair for _, pair in batch], rng)
    asked = [put(question, pair, rng) for question, pair in batch]
    pixels = normalise_pixels(pictures([question for question, _ in batch], rng))
    states = trainer.states(pixels, asked)
    passages = trainer.passages(**trainer.words([exam.library.passages[i].text for i in columns]))
    scores = trainer.similarity(trainer.queries(states), passages)
    looks = trainer.looks_loss(states, [question for question, _ in batch])
    hit = right.gather(1, scores.argmax(1, keepdim=True)).float().mean().item()
    loss = contrastive_loss(trainer.log_scale.clamp(max=4.2).exp() * scores, right)
    return loss + _LOOKS * looks, {"hit": hit, "looks": looks.item()}


def put(question: Question, pair: Pair, rng: random.Random) -> str:
    """A question as the wearer asks it, or rewritten so that it stands alone."""
    return pair.query if rng.random() < _STANDING_ALONE else question.text
