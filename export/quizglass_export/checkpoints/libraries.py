"""Picture models of timm and torchvision: a module by its architecture's name, with weights from a file.

Neither library is installed with the exporter; each is imported when a recipe names it. Weights are read as tensors
alone, no code in them is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from quizglass_export.errors import ExportError

_HEADS = ("fc", "classifier", "head", "heads")
"""torchvision's names of classifier layers."""
_COUNTER = ".num_batches_tracked"
_WRAPPED = ("state_dict", "model")
"""Keys under which training scripts keep the tensors."""


def features_model(library: str, architecture: str, weights: Path) -> nn.Module:
    """Pictures [B, 3, H, W] to the features [B, D] that its classifier reads, in evaluation mode and float32.

    Args:
        library: timm or torchvision.
        architecture: the library's name of the model, such as `mobilenetv3_large_100` or `resnet50`.
        weights: safetensors, or what `torch.save` wrote of a state dict.

    Raises:
        ExportError: the library cannot be imported or has no such model, or the weights are not this model's.
    """
    tensors = _tensors(weights)
    module = _timm(architecture, tensors) if library == "timm" else _torchvision(architecture, weights, tensors)
    _check_tensors(weights, architecture, module.state_dict(), tensors)
    module.load_state_dict(tensors, strict=False)
    return (_headless(module, architecture) if library == "torchvision" else module).float().eval()


def _check_tensors(
    path: Path, architecture: str, own: Mapping[str, torch.Tensor], found: Mapping[str, torch.Tensor]
) -> None:
    """Raise ExportError where names or shapes are another model's; counters of training may be missing."""
    other = f"these are no weights of {architecture}"
    missing = sorted(key for key in own.keys() - found.keys() if not key.endswith(_COUNTER))
    if missing:
        raise ExportError(f"{path}: {missing[0]} is missing ({len(missing)} keys); {other}")
    if extra := sorted(found.keys() - own.keys()):
        raise ExportError(f"{path}: has {extra[0]} besides ({len(extra)} keys); {other}")
    for key, tensor in found.items():
        if tensor.shape != own[key].shape:
            raise ExportError(f"{path}: {key} is {list(tensor.shape)}, not {list(own[key].shape)}; {other}")


def _timm(architecture: str, tensors: dict[str, torch.Tensor]) -> nn.Module:
    """The model without classifier, whose weights are taken out of the tensors."""
    module: Any = _made("timm", "create_model", architecture, pretrained=False, num_classes=0)
    names = (getattr(module, "pretrained_cfg", None) or {}).get("classifier") or ()
    prefixes = tuple(f"{name}." for name in ([names] if isinstance(names, str) else names))
    for key in [key for key in tensors if prefixes and key.startswith(prefixes)]:
        del tensors[key]
    return module  # type: ignore[no-any-return]


def _torchvision(architecture: str, weights: Path, tensors: Mapping[str, torch.Tensor]) -> nn.Module:
    """The model with as many classes as the weights have."""
    heads = [key for key in tensors if key.partition(".")[0] in _HEADS and key.endswith(".weight")]
    if not heads:
        raise ExportError(f"{weights}: no weights of a classifier, named {', '.join(_HEADS)}; save the whole model's")
    classes = int(tensors[heads[-1]].shape[0])
    module: nn.Module = _made("torchvision.models", "get_model", architecture, weights=None, num_classes=classes)
    return module


def _headless(module: nn.Module, architecture: str) -> nn.Module:
    """torchvision's model with its last linear layer left out."""
    linear = [name for name, each in module.named_modules() if isinstance(each, nn.Linear)]
    if not linear or linear[-1].partition(".")[0] not in _HEADS:
        raise ExportError(f"{architecture}: does not end with a linear classifier; write the model as ONNX instead")
    module.set_submodule(linear[-1], nn.Identity())
    return module


def _made(module: str, function: str, architecture: str, **options: Any) -> Any:
    library = module.partition(".")[0]
    try:
        make = getattr(import_module(module), function)
    except Exception as error:  # a torchvision beside another torch than its own fails in its own ways
        raise ExportError(
            f"{library} cannot be imported: {error}; install it beside the exporter, or write the model as ONNX where "
            "it is installed and name the file (docs/bundles.md, ready-made image encoders)"
        ) from error
    try:
        return make(architecture, **options)
    except Exception as error:  # unknown names and options raise what each library likes
        raise ExportError(f"{library} has no model {architecture!r} of this kind: {error}") from error


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        safe = path.suffix == ".safetensors"
        content: Any = load_file(path) if safe else torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged files fail in many ways
        raise ExportError(f"{path}: cannot be read as weights: {error}") from error
    for key in _WRAPPED:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not all(isinstance(each, torch.Tensor) for each in content.values()):
        raise ExportError(f"{path}: not a state dict; save the model's state_dict()")
    if bad := next((key for key, each in content.items() if not bool(torch.isfinite(each).all())), None):
        raise ExportError(f"{path}: {bad} holds NaN or infinity; train again or restore the file")
    return dict(content)
