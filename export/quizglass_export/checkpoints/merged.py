"""A checkpoint merged with its adapters, tensor by tensor, and a model of its shape whose weights take no memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_utils import no_init_weights

from quizglass_export.checkpoints.adapters import AdapterWeights
from quizglass_export.checkpoints.loading import read_config
from quizglass_export.checkpoints.shards import Shards
from quizglass_export.checkpoints.source import Source
from quizglass_export.errors import ExportError

_HEAD = "lm_head.weight"


class MergedWeights:
    """Tensors of a model class, read and merged when they are asked for."""

    def __init__(self, source: Source, kind: str) -> None:
        """Check that every key is there, and that every adapter fits.

        Args:
            source: the checkpoint and its adapters.
            kind: transformers' name of the model class.

        Raises:
            ExportError: missing or unexpected keys, or an adapter for another base.
        """
        self.model = skeleton(source, kind)
        """The model, with weights that were never written to."""
        self.shards = Shards(source.folder, getattr(type(self.model), "_checkpoint_conversion_mapping", None))
        self.adapters = [AdapterWeights(folder, weight, self.shards.name) for folder, weight in source.adapters]
        names = {name for name, _ in self.model.named_parameters(remove_duplicate=False)}
        tied = _HEAD in names and self.model.config.get_text_config().tie_word_embeddings
        stored = self.shards.names
        self.tied = tied and _HEAD not in stored
        embedding = self.model.get_input_embeddings().weight
        self._embedding = next(name for name, parameter in self.model.named_parameters() if parameter is embedding)
        missing = sorted(names - stored - ({_HEAD} if self.tied else set()))
        if missing:
            raise ExportError(f"{source.folder}: missing keys: {missing[0]} ({len(missing)})")
        if extra := sorted(stored - names):
            raise ExportError(f"{source.folder}: unexpected keys: {extra[0]} ({len(extra)})")
        modules = {name.rpartition(".")[0] for name in names}
        for adapter in self.adapters:
            for module, parts in adapter.parts.items():
                if module not in modules:
                    key = next(iter(parts.values()))
                    raise ExportError(
                        f"{adapter.path}: {key}: the base has no module {module}; the adapter is for another base"
                    )

    def get(self, name: str) -> Tensor:
        """One merged tensor in float32."""
        stored = self._embedding if name == _HEAD and self.tied else name
        tensor = self.shards.get(stored).float()
        module, _, part = name.rpartition(".")
        changes = [adapter.change(module, part, tensor) for adapter in self.adapters]
        for change in changes:
            if change is not None:
                tensor = tensor + change
        return tensor

    def rows(self, name: str, rows: Sequence[int]) -> Tensor:
        """Some rows of a merged matrix in float32."""
        module = name.rpartition(".")[0]
        if any(module in adapter.parts for adapter in self.adapters):
            return self.get(name)[list(rows)]
        return self.shards.get(self._embedding if name == _HEAD and self.tied else name, rows).float()

    def fill(self, prefix: str) -> None:
        """Give the parameters below a prefix of the model their values."""
        for name, parameter in self.model.named_parameters():
            if name.startswith(prefix):
                parameter.data = self.get(name)

    def release(self, prefix: str) -> None:
        """Take the values below a prefix away again; the model cannot run after it.

        New memory of the same size would be the old one: the allocator gives back what was written to.
        """
        for name, parameter in self.model.named_parameters():
            if name.startswith(prefix):
                parameter.data = torch.empty(0)


def skeleton(source: Source, kind: str) -> Any:
    """A model of a checkpoint's shape in evaluation mode.

    Its weights are allocated and never written, so the kernel gives them no memory; buffers are real.
    """
    make = getattr(transformers, kind)
    config = read_config(source.folder)
    config._attn_implementation = "eager"
    with no_init_weights():
        model: Any = make(config)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    if model.config.get_text_config().tie_word_embeddings and hasattr(model, "lm_head"):
        # An adapter of the head leaves the embedding alone, and the other way round.
        model.lm_head.weight = nn.Parameter(torch.empty(model.lm_head.weight.shape), requires_grad=False)
    return model.eval()
