"""A PEFT adapter beside the model that it was trained on: whether it fits, and the model with it, not merged."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from peft import LoraConfig, PeftConfig, PeftModel, get_peft_model_state_dict
from peft.tuners.tuners_utils import BaseTunerLayer
from peft.utils.other import AuxiliaryTrainingWrapper, ModulesToSaveWrapper
from safetensors import SafetensorError, safe_open
from torch import nn

from quizglass_export.checkpoints.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from quizglass_export.checkpoints.loading import check_finite
from quizglass_export.directory import fresh_directory
from quizglass_export.errors import ExportError

_PREFIX = "base_model.model."
_BASE = ".base_layer."
_OFF_THE_BASE = ("pissa", "olora", "corda", "loftq", "lora_ga")
"""Beginnings of PEFT's names of first weights that are taken off the base's own when an adapter is loaded."""
Shapes = Mapping[str, tuple[int, ...]]


def check_fit(model: nn.Module, folder: Path) -> Shapes:
    """Compare an adapter's keys and shapes with a model's, without reading weights; the model may have none.

    Args:
        model: the base, perhaps on PyTorch's device `meta`.
        folder: the adapter, as PEFT saves it.

    Returns:
        Shape of each tensor of the adapter, under the names of the model's class.

    Raises:
        ExportError: the adapter is for another base, or of a kind that changes no weights; names file and key.
    """
    path = folder / ADAPTER_WEIGHTS
    config = adapter_config(folder)
    if config.is_prompt_learning:
        kind = getattr(config.peft_type, "value", config.peft_type)
        raise ExportError(f"{folder / ADAPTER_CONFIG}: peft_type {kind} changes no weights, so it cannot be merged")
    shapes = {_renamed(key, model): shape for key, shape in _shapes(path).items()}
    modules, parameters = dict(model.named_modules()), dict(model.named_parameters(remove_duplicate=False))
    for key, shape in shapes.items():
        whole = key.removeprefix(_PREFIX).replace(_BASE, ".")
        if whole in parameters:
            _check_shape(path, key, shape, tuple(parameters[whole].shape))
            continue
        name, _, matrix = whole.partition(".lora_")
        if not matrix:
            continue  # another kind of PEFT's; loading checks it
        if name not in modules:
            raise ExportError(f"{path}: {key}: the base has no module {name}; the adapter is for another base")
        _check_matrix(path, key, shape, name, modules[name])
    return shapes


def load_adapted(model: nn.Module, folder: Path, *, trained: bool = False) -> PeftModel:
    """PEFT's model, its layers beside the base's weights; `model` is changed.

    Args:
        model: the base.
        folder: the adapter, as PEFT saves it.
        trained: the adapter goes on to learn, in float32; otherwise it is only run.

    Raises:
        ExportError: the adapter is for another base, incomplete, or not finite; names file and key.
    """
    path = folder / ADAPTER_WEIGHTS
    check_finite(path)
    shapes = check_fit(model, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tied weights are parted before they are merged; other keys are errors, below
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=trained)
    expected = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if missing := sorted(expected - set(shapes)):
        raise ExportError(f"{path}: {missing[0]} is missing ({len(missing)} keys); save the adapter again")
    if extra := sorted(key for key in set(shapes) - expected if _BASE not in key):
        raise ExportError(f"{path}: nothing in {ADAPTER_CONFIG} asks for {extra[0]} ({len(extra)} keys)")
    return adapted.train(trained)


def adapted_model(model: Any, adapters: Sequence[tuple[Path, float]]) -> Any:
    """The model as PEFT runs it, with no adapter merged: what merged models are compared with.

    Args:
        model: the base model; it is changed.
        adapters: (directory, weight) of each. PEFT weighs and adds only some kinds; the others are weighed here, by
            the outputs of PEFT's layers, each adapter in a model of its own.
    """
    if not adapters:
        return model
    if len(adapters) == 1 and adapters[0][1] == 1:
        return load_adapted(model, adapters[0][0]).get_base_model()
    weighed: dict[str, list[tuple[nn.Module, float]]] = {}
    for folder, weight in adapters:
        for name, module in _changed(load_adapted(deepcopy(model), folder).get_base_model()):
            weighed.setdefault(name, []).append((module, weight))
    for name, others in weighed.items():
        model.set_submodule(name, _Weighed(model.get_submodule(name), others))
    return model.eval()


class _Weighed(nn.Module):
    """A layer and what adapters make of it, weighed: exact, since a layer's output is linear in its weights."""

    def __init__(self, base: nn.Module, others: Sequence[tuple[nn.Module, float]]) -> None:
        super().__init__()
        self.base = base
        self.others = nn.ModuleList(module for module, _ in others)
        self.weights = [weight for _, weight in others]

    def forward(self, *inputs: Any, **options: Any) -> Any:
        plain = total = self.base(*inputs, **options)
        for module, weight in zip(self.others, self.weights, strict=True):
            total = total + weight * (module(*inputs, **options) - plain)
        return total

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.base, name)


