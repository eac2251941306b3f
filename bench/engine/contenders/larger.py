"""Random-weight generators of real shapes, made once and kept in the work directory: Qwen3-VL-2B's, about 2 GB on disk,
and one whose language model is as large as Qwen2.5-1.5B.

All layers of a tower have the same weights, since timing does not depend on them. Language model: 28 layers of 2048 or
1536, Q4_K_M. Vision tower: 24 layers of 1024 with features of three of them, float16.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from bench.engine.contenders.shapes import SEED, VOCABULARY, Shape, filled_up, quantise

LAYERS, HEAD = 28, 128
_TOWER_LAYERS, _TOWER, _TOWER_FEED_FORWARD, _TOWER_HEADS = 24, 1024, 4096, 16
_PATCH, _MERGE, _POSITIONS = 16, 2, 2304
_FEATURES_OF = (5, 11, 17)
"""Layers of the tower whose features reach the language model beside the last one's."""
_EPSILON = 1e-6
_SIDE = 512
"""Pixels of the square picture that is asked about: 256 tokens."""
_Q4_K_M = 15
"""llama.cpp's number (`llama_ftype`)."""


@dataclass(frozen=True, slots=True)
class TextSize:
    """A language model of `LAYERS` layers and heads of `HEAD` numbers."""

    name: str
    width: int
    feed_forward: int
    heads: int
    shared_heads: int
    """Of keys and values."""


TWO_BILLION = TextSize("2B", 2048, 6144, 16, 8)
ONE_AND_A_HALF_BILLION = TextSize("1.5B", 1536, 8960, 12, 2)
"""Of Qwen2.5-1.5B, as its published config.json has it; the norms of queries and keys are Qwen3's."""


def larger(size: TextSize, folder: Path, tokenizer: Path, say: Callable[[str], None]) -> Shape:
    """A shape, made on first use (two minutes on two cores, 5 GiB of memory).

    Args:
        size: of the language model.
        folder: where it is kept.
        tokenizer: `tokenizer.json` of the starter.
        say: told what is being done.
    """
    folder = folder.resolve()
    projector = folder / "mmproj-f16.gguf"
    shape = Shape(size.name, folder / "model-q4_k_m.gguf", projector, _SIDE)
    if shape.model.is_file() and projector.is_file():
        return shape
    say(f"making a random {size.name} generator (once)")
    unfinished = folder / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    random = np.random.default_rng(SEED)
    _write_text(size, unfinished / "full.gguf", tokenizer, random)
    _write_tower(size, unfinished / projector.name, random)
    say("quantising it to Q4_K_M")
    quantise(unfinished / "full.gguf", unfinished / shape.model.name, _Q4_K_M)
    for path in (projector, shape.model):
        (unfinished / path.name).rename(path)
    shutil.rmtree(unfinished)
    return shape


def _write_text(size: TextSize, path: Path, tokenizer: Path, random: np.random.Generator) -> None:
    from quizglass_export.gguf.text import finish, write_vocabulary

    filled = path.with_name("tokenizer.json")
    content = json.loads(tokenizer.read_text(encoding="utf-8"))
    filled.write_text(json.dumps(filled_up(content, VOCABULARY)), encoding="utf-8")
    writer = gguf.GGUFWriter(str(path), "qwen3vl")
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name(f"random {size.name}")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_block_count(LAYERS)
    writer.add_context_length(32_768)
    writer.add_embedding_length(size.width)
    writer.add_feed_forward_length(size.feed_forward)
    writer.add_head_count(size.heads)
    writer.add_head_count_kv(size.shared_heads)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(_EPSILON)
    writer.add_rope_freq_base(5e6)
    writer.add_rope_dimension_sections([24, 20, 20, 0])
    writer.add_num_deepstack_layers(len(_FEATURES_OF))
    write_vocabulary(writer, filled, VOCABULARY)
    writer.add_tensor("token_embd.weight", _matrix(random, VOCABULARY, size.width))
    writer.add_tensor("output_norm.weight", np.ones(size.width, np.float32))
    layer = {
        "attn_norm": np.ones(size.width, np.float32),
        "attn_q": _matrix(random, size.heads * HEAD, size.width),
        "attn_k": _matrix(random, size.shared_heads * HEAD, size.width),
        "attn_v": _matrix(random, size.shared_heads * HEAD, size.width),
        "attn_output": _matrix(random, size.width, size.heads * HEAD),
        "attn_q_norm": np.ones(HEAD, np.float32),
        "attn_k_norm": np.ones(HEAD, np.float32),
        "ffn_norm": np.ones(size.width, np.float32),
        "ffn_gate": _matrix(random, size.feed_forward, size.width),
        "ffn_up": _matrix(random, size.feed_forward, size.width),
        "ffn_down": _matrix(random, size.width, size.feed_forward),
    }
    for number in range(LAYERS):
        for name, values in layer.items():
            writer.add_tensor(f"blk.{number}.{name}.weight", values)
    finish(writer)


