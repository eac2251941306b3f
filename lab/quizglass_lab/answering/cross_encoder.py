"""A cross-encoder on a text encoder's weights as it is trained: its logits, and its adapter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor

from quizglass_bundle.inputs.text_rows import TextRow, TextTokenizer, padded
from quizglass_export.checkpoints.peft_models import load_adapted

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


def trainable(base: Any, adapter: Path) -> Any:
    """The model with a trained adapter, which goes on to learn, in float32.

    Raises:
        ExportError: the adapter is for another base.
    """
    model = load_adapted(base, adapter)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = "lora_" in name or "modules_to_save" in name
    return model.float()