def _changed(model: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Name and module of every layer that an adapter changes; of modules saved whole, their layers."""
    for name, module in model.named_children():
        path = f"{prefix}{name}"
        if isinstance(module, ModulesToSaveWrapper):
            saved = module.modules_to_save[module.active_adapters[0]]
            for inner, layer in saved.named_modules():
                if not list(layer.children()):
                    yield f"{path}.{inner}".rstrip("."), layer
        elif isinstance(module, BaseTunerLayer | AuxiliaryTrainingWrapper):
            yield path, module
        else:
            yield from _changed(module, f"{path}.")


def save_adapter(model: Any, folder: Path, *, base: str, half: bool) -> None:
    """Write an adapter as PEFT does, without what is of this machine.

    Args:
        model: PEFT's; with `half` its trained weights are rounded.
        folder: where, which is replaced if it is there.
        base: name of the checkpoint that it is for; the folder can move.
        half: write it in float16, half as large.
    """
    if half:
        for parameter in model.parameters():
            parameter.data = parameter.data.half() if parameter.requires_grad else parameter.data
    with fresh_directory(folder) as scratch:
        model.save_pretrained(scratch)
        (scratch / "README.md").unlink(missing_ok=True)  # an empty form that names this machine's paths
        path = scratch / ADAPTER_CONFIG
        config = json.loads(path.read_text(encoding="utf-8")) | {"base_model_name_or_path": base}
        path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def adapter_config(folder: Path) -> PeftConfig:
    """An adapter's `adapter_config.json`; ExportError if it is none."""
    try:
        return PeftConfig.from_pretrained(str(folder))
    except Exception as error:  # a wrong key can raise anything
        raise ExportError(f"{folder / ADAPTER_CONFIG}: PEFT cannot read it: {error}") from error


def check_base_stays(config: LoraConfig, folder: Path) -> None:
    """Raise ExportError where an adapter's two matrices are not all that it changes: PEFT changes the base first."""
    first = config.init_lora_weights
    if isinstance(first, str) and first.lower().startswith(_OFF_THE_BASE):
        raise ExportError(
            f"{folder / ADAPTER_CONFIG}: init_lora_weights is {first!r}, by which PEFT changes the base's weights too; "
            "save it as an ordinary LoRA (PEFT's save_pretrained with path_initial_model_for_weight_conversion)"
        )


def _shapes(path: Path) -> Shapes:
    try:
        with safe_open(str(path), framework="pt") as file:
            return {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ExportError(f"{path}: not a readable safetensors file: {error}") from error


def _renamed(key: str, model: nn.Module) -> str:
    """A key of an adapter for an older transformers' names of the model's modules, as PEFT itself turns it."""
    inner = key.removeprefix(_PREFIX)
    for pattern, replacement in (getattr(model, "_checkpoint_conversion_mapping", None) or {}).items():
        inner, count = re.subn(pattern, replacement, inner)
        if count:
            break
    return key[: len(key) - len(key.removeprefix(_PREFIX))] + inner


def _check_matrix(path: Path, key: str, shape: tuple[int, ...], name: str, module: nn.Module) -> None:
    """One of LoRA's two matrices: A [r, in] and B [out, r]."""
    matrix = key.removeprefix(_PREFIX).partition(".lora_")[2].removeprefix("embedding_")
    if isinstance(module, nn.Linear):
        sizes = {"A": module.in_features, "B": module.out_features}
    elif isinstance(module, nn.Embedding):
        sizes = {"A": module.num_embeddings, "B": module.embedding_dim}
    else:
        return
    expected = sizes.get(matrix[0])
    if expected is not None and len(shape) == 2 and shape[1 if matrix[0] == "A" else 0] != expected:
        raise ExportError(
            f"{path}: {key} has shape {list(shape)}, the base's {name} needs {expected}; "
            "the adapter is for another base"
        )


def _check_shape(path: Path, key: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise ExportError(
            f"{path}: {key} has shape {list(shape)}, the base's {list(expected)}; the adapter is for another base"
        )
