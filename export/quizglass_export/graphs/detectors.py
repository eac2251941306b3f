"""Open-vocabulary detectors for one picture size: Grounding DINO (Liu et al. 2023), OWLv2 (Minderer et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.grounding_dino import modeling_grounding_dino

_LEAST_LENGTH = 1e-6
"""As in transformers, where vectors are divided by their length."""


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


class Owlv2Pictures(nn.Module):
    """The half of OWLv2 that sees: `pixel_values` [1, 3, H, W] to a box and a vector for each patch.

    Gives `pred_boxes` [1, P, 4] and `box_vectors` [1, P, D + 1]. The product of a box's vector with a phrase's is the
    logit of that phrase there: scale and shift, which depend on the patch alone, are in the vectors.
    """

    def __init__(self, model: Any) -> None:
        """`model` is an Owlv2ForObjectDetection."""
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, Tensor]:
        """One picture."""
        model, head = self.model, self.model.class_head
        rows, _ = model.image_embedder(pixel_values=pixel_values)
        patches = rows.flatten(1, 2)
        vectors = head.dense0(patches)
        vectors = vectors / (vectors.norm(dim=-1, keepdim=True) + _LEAST_LENGTH)
        scale = head.elu(head.logit_scale(patches)) + 1
        vectors = torch.cat([vectors, head.logit_shift(patches)], dim=-1) * scale
        return model.box_predictor(patches, rows), vectors


class Owlv2Phrases(nn.Module):
    """The half of OWLv2 that reads: `input_ids`, `attention_mask` [phrases, T] to `phrase_vectors` [phrases, D + 1]."""

    def __init__(self, model: Any) -> None:
        """`model` is an Owlv2ForObjectDetection."""
        super().__init__()
        self.model = model.owlv2

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Any number of phrases, none of them empty."""
        texts = self.model.text_model(input_ids=input_ids, attention_mask=attention_mask)
        vectors = self.model.text_projection(texts[1])
        vectors = vectors / vectors.norm(dim=-1, keepdim=True)
        vectors = vectors / (vectors.norm(dim=-1, keepdim=True) + _LEAST_LENGTH)
        return torch.cat([vectors, torch.ones_like(vectors[:, :1])], dim=-1)


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
