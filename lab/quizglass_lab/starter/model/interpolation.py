"""Weights between those before and after a further training (WiSE-FT, Wortsman et al. 2022, arXiv:2109.01903).

What a training adds mostly survives half of the way, and half of the way forgets much less than all of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn


@torch.no_grad()
def interpolate(model: nn.Module, start: Mapping[str, torch.Tensor], share: float) -> None:
    """Set every parameter to `share` of itself and the rest of its value in `start`, in place.

    Args:
        model: as it is after the training.
        start: its state before; names and shapes are the model's.
        share: of the way from `start` to the model's own weights that is kept, above 0 and at most 1.

    Raises:
        KeyError: a parameter that `start` does not have.
    """
    for name, parameter in model.named_parameters():
        parameter.copy_(torch.lerp(start[name].to(parameter), parameter, share))
