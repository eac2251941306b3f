"""Open-vocabulary detectors for one picture size: Grounding DINO (Liu et al. 2023), OWLv2 (Minderer et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.grounding_dino import modeling_grounding_dino


class GroundingDino(nn.Module):
    """`pixel_values` [B, 3, H, W], `input_ids`, `attention_mask` [B, T] to boxes and a logit for each token.

    Gives `logits` [B, Q, T] and `pred_boxes` [B, Q, 4] (centre x, centre y, width, height, 0 to 1).
    """

    def __init__(self, model: Any) -> None:
        """`model` is a GroundingDinoForObjectDetection; its custom kernels are switched off."""
        super().__init__()
        self.model = model
        for module in model.modules():
            if hasattr(module, "disable_custom_kernels"):
                module.disable_custom_kernels = True

    def forward(self, pixel_values: Tensor, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of padded and surplus text positions are left out: they are minus infinity."""
        output = self.model(pixel_values=pixel_values, input_ids=input_ids, attention_mask=attention_mask)
        return output.logits[:, :, : input_ids.shape[1]].clamp(min=-1e9), output.pred_boxes


class Owlv2(nn.Module):
    """`pixel_values` [1, 3, H, W], `input_ids`, `attention_mask` [phrases, T] to boxes and a logit for each phrase.

    Gives `logits` [1, P, phrases] and `pred_boxes` [1, P, 4], one for each patch of the picture.
    """

    def __init__(self, model: Any) -> None:
        """`model` is an Owlv2ForObjectDetection."""
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """One picture and any number of phrases."""
        output = self.model(pixel_values=pixel_values, input_ids=input_ids, attention_mask=attention_mask)
        return output.logits, output.pred_boxes


@contextmanager
def exportable_masks() -> Iterator[None]:
    """Let Grounding DINO compute its text masks without loops over the special tokens of the example."""
    name = "generate_masks_with_special_tokens_and_transfer_map"
    original = getattr(modeling_grounding_dino, name)
    setattr(modeling_grounding_dino, name, phrase_masks)
    try:
        yield
    finally:
        setattr(modeling_grounding_dino, name, original)


def phrase_masks(input_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Which tokens see each other, and their positions inside their phrase.

    The same as transformers' loop: tokens up to and with a special one ([CLS], [SEP], full stop, question mark) form a
    phrase; what follows the last special token, and a phrase that ends in the last column, sees itself alone.

    Args:
        input_ids: int64 [B, T].

    Returns:
        bool [B, T, T] and int64 [B, T].
    """
    special = torch.zeros_like(input_ids, dtype=torch.bool)
    for token in modeling_grounding_dino.SPECIAL_TOKENS:
        special = special | (input_ids == token)
    marks = special.to(torch.int64)
    phrase = marks.cumsum(1) - marks
    total = marks.sum(1, keepdim=True)
    ends_last = (marks[:, -1:] > 0) & (phrase == total - 1)
    whole = (phrase >= 1) & (phrase < total) & ~ends_last
    same = (phrase[:, :, None] == phrase[:, None, :]) & whole[:, :, None] & whole[:, None, :]
    index = torch.arange(input_ids.shape[1], device=input_ids.device)
    earlier = same & (index[None, None, :] < index[None, :, None])
    alone = index[None, None, :] == index[None, :, None]
    return same | alone, earlier.to(torch.int64).sum(-1)
