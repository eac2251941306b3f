"""Attention masks and last positions, written so that batch and sequence stay dynamic in an exported graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_HIDDEN = -1e9


def causal_masks(config: Any, attention_mask: Tensor) -> dict[str, Tensor]:
    """Additive masks by layer type.

    Args:
        config: the text model's config (`sliding_window` is read if some layer slides).
        attention_mask: int64 [B, S], 1 for a token.

    Returns:
        float32 [B, S, S] for `full_attention`, and for `sliding_attention` where the config uses it.
    """
    index = torch.arange(attention_mask.shape[1])
    distance = index[:, None] - index[None, :]
    visible = (distance >= 0)[None] & (attention_mask[:, None, :] > 0)
    masks = {"full_attention": _additive(visible)}
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        masks["sliding_attention"] = _additive(visible & (distance < config.sliding_window)[None])
    return masks


def last_positions(attention_mask: Tensor) -> Tensor:
    """Index [B] of each row's last unmasked position."""
    index = torch.arange(attention_mask.shape[1])
    return (index[None, :] * attention_mask).argmax(dim=1)


def _additive(visible: Tensor) -> Tensor:
    return torch.where(visible, 0.0, _HIDDEN)
