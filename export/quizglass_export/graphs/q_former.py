"""BLIP-2's Q-Former (Li et al. 2023): a picture and a question to query vectors; a text to its [CLS].

The coarse reranker compares both by the largest dot product; the domain router reads picture and question and has a
classification head over the mean of the query states, where BLIP-2 has its matching head. Picture size is fixed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class _QFormer(nn.Module):
    def __init__(self, model: Any) -> None:
        """`model` is a Blip2ForImageTextRetrieval with text input in its Q-Former."""
        super().__init__()
        self.model = model

    def states(self, pixel_values: Tensor, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """States of the query tokens, float32 [B, N, H], which read picture and question."""
        model = self.model
        picture = model.vision_model(pixel_values=pixel_values).last_hidden_state
        tokens = model.query_tokens.expand(picture.shape[0], -1, -1)
        count = tokens.shape[1]
        states: Tensor = model.qformer(
            query_embeds=model.embeddings(input_ids=input_ids, query_embeds=tokens),
            query_length=count,
            attention_mask=torch.cat((torch.ones_like(tokens[:, :, 0], dtype=torch.int64), attention_mask), 1),
            encoder_hidden_states=picture,
        ).last_hidden_state
        return states[:, :count]


class QFormerQuestion(_QFormer):
    """`pixel_values` [B, 3, H, W], `input_ids`, `attention_mask` [B, S] to `image_embeds` [B, N, D] of length one."""

    def forward(self, pixel_values: Tensor, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The projected query states: what of the picture goes with the question (QA-Dragon, equation 2)."""
        states = self.model.vision_projection(self.states(pixel_values, input_ids, attention_mask))
        return functional.normalize(states, dim=-1)


class QFormerText(_QFormer):
    """`input_ids` and `attention_mask` [B, S] to `text_embeds` [B, D] of length one."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The projected [CLS] state."""
        states = self.model.qformer(
            query_embeds=self.model.embeddings(input_ids=input_ids), query_length=0, attention_mask=attention_mask
        ).last_hidden_state
        return functional.normalize(self.model.text_projection(states[:, 0]), dim=-1)


class QFormerClassifier(_QFormer):
    """`pixel_values`, `input_ids` and `attention_mask` to `logits` [B, labels]."""

    def __init__(self, model: Any, weight: Tensor, bias: Tensor) -> None:
        """`weight` [labels, H] and `bias` [labels] are the head's."""
        super().__init__(model)
        self.weight = nn.Parameter(weight.detach().clone(), requires_grad=False)
        self.bias = nn.Parameter(bias.detach().clone(), requires_grad=False)

    def forward(self, pixel_values: Tensor, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The head's mean over the query states."""
        states = self.states(pixel_values, input_ids, attention_mask)
        return functional.linear(states, self.weight, self.bias).mean(1)
