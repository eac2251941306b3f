"""Every ONNX architecture of the exporter, small and with random weights, and the inputs that it is compared on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from quizglass_export.roles.shared.samples import ParitySample, random_samples
from tests.support.bundles import tiny_checkpoints, tiny_qwen

Size = tuple[int, int]
LENGTHS = (1, 2, 4, 9, 19, 40)
"""Words of the texts."""
BATCHES = (2, 5, 16)
"""Samples in a padded batch, besides one at a time."""
_SIZES: tuple[Size, ...] = ((112, 112), (140, 84), (56, 196))
_DOMAINS = ("food", "plants", "vehicles")


@dataclass(frozen=True)
class Architecture:
    """One of transformers' architectures in one role.

    Attributes:
        name: for the table.
        role: of a recipe.
        make: writes a checkpoint with its tokenizer to a directory.
        spec: further keys of the role in the recipe.
        sizes: pictures' width and height, each a graph of its own; empty where the checkpoint has one size or none.
    """

    name: str
    role: str
    make: Callable[[Path], object]
    spec: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sequence[Size] = ()


def samples(count: int) -> list[ParitySample]:
    """Noise pictures of several shapes with texts of one word and of many, so that batches are padded unevenly."""
    found = []
    for index, sample in enumerate(random_samples(count)):
        words = " ".join((sample.question, *sample.passages, sample.query)).split() * 2
        text = " ".join(words[: LENGTHS[index % len(LENGTHS)]])
        found.append(replace(sample, question=text, query=" ".join(words[:7]), passages=(text, *sample.passages)))
    return found


def qwen(make: Callable[[Path], Any]) -> Callable[[Path], Path]:
    """What writes one of `tiny_qwen`'s models with its tokenizer."""

    def written(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = tiny_qwen.write_tokenizer(folder / "tokenizer.json")
        tiny_checkpoints.scatter(make(tokenizer)).save_pretrained(folder)
        return folder

    return written


def _text(kind: str, labels: int = 0) -> Callable[[Path], Path]:
    return lambda folder: tiny_checkpoints.text_model(folder, kind, labels)


def _image(kind: str) -> Callable[[Path], Path]:
    return lambda folder: tiny_checkpoints.image_model(folder, kind)


def _with_words(make: Callable[[int], Any]) -> Callable[[Path], None]:
    return lambda folder: make(tiny_checkpoints.bert_tokenizer(folder)).save_pretrained(folder)


def _with_head(folder: Path) -> None:
    _with_words(tiny_checkpoints.blip2)(folder)
    torch.manual_seed(1)
    save_file({"weight": torch.randn(3, 32), "bias": torch.randn(3)}, folder / "classifier.safetensors")


ARCHITECTURES = (
    Architecture("Qwen2-VL, scorer", "planner", qwen(tiny_qwen.qwen2_vl), sizes=_SIZES),
    Architecture("Qwen2.5-VL, scorer", "planner", qwen(tiny_qwen.qwen2_5_vl), sizes=_SIZES),
    Architecture("Qwen2.5-VL with windows, scorer", "planner", qwen(tiny_qwen.windowed), sizes=_SIZES),
    Architecture("Qwen3-VL, scorer", "planner", qwen(tiny_qwen.qwen3_vl), sizes=_SIZES),
    Architecture("Qwen3-Reranker", "reranker", qwen(tiny_qwen.qwen3)),
    Architecture("BERT, cross-encoder", "reranker", _text("bert", 1)),
    Architecture("XLM-RoBERTa, cross-encoder", "reranker", _text("xlm-roberta", 1)),
    Architecture("ModernBERT, cross-encoder", "reranker", _text("modernbert", 2)),
    Architecture("BLIP-2 Q-Former, domain router", "domain_router", _with_head, {"labels": _DOMAINS}),
    Architecture("BLIP-2 Q-Former, coarse reranker", "coarse_reranker", _with_words(tiny_checkpoints.blip2)),
    Architecture("CLIP", "image_encoder", _image("clip")),
    Architecture("SigLIP", "image_encoder", _image("siglip")),
    Architecture("BERT (BGE)", "text_encoder", _text("bert")),
    Architecture("XLM-RoBERTa", "text_encoder", _text("xlm-roberta")),
    Architecture("ModernBERT", "text_encoder", _text("modernbert")),
    Architecture("Qwen3-Embedding", "text_encoder", _text("qwen3")),
    Architecture(
        "Grounding DINO",
        "detector",
        _with_words(lambda _: tiny_checkpoints.grounding_dino()),
        sizes=((128, 128), (160, 96)),
    ),
    Architecture("OWLv2", "detector", _with_words(tiny_checkpoints.owlv2)),
)