def _write_tower(size: TextSize, path: Path, random: np.random.Generator) -> None:
    from quizglass_export.gguf.text import finish

    writer = gguf.GGUFWriter(str(path), "clip")
    writer.add_type(gguf.GGUFType.MMPROJ)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("qwen3vl_merger")
    writer.add_vision_use_gelu(True)
    writer.add_vision_projection_dim(size.width)
    writer.add_vision_image_size(round(_POSITIONS**0.5) * _PATCH)
    writer.add_vision_patch_size(_PATCH)
    writer.add_vision_embedding_length(_TOWER)
    writer.add_vision_feed_forward_length(_TOWER_FEED_FORWARD)
    writer.add_vision_block_count(_TOWER_LAYERS)
    writer.add_vision_head_count(_TOWER_HEADS)
    writer.add_vision_spatial_merge_size(_MERGE)
    writer.add_vision_attention_layernorm_eps(_EPSILON)
    writer.add_vision_image_mean([0.5] * 3)
    writer.add_vision_image_std([0.5] * 3)
    writer.add_vision_is_deepstack_layers([number in _FEATURES_OF for number in range(_TOWER_LAYERS)])
    for name in ("weight", "weight.1"):
        patches = _matrix(random, _TOWER, 3 * _PATCH * _PATCH)
        writer.add_tensor(f"v.patch_embd.{name}", patches.reshape(_TOWER, 3, _PATCH, _PATCH))
    writer.add_tensor("v.patch_embd.bias", np.zeros(_TOWER, np.float32))
    writer.add_tensor("v.position_embd.weight", _matrix(random, _POSITIONS, _TOWER).astype(np.float32))
    _add_norm(writer, "v.post_ln", _TOWER)
    layer = {
        "attn_qkv": _matrix(random, 3 * _TOWER, _TOWER),
        "attn_out": _matrix(random, _TOWER, _TOWER),
        "ffn_up": _matrix(random, _TOWER_FEED_FORWARD, _TOWER),
        "ffn_down": _matrix(random, _TOWER, _TOWER_FEED_FORWARD),
    }
    for number in range(_TOWER_LAYERS):
        for name in ("ln1", "ln2"):
            _add_norm(writer, f"v.blk.{number}.{name}", _TOWER)
        for name, values in layer.items():
            _add_linear(writer, f"v.blk.{number}.{name}", values)
    merged = _TOWER * _MERGE * _MERGE
    first, second = _matrix(random, merged, merged), _matrix(random, size.width, merged)
    for number in _FEATURES_OF:
        _add_norm(writer, f"v.deepstack.{number}.norm", merged)
        _add_linear(writer, f"v.deepstack.{number}.fc1", first)
        _add_linear(writer, f"v.deepstack.{number}.fc2", second)
    _add_linear(writer, "mm.0", first)
    _add_linear(writer, "mm.2", second)
    finish(writer)


def _matrix(random: np.random.Generator, rows: int, columns: int) -> NDArray[Any]:
    return (0.02 * random.standard_normal((rows, columns), np.float32)).astype(np.float16)


def _add_linear(writer: gguf.GGUFWriter, name: str, values: NDArray[Any]) -> None:
    writer.add_tensor(f"{name}.weight", values)
    writer.add_tensor(f"{name}.bias", np.zeros(len(values), np.float32))


def _add_norm(writer: gguf.GGUFWriter, name: str, width: int) -> None:
    writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    writer.add_tensor(f"{name}.bias", np.zeros(width, np.float32))
