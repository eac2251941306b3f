"""A causal language model as a scorer: one prefill pass that returns the label rows of its head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from quizglass_export.graphs.decoder import PrefillDecoder


class TextScorer(nn.Module):
    """Label logits after a prompt.

    No cache, and no product over the vocabulary: the head is `labels` rows of the output matrix, applied to the
    last unmasked position alone.
    """

    def __init__(self, model: Any, labels: Sequence[int]) -> None:
        """Args:
        model: a merged causal model of Llama's form: Llama, Qwen2, Qwen3, Gemma.
        labels: token ids in the order of the logits.
        """
        super().__init__()
        self.embed_tokens = model.model.embed_tokens
        self.scale = float(model.config.hidden_size**0.5) if model.config.model_type == "gemma" else 1.0
        self.decoder = PrefillDecoder(model.model)
        self.head = nn.Parameter(model.lm_head.weight[list(labels)].detach().clone(), requires_grad=False)

    def embed(self, input_ids: Tensor) -> Tensor:
        """The states [B, S, D] that the first layer is given; Gemma's grow with their width."""
        embedded: Tensor = self.embed_tokens(input_ids)
        return embedded if self.scale == 1.0 else embedded * self.scale

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """int64 [B, S] ids and mask (padding on either side) to float32 [B, labels] logits."""
        positions = (attention_mask.cumsum(1) - 1).clamp(min=0)
        return functional.linear(self.decoder(self.embed(input_ids), attention_mask, positions[None]), self.head)


class SharingTextScorer(TextScorer):
    """The same, for prompts that begin alike: their common beginning runs once, and its keys and values are given to
    the runs of the tokens after it.
    """

    def forward(  # type: ignore[override]  # another signature is the point
        self, input_ids: Tensor, attention_mask: Tensor, past: Tensor, keep: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score a batch.

        Args:
            input_ids: int64 [B, S], what follows the past.
            attention_mask: int64 [B, P + S], 1 for a token; padding on either side of the past and of the rest.
            past: float32 [L, 2, B, H, P, D_head], keys and values; P may be 0.
            keep: int64 scalar, of how many leading positions keys and values are returned.

        Returns:
            `logits` float32 [B, labels] and `present` float32 [L, 2, B, H, keep, D_head].
        """
        positions = (attention_mask.cumsum(1) - 1).clamp(min=0)[:, attention_mask.shape[1] - input_ids.shape[1] :]
        last, present = self.decoder.resume(self.embed(input_ids), attention_mask, positions[None], past, keep)
        return functional.linear(last, self.head), present
