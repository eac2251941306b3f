"""A cross-encoder on a text encoder's weights as it is trained: its logits, and its adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file
from torch import Tensor

from quizglass_bundle.inputs.text_rows import TextRow, TextTokenizer, padded
from quizglass_export.checkpoints.files import ADAPTER_WEIGHTS
from quizglass_export.checkpoints.loading import check_finite
from quizglass_export.checkpoints.peft_models import adapter_config, check_fit
from quizglass_export.errors import ExportError

LAYERS = ("query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense")
"""Linear layers of BERT's blocks that get an adapter. The classifier is new, and saved whole."""
_TOGETHER = 16
"""Pairs that are padded to one length."""
Pair = tuple[str, str]
"""A question and a passage."""


class PairScorer:
    """Gives pairs the logit that the passage answers the question, encoded as the server encodes them.

    Args:
        model: a BERT with one logit.
        tokenizer: its `tokenizer.json`.
        max_tokens: of a pair; the longer text of a longer pair loses its end.
    """

    def __init__(self, model: Any, tokenizer: Path, max_tokens: int) -> None:
        self.model = model
        self._tokenizer = TextTokenizer(tokenizer, max_tokens)

    def logits(self, pairs: Sequence[Pair]) -> Tensor:
        """Float32 [pairs], in order; with gradients where the model trains. Pairs of like length run together."""
        rows = self._tokenizer.rows(list(pairs))
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        parts = [
            self._run([rows[place] for place in order[start : start + _TOGETHER]])
            for start in range(0, len(order), _TOGETHER)
        ]
        return torch.cat(parts)[torch.tensor(order).argsort()]

    def _run(self, rows: Sequence[TextRow]) -> Tensor:
        inputs = {name: torch.from_numpy(array) for name, array in padded(rows).items()}
        logits: Tensor = self.model(**inputs).logits
        return logits[:, 0].float()

    def probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        """That each passage answers, 0 to 1, in order."""
        with torch.inference_mode():
            return [float(value) for value in torch.sigmoid(self.logits(pairs))]


def with_adapter(base: Any, rank: int, alpha: int, dropout: float) -> Any:
    """The model with fresh LoRA layers, which alone are trained with the classifier."""
    config = LoraConfig(
        r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=list(LAYERS), task_type="SEQ_CLS"
    )
    return get_peft_model(base, config)


def trainable(base: Any, adapter: Path, rank: int, dropout: float) -> Any:
    """The model with a trained adapter, which goes on to learn, in float32.

    Args:
        base: the model that the adapter was trained on.
        adapter: as PEFT saves it.
        rank: where it is higher than the adapter's, the adapter is widened. It begins with what it has learned, since
            the added rows are multiplied by zeros at first, and keeps its scale.
        dropout: before each layer's adapter, whatever it was trained with.

    Raises:
        ExportError: the adapter is for another base.
    """
    path = adapter / ADAPTER_WEIGHTS
    check_finite(path)
    check_fit(base, adapter)
    known, config = load_file(path), adapter_config(adapter)
    wide = max(rank, config.r)
    model = with_adapter(base, wide, config.lora_alpha * wide // config.r, dropout)
    fresh = get_peft_model_state_dict(model)
    if differing := sorted(set(known) ^ set(fresh)):
        raise ExportError(f"{path}: {differing[0]} is of no adapter of this recipe ({len(differing)} keys differ)")
    set_peft_model_state_dict(model, {key: _widened(known[key], fresh[key]) for key in fresh})
    return model.float()


def learned(model: Any) -> dict[str, Tensor]:
    """A copy of the weights that a model learns."""
    return {key: value.detach().clone() for key, value in get_peft_model_state_dict(model).items()}


def mix(model: Any, before: Mapping[str, Tensor], share: float) -> None:
    """Put weights between what a model had learned before and what it has learned since.

    They do as well on what it learned last, and better on what it is not asked to remember (Wortsman et al., Robust
    fine-tuning of zero-shot models, CVPR 2022, section 3).

    Args:
        model: as trained; changed in place.
        before: `learned` of it, before it was trained.
        share: of the weights before in each weight, 0 to 1.
    """
    now = get_peft_model_state_dict(model)
    set_peft_model_state_dict(model, {key: torch.lerp(now[key], before[key], share) for key in now})


def _widened(known: Tensor, fresh: Tensor) -> Tensor:
    """A matrix with the learned values in its corner, and else as it begins."""
    wide = fresh.clone()
    wide[tuple(slice(size) for size in known.shape)] = known.to(fresh.dtype)
    return wide
