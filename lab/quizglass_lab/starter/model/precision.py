"""Where models are trained, and in which precision."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from quizglass_export.errors import ExportError


def autocast(device: str = "cpu", *, enabled: bool = True) -> torch.autocast:
    """bfloat16 on a GPU and where a processor multiplies tiles of it (AMX), float32 elsewhere.

    With AVX512-BF16 alone a step of the joint stage took 0.45 s in bfloat16 and 0.30 s in float32, on two cores.

    Args:
        device: the type of a torch device.
        enabled: False for float32 everywhere.
    """
    return torch.autocast(device, torch.bfloat16, enabled=enabled and (device != "cpu" or has_tiles()))


@functools.cache
def has_tiles() -> bool:
    """Whether the processor multiplies tiles of bfloat16."""
    return bool(torch.cpu.get_capabilities().get("amx_bf16"))


def chosen_device(name: str) -> torch.device:
    """The device that `name` stands for: `auto` (a GPU where there is one), `cpu` or `cuda`.

    Raises:
        ExportError: torch sees no GPU for `cuda`.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise ExportError("device: cuda was asked for, but torch sees no GPU; take cpu, or a CUDA build of torch")
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every shape, and batches have any
    return torch.device("cuda")


def device_of(module: nn.Module) -> torch.device:
    """Where a module's weights are."""
    return next(module.parameters()).device


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on a device; a GPU need not have it yet when this returns."""
    if device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)  # what is not pinned waits for all work before it
