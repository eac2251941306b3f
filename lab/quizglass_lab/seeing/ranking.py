"""Measures the coarse reranker as the server uses it: on what a text search brings, does the gold passage stay?

On a world that no model has seen. The passages are the server's candidates: those nearest to the gold query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import Qwen3ForCausalLM

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.retrieval.evaluate import judge
from quizglass_lab.retrieval.image_encoder import normalise_pixels
from quizglass_lab.retrieval.pairs import PassageLibrary
from quizglass_lab.retrieval.rerank_data import PromptReader
from quizglass_lab.retrieval.reranker import ensure_tokenizer, load_reranker
from quizglass_lab.retrieval.text_encoder import embed_texts, load_text_encoder
from quizglass_lab.retrieval.thresholds import KEPT_SHARE, Report, keeping_threshold
from quizglass_lab.seeing.asked import Exam, pictures
from quizglass_lab.seeing.coarse_trainer import CoarseTrainer
from quizglass_lab.seeing.q_former_shape import load_q_former

WORLD = (7001, 1000, 400)
"""Seed and size of the world, and how many questions."""
CANDIDATES = 8
_KEPT = (1, 2, 4)
_BATCH = 64


@dataclass(frozen=True)
class Candidates:
    """What the text search brings for each question.

    Attributes:
        questions: as they are asked.
        queries: the same as they are searched for.
        texts: [Q][8], nearest first.
        cosines: float32 [Q, 8].
        gold: bool [Q, 8], which of them answer.
    """

    questions: Sequence[Question]
    queries: Sequence[str]
    texts: Sequence[Sequence[str]]
    cosines: Tensor
    gold: Tensor


def evaluate_coarse(workdir: Path, seed: int, things: int, questions: int) -> Report:
    """Shares of questions whose gold passage is among the first few by each order, and the line to draw.

    Where the reranker is there, also by its relevance and by relevance x coarse. `coarse_accept` is the cosine that
    99 % of the gold passages reach.
    """
    candidates = _candidates(workdir, Exam.of(seed, things, questions))
    if not candidates.questions:
        return {"questions": 0}
    trainer = CoarseTrainer(*load_q_former(workdir / "coarse_reranker")).eval()
    passages, pixels = _passages(trainer, candidates), pictures(candidates.questions)
    asked = [question.text for question in candidates.questions]
    orders = {
        "text search": candidates.cosines,
        "coarse": _coarse(trainer, pixels, candidates.queries, passages),
        "coarse, no picture": _coarse(trainer, pixels * 0 + 128, candidates.queries, passages),
        "coarse, question as asked": _coarse(trainer, pixels, asked, passages),
    }
    coarse = orders["coarse"]
    line = keeping_threshold(coarse[candidates.gold].tolist(), coarse[~candidates.gold].tolist(), KEPT_SHARE)
    if (workdir / "reranker").is_dir():
        fine = _fine(workdir, candidates)
        orders |= {
            "fine": fine,
            "fine x text search": fine * candidates.cosines,
            "fine x coarse": fine * coarse.clamp(min=0),
        }
    kept = {name: _first(scores, candidates.gold) for name, scores in orders.items()}
    return {
        "questions": len(candidates.queries),
        "gold among the first": kept,
        "accept": line,
        "coarse_accept": line["threshold"],
    }


def _candidates(workdir: Path, exam: Exam) -> Candidates:
    """Those questions whose gold passage is among the candidates."""
    library: PassageLibrary = exam.library
    model, tokenizer = load_text_encoder(workdir / "text_encoder")
    vectors = embed_texts(model, tokenizer, [passage.text for passage in library.passages])
    queries = [pair.query for _, pair in exam.questions]
    cosines, numbers = (embed_texts(model, tokenizer, queries) @ vectors.T).topk(CANDIDATES, dim=1)
    gold = torch.tensor(
        [[n in pair.gold for n in row] for row, (_, pair) in zip(numbers.tolist(), exam.questions, strict=True)]
    )
    there = gold.any(1).nonzero().flatten().tolist()
    return Candidates(
        [exam.questions[i][0] for i in there],
        [queries[i] for i in there],
        [[library.passages[n].text for n in numbers[i].tolist()] for i in there],
        cosines[there],
        gold[there],
    )


@torch.inference_mode()
def _passages(trainer: CoarseTrainer, candidates: Candidates) -> Tensor:
    """Vectors [Q, 8, D] of the candidates."""
    texts = [text for row in candidates.texts for text in row]
    parts = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
    vectors = torch.cat([trainer.passages(**trainer.words(part)) for part in parts])
    return vectors.view(len(candidates.texts), CANDIDATES, -1)


@torch.inference_mode()
def _coarse(trainer: CoarseTrainer, pixels: NDArray[np.uint8], texts: Sequence[str], passages: Tensor) -> Tensor:
    """Similarities [Q, 8] of pictures and questions with their candidates."""
    rows = []
    for start in range(0, len(texts), _BATCH):
        part = slice(start, start + _BATCH)
        queries = trainer.queries(trainer.states(normalise_pixels(pixels[part]), texts[part]))
        rows.append(torch.einsum("bnd,bkd->bnk", queries, passages[part]).amax(1))
    return torch.cat(rows)


def _fine(workdir: Path, candidates: Candidates) -> Tensor:
    """The reranker's probabilities [Q, 8]."""
    reader, model = PromptReader(ensure_tokenizer(workdir)), load_reranker(workdir)
    rows = [(query, text) for query, row in zip(candidates.queries, candidates.texts, strict=True) for text in row]
    fine: Qwen3ForCausalLM = model.eval()
    return judge(fine, reader, rows).view(-1, CANDIDATES)


def _first(scores: Tensor, gold: Tensor) -> dict[str, float]:
    """Shares of rows with a gold candidate among the best 1, 2 and 4."""
    order = scores.argsort(1, descending=True)
    ranked = gold.gather(1, order)
    return {f"{most}": round(ranked[:, :most].any(1).float().mean().item(), 4) for most in _KEPT}
