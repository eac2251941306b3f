"""A causal language model as a scorer: one prefill pass that returns the label rows of its head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from quizglass_export.bundling.attention import causal_masks, last_states


class TextScorer(nn.Module):
    """Label logits after a prompt.

    No cache, and no product over the vocabulary: the head is `labels` rows of the output matrix, applied to the
    last unmasked position alone.
    """

    def __init__(self, model: Any, labels: Sequence[int]) -> None:
        """Args:
        model: a merged Qwen3ForCausalLM, or any causal model of that form, with eager attention.
        labels: token ids in the order of the logits.
        """
        super().__init__()
        self.decoder = model.model
        self.head = nn.Parameter(model.lm_head.weight[list(labels)].detach().clone(), requires_grad=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """int64 [B, S] ids and mask (padding on either side) to float32 [B, labels] logits."""
        hidden = self.decoder(
            input_ids=input_ids,
            attention_mask=causal_masks(self.decoder.config, attention_mask),
            position_ids=(attention_mask.cumsum(1) - 1).clamp(min=0),
            use_cache=False,
        ).last_hidden_state
        return torch.nn.functional.linear(last_states(hidden, attention_mask), self.head)
