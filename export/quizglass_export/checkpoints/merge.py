"""Merging PEFT adapters into the model that they were trained on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from peft.tuners.tuners_utils import BaseTunerLayer
from peft.utils.other import AuxiliaryTrainingWrapper
from torch import nn

from quizglass_export.checkpoints.peft_models import load_adapted


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
    adapted = load_adapted(model, folder)
    _part_head(adapted.get_base_model())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merged = adapted.merge_and_unload(safe_merge=True).eval()
    _note_tie(merged)
    return merged


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
    total = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    for folder, weight in adapters:
        merged = merge_adapter(deepcopy(model), folder).state_dict()
        for key, tensor in model.state_dict().items():
            total[key] += weight * (merged[key] - tensor)
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if head is not None and embedding is not None and head.weight is embedding.weight:
        _clone(head)
    model.load_state_dict(total)
    _note_tie(model)
    return model.eval()


def _part_head(model: Any) -> None:
    """Give an adapted output head base weights of its own, so that head and embedding are merged one by one.

    After PEFT has loaded: what it adapts hangs on whether it finds the two tied.
    """
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if head is None or embedding is None:
        return
    if any(isinstance(module, BaseTunerLayer | AuxiliaryTrainingWrapper) for module in (head, embedding)):
        head, embedding = _plain(head), _plain(embedding)
        if head.weight is embedding.weight:
            _clone(head)


def _clone(head: Any) -> None:
    head.weight = nn.Parameter(head.weight.detach().clone(), requires_grad=False)


def _plain(module: Any) -> Any:
    """The base's own module inside of PEFT's."""
    for name in ("base_layer", "original_module"):
        if hasattr(module, name):
            return _plain(getattr(module, name))
    return module


def _note_tie(model: Any) -> None:
    """Say in the config whether head and embedding are still one matrix."""
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if head is None or embedding is None or head.weight is embedding.weight:
        return
    model.config.tie_word_embeddings = False
    if hasattr(model.config, "text_config"):
        model.config.text_config.tie_word_embeddings = False
