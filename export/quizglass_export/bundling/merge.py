"""Merging a PEFT adapter into the model that it was trained on, after checking that it was trained on this one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from peft import PeftModel, get_peft_model_state_dict
from safetensors import safe_open
from torch import nn

from quizglass_export.bundling.checkpoints import ADAPTER_WEIGHTS, check_finite
from quizglass_export.bundling.errors import ExportError

_PREFIX = "base_model.model."


def merge_adapter(model: Any, folder: Path) -> Any:
    """Fold an adapter's update into the weights.

    Args:
        model: the base model; it is changed.
        folder: the adapter, as PEFT saves it.

    Returns:
        The merged model, without any trace of PEFT.

    Raises:
        ExportError: the adapter is for another base, incomplete, or not finite; names file and key.
    """
    weights = folder / ADAPTER_WEIGHTS
    check_finite(weights)
    shapes = _shapes(weights)
    _check_fit(model, weights, shapes)
    _untie(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # untied on purpose, above; missing keys are an error, below
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=False)
    expected = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if missing := sorted(expected - set(shapes)):
        raise ExportError(f"{weights}: {missing[0]} is missing ({len(missing)} keys); save the adapter again")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return adapted.merge_and_unload(safe_merge=True).eval()


def merge_adapters(model: Any, adapters: Sequence[tuple[Path, float]]) -> Any:
    """Add the changes of several adapters, each merged alone and weighed.

    Args:
        model: the base model; it is changed.
        adapters: (directory, weight) of each; an adapter of weight 1 alone is merged as it is.

    Returns:
        The merged model.

    Raises:
        ExportError: as `merge_adapter`.
    """
    if not adapters:
        return model
    if len(adapters) == 1 and adapters[0][1] == 1:
        return merge_adapter(model, adapters[0][0])
    _untie(model)
    total = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    for folder, weight in adapters:
        merged = merge_adapter(deepcopy(model), folder).state_dict()
        for key, tensor in model.state_dict().items():
            total[key] += weight * (merged[key] - tensor)
    model.load_state_dict(total)
    return model.eval()


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    with safe_open(str(path), framework="pt") as file:
        return {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118


def _check_fit(model: nn.Module, path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """Every key must name a module of this model, with matrices of its size."""
    modules = dict(model.named_modules())
    for key, shape in shapes.items():
        name, _, matrix = key.removeprefix(_PREFIX).partition(".lora_")
        if not matrix:
            continue  # a module saved whole; loading checks its shape
        if name not in modules:
            raise ExportError(f"{path}: {key}: the base has no module {name}; the adapter is for another base")
        module = modules[name]
        if not isinstance(module, nn.Linear):
            continue
        expected = module.in_features if matrix.startswith("A") else module.out_features
        actual = shape[1] if matrix.startswith("A") else shape[0]
        if matrix[0] in "AB" and actual != expected:
            raise ExportError(
                f"{path}: {key} has shape {list(shape)}, the base's {name} needs {expected}; "
                "the adapter is for another base"
            )


def _untie(model: Any) -> None:
    """Give the output head weights of its own, so that an update of the head leaves the embedding alone."""
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if head is not None and embedding is not None and head.weight is embedding.weight:
        head.weight = nn.Parameter(embedding.weight.detach().clone(), requires_grad=False)
        model.config.tie_word_embeddings = False
        if hasattr(model.config, "text_config"):
            model.config.text_config.tie_word_embeddings = False
