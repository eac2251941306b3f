"""A causal language model as a scorer: one prefill pass that returns the label rows of its head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from quizglass_export.bundling.decoder import PrefillDecoder


class TextScorer(nn.Module):
    """Label logits after a prompt.

    No cache, and no product over the vocabulary: the head is `labels` rows of the output matrix, applied to the
    last unmasked position alone.
    """

    def __init__(self, model: Any, labels: Sequence[int]) -> None:
        """Args:
        model: a merged Qwen3ForCausalLM, or any causal model of that form.
        labels: token ids in the order of the logits.
        """
        super().__init__()
        self.embed = model.model.embed_tokens
        self.decoder = PrefillDecoder(model.model)
        self.head = nn.Parameter(model.lm_head.weight[list(labels)].detach().clone(), requires_grad=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """int64 [B, S] ids and mask (padding on either side) to float32 [B, labels] logits."""
        positions = (attention_mask.cumsum(1) - 1).clamp(min=0)
        last = self.decoder(self.embed(input_ids), attention_mask, positions[None])
        return torch.nn.functional.linear(last, self.head)
