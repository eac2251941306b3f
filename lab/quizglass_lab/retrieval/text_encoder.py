"""Trains the text encoder: a gold query must find the paragraph that answers it.

InfoNCE over batches that hold, for every query, the other paragraphs of the right article and paragraphs of entries
with similar names.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from transformers import BertModel, BertTokenizerFast

from quizglass_lab.retrieval.pairs import Pair, PassageLibrary, training_libraries
from quizglass_lab.retrieval.shapes import (
    TEXT_MAX_TOKENS,
    build_text_encoder,
    mean_pool,
    save_text_pooling,
)
from quizglass_lab.retrieval.training import TimedRun, finish, finished, prepare
from quizglass_lab.retrieval.wordpiece import build_wordpiece
from quizglass_lab.starter.model.precision import autocast

_QUERIES = 64
_OTHERS = 1
_WORLDS = 40
_WORLD_THINGS = 250
_SAMPLED_QUERIES = 2000
_RATE, _FURTHER_RATE = 1.5e-3, 6e-4


def encode(
    model: BertModel, tokenizer: BertTokenizerFast, texts: Sequence[str], *, training: bool = False
) -> torch.Tensor:
    """[N] texts to [N,D] unit vectors."""
    batch = tokenizer(list(texts), padding=True, truncation=True, max_length=TEXT_MAX_TOKENS, return_tensors="pt")
    with autocast(enabled=training):
        hidden = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    return mean_pool(hidden.float(), batch["attention_mask"])


@torch.inference_mode()
def embed_texts(model: BertModel, tokenizer: BertTokenizerFast, texts: Sequence[str], batch: int = 128) -> torch.Tensor:
    """[N] texts to [N,D] unit vectors, sorted by length inside so that little is padded."""
    model.eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    rows = torch.empty(len(texts), model.config.hidden_size)
    for i in range(0, len(order), batch):
        part = order[i : i + batch]
        rows[part] = encode(model, tokenizer, [texts[j] for j in part])
    return rows


class TextTrainer(nn.Module):
    """The encoder with a learned temperature."""

    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.log_scale = nn.Parameter(torch.tensor(2.7))


def make_batch(library: PassageLibrary, pairs: Sequence[Pair], rng: random.Random) -> tuple[list[int], torch.Tensor]:
    """Numbers of the passages of a batch, and [Q,P] true where a passage answers a query."""
    column: dict[int, int] = {}
    for pair in pairs:
        for i in (*pair.gold, *library.hard_negatives(pair, rng, _OTHERS)):
            column.setdefault(i, len(column))
    right = torch.zeros(len(pairs), len(column), dtype=torch.bool)
    for row, pair in enumerate(pairs):
        right[row, [column[i] for i in pair.gold]] = True
    return list(column), right


def contrastive_loss(scores: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """-log of the share of probability that falls on the right passages; scores and right are [Q,P]."""
    log_share = functional.log_softmax(scores, dim=1).masked_fill(~right, float("-inf"))
    return -torch.logsumexp(log_share, dim=1).mean()


def load_text_encoder(folder: Path) -> tuple[BertModel, BertTokenizerFast]:
    """The trained encoder and its tokenizer."""
    model = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager")
    return model.eval(), BertTokenizerFast.from_pretrained(folder)


def _texts(libraries: Sequence[PassageLibrary], rng: random.Random) -> list[str]:
    queries = [rng.choice(libraries).draw(rng).query for _ in range(_SAMPLED_QUERIES)]
    return [*queries, *(passage.text for library in libraries[:10] for passage in library.passages)]


def _names(libraries: Sequence[PassageLibrary]) -> list[str]:
    return [article.title for library in libraries for article in library.articles.values()]


def _begun(libraries: Sequence[PassageLibrary], out: Path, seed: int) -> tuple[BertModel, BertTokenizerFast]:
    tokenizer = build_wordpiece(_texts(libraries, random.Random(f"text encoder/{seed}")), _names(libraries), out)
    return build_text_encoder(len(tokenizer)), tokenizer


def train_text_encoder(workdir: Path, minutes: float, threads: int = 1, seed: int = 0) -> Path:
    """Train (or go on training) and save to `workdir`/text_encoder, unless that is done; returns that directory.

    Weights that are there already are where it begins.
    """
    prepare(workdir, threads, seed)
    out = workdir / "text_encoder"
    if finished(out):
        return out
    libraries = training_libraries(_WORLDS, _WORLD_THINGS, seed)
    further = (out / "model.safetensors").is_file()
    encoder, tokenizer = load_text_encoder(out) if further else _begun(libraries, out, seed)
    model = TextTrainer(encoder)
    run = TimedRun("text_encoder", out / "training", model, minutes, _FURTHER_RATE if further else _RATE)
    rng = random.Random(f"text encoder/{seed}/{run.step}")
    model.train()
    for _ in run.steps():
        library = rng.choice(libraries)
        batch = [library.draw(rng) for _ in range(_QUERIES)]
        columns, right = make_batch(library, batch, rng)
        passages = [library.passages[i].text for i in columns]
        queries = encode(model.encoder, tokenizer, [pair.query for pair in batch], training=True)
        scores = (
            model.log_scale.clamp(max=4.2).exp() * queries @ encode(model.encoder, tokenizer, passages, training=True).T
        )
        hit = right.gather(1, scores.argmax(1, keepdim=True)).float().mean().item()
        run.update(contrastive_loss(scores, right), hit=hit)
    model.encoder.save_pretrained(out)
    save_text_pooling(out)
    finish(out, run.measured, run)
    return out
