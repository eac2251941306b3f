"""Attention masks and last positions, written so that batch and sequence stay dynamic in an exported graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_HIDDEN = -1e9


def causal_masks(config: Any, attention_mask: Tensor) -> dict[str, Tensor]:
    """Additive masks by layer type, as transformers' decoders accept them.

    Args:
        config: the text model's config (`sliding_window` is read if some layer slides).
        attention_mask: int64 [B, S], 1 for a token.

    Returns:
        float32 [B, 1, S, S] for `full_attention`, and for `sliding_attention` where the config uses it.
    """
    index = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    distance = index[:, None] - index[None, :]
    visible = (distance >= 0)[None, None] & (attention_mask[:, None, None, :] > 0)
    masks = {"full_attention": _additive(visible)}
    if "sliding_attention" in getattr(config, "layer_types", ()):
        masks["sliding_attention"] = _additive(visible & (distance < config.sliding_window)[None, None])
    return masks


def last_states(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    """[B, S, D] states and [B, S] mask to the [B, D] states of each row's last unmasked position."""
    index = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    last = (index[None, :] * attention_mask).argmax(dim=1)
    return hidden.gather(1, last[:, None, None].expand(-1, 1, hidden.shape[-1])).squeeze(1)


def _additive(visible: Tensor) -> Tensor:
    return torch.where(visible, 0.0, _HIDDEN)
