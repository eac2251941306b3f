"""Attention masks and last positions, written so that batch and sequence stay dynamic in an exported graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_HIDDEN = -1e9


def causal_masks(config: Any, attention_mask: Tensor, length: Tensor | int | None = None) -> dict[str, Tensor]:
    """Additive masks by layer type.

    Args:
        config: the text model's config (`sliding_window` is read if some layer slides).
        attention_mask: int64 [B, P + S], 1 for a token; P positions of a past come first.
        length: S, how many positions ask; None: all of them.

    Returns:
        float32 [B, S, P + S] for `full_attention`, and for `sliding_attention` where the config uses it.
    """
    index = torch.arange(attention_mask.shape[1])
    asking = index if length is None else index[attention_mask.shape[1] - length :]
    visible = (asking[:, None] >= index[None, :])[None] & (attention_mask[:, None, :] > 0)
    masks = {"full_attention": _additive(visible)}
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        # Counted in tokens, since there may be padding between a past and what follows it.
        count = attention_mask.cumsum(1)
        distance = count[:, asking][:, :, None] - count[:, None, :]
        masks["sliding_attention"] = _additive(visible & (distance < config.sliding_window))
    return masks


def last_positions(attention_mask: Tensor) -> Tensor:
    """Index [B] of each row's last unmasked position."""
    index = torch.arange(attention_mask.shape[1])
    return (index[None, :] * attention_mask).argmax(dim=1)


def _additive(visible: Tensor) -> Tensor:
    return torch.where(visible, 0.0, _HIDDEN)
