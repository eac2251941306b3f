"""The generator's vision tower and merger as an mmproj GGUF, from a transformers model in memory.

Without `use_silu` llama.cpp silently runs another activation; without any flag it is Qwen2-VL's quick GELU. It knows
windows of 112 pixels only, or none, and takes a tower whose feed-forward width equals its hidden width for an old
layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from torch import Tensor

from quizglass_bundle.fields import Patched
from quizglass_export.errors import ExportError
from quizglass_export.gguf.text import finish, float32

_PREFIX = "model.visual."
_WINDOW_PIXELS = 112
_EPSILON = 1e-6
"""Fixed in transformers' vision towers of both."""


def write_vision_gguf(model: Any, picture: Patched, path: Path) -> None:
    """Write the vision part of a Qwen2-VL or Qwen2.5-VL, matrices in float16, the rest in float32.

    Args:
        model: Qwen2VLForConditionalGeneration or Qwen2_5_VLForConditionalGeneration, float32.
        picture: size and normalisation of the pictures it sees.
        path: file to write.

    Raises:
        ExportError: llama.cpp would run the tower wrongly.
    """
    config, shape = model.config.vision_config, check_vision(model.config)
    writer = gguf.GGUFWriter(str(path), "clip")
    _write_shape(writer, config, picture, shape)
    # The merger's matrices are numbered like blocks, up to 2.
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MMPROJ, max(config.depth, 3))
    for key, tensor in model.state_dict().items():
        if not key.startswith(_PREFIX):
            continue
        for part, value in _parts(key.removeprefix("model."), tensor):
            target = names.get_name(part, (".weight", ".bias")) or part
            if target == part and not part.startswith("v.patch_embd"):
                raise ExportError(f"model.safetensors: {key} has no counterpart in GGUF's vision architecture")
            array = float32(value)
            writer.add_tensor(target, array.astype(np.float16) if array.ndim > 1 else array)
    finish(writer)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the two families name or count in their own way."""

    projector: str
    width: int
    feed_forward: int
    out: int
    pattern: int | None
    """Every how many layers attention is full; 0 where it is full in all, None where the family knows no windows."""


def check_vision(config: Any) -> _Shape:
    """The shape of a model's vision tower; ExportError where llama.cpp would run it wrongly."""
    vision = config.vision_config
    if vision.hidden_act not in ("quick_gelu", "gelu", "silu"):
        raise ExportError(f"config.json: vision_config.hidden_act is {vision.hidden_act!r}; llama.cpp does not know it")
    return _plain_shape(vision) if config.model_type == "qwen2_vl" else _windowed_shape(vision)


def _plain_shape(config: Any) -> _Shape:
    width = int(config.embed_dim)
    feed_forward = int(width * config.mlp_ratio)
    if feed_forward == width:
        raise ExportError("config.json: vision_config.mlp_ratio is 1; llama.cpp misreads such a tower")
    return _Shape(gguf.VisionProjectorType.QWEN2VL, width, feed_forward, int(config.hidden_size), None)


def _windowed_shape(config: Any) -> _Shape:
    if config.intermediate_size == config.hidden_size:
        raise ExportError("config.json: vision_config.intermediate_size equals hidden_size; llama.cpp misreads it")
    pattern = _full_attention_pattern(config)
    kind = gguf.VisionProjectorType.QWEN25VL
    return _Shape(kind, config.hidden_size, config.intermediate_size, config.out_hidden_size, pattern)


def _full_attention_pattern(config: Any) -> int:
    full = sorted(config.fullatt_block_indexes)
    if full == list(range(config.depth)):
        return 0
    if config.window_size != _WINDOW_PIXELS:
        raise ExportError(
            f"config.json: vision_config.window_size is {config.window_size}; llama.cpp knows {_WINDOW_PIXELS} "
            "alone: train with that, or with full attention in every layer"
        )
    period = full[0] + 1 if full else 0
    if not full or full != list(range(full[0], config.depth, period)):
        raise ExportError("config.json: vision_config.fullatt_block_indexes must come at one regular distance")
    return period


def _write_shape(writer: gguf.GGUFWriter, config: Any, picture: Patched, shape: _Shape) -> None:
    writer.add_type(gguf.GGUFType.MMPROJ)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type(shape.projector)
    writer.add_vision_projection_dim(shape.out)
    writer.add_vision_image_size(max(picture.width, picture.height))
    writer.add_vision_patch_size(config.patch_size)
    writer.add_vision_embedding_length(shape.width)
    writer.add_vision_feed_forward_length(shape.feed_forward)
    writer.add_vision_block_count(config.depth)
    writer.add_vision_head_count(config.num_heads)
    writer.add_vision_image_mean(list(picture.mean))
    writer.add_vision_image_std(list(picture.std))
    writer.add_vision_attention_layernorm_eps(_EPSILON)
    writer.add_vision_use_silu(config.hidden_act == "silu")
    if config.hidden_act == "gelu":
        writer.add_vision_use_gelu(True)
    if shape.pattern is not None:
        writer.add_vision_n_wa_pattern(shape.pattern)
    writer.add_vision_spatial_merge_size(config.spatial_merge_size)


def _parts(key: str, tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Split what llama.cpp keeps apart: the kernel's two time slices, and query, key and value."""
    if key == "visual.patch_embed.proj.weight":
        yield "v.patch_embd.weight", tensor[:, :, 0]
        yield "v.patch_embd.weight.1", tensor[:, :, 1]
    elif ".qkv." in key:
        for letter, part in zip("qkv", tensor.chunk(3, dim=0), strict=True):
            yield key.replace("qkv", letter), part
    else:
        yield key, tensor
