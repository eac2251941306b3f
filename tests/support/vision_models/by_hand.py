"""Tiny vision-language checkpoints of families that the installed transformers has no class for.

Their tensors are written by name and shape, with the configuration that llama.cpp's converter reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from tests.support.vision_models.by_transformers import PREPROCESSOR

_WIDE, _INNER = 64, 96
"""Of the language part: numbers of a token, and of the inner layer of its blocks."""
Shapes = Mapping[str, Sequence[int]]


def qwen3_5(folder: Path, tokens: int) -> None:
    """Qwen3_5ForConditionalGeneration: three layers with a recurrent state, then one with attention."""
    language, shapes = _hybrid(tokens)
    tower = {
        **{"depth": 2, "hidden_size": 64, "intermediate_size": 96, "num_heads": 2, "out_hidden_size": _WIDE},
        **{"patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, "num_position_embeddings": 64},
        "deepstack_visual_indexes": [],
    }
    _save(folder, "Qwen3_5ForConditionalGeneration", "qwen3_5", language, tower, {**shapes, **_qwen_tower()})


def minicpmv(folder: Path, tokens: int) -> None:
    """MiniCPMV4_6ForConditionalGeneration: a SigLIP tower that halves its grid midway, and Qwen3.5 behind it."""
    language, shapes = _hybrid(tokens)
    tower = {
        **{"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2},
        **{"image_size": 980, "patch_size": 14, "layer_norm_eps": 1e-6},
    }
    whole = {**shapes, **_siglip_tower(), **_mergers()}
    more = {"insert_layer_id": 0}
    resolution = {"scale_resolution": 112, "downsample_mode": "16x"}
    _save(folder, "MiniCPMV4_6ForConditionalGeneration", "minicpmv4_6", language, tower, whole, more, resolution)


def gemma4(folder: Path, tokens: int) -> None:
    """Gemma4ForConditionalGeneration: attention within a window, then to everything with larger heads."""
    layers = ["sliding_attention", "full_attention"]
    language = {
        **{"hidden_size": _WIDE, "intermediate_size": _INNER, "num_hidden_layers": 2, "num_attention_heads": 2},
        **{"num_key_value_heads": 1, "head_dim": 32, "global_head_dim": 64, "vocab_size": tokens},
        **{"max_position_embeddings": 4096, "sliding_window": 512, "num_kv_shared_layers": 0, "rms_norm_eps": 1e-6},
        **{"hidden_size_per_layer_input": 0, "layer_types": layers, "hidden_activation": "gelu_pytorch_tanh"},
        "moe_intermediate_size": None,
        **{"tie_word_embeddings": True, "num_global_key_value_heads": 1, "use_bidirectional_attention": "vision"},
        "rope_parameters": {
            "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    }
    tower = {
        **{"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2},
        **{"head_dim": 32, "patch_size": 16, "pooling_kernel_size": 3, "layer_norm_eps": 1e-6},
    }
    shapes: dict[str, Sequence[int]] = {
        "model.language_model.embed_tokens.weight": (tokens, _WIDE),
        "model.language_model.norm.weight": (_WIDE,),
        "model.embed_vision.embedding_projection.weight": (_WIDE, 64),
        "model.vision_tower.patch_embedder.input_proj.weight": (64, 3 * 16 * 16),
        "model.vision_tower.patch_embedder.position_embedding_table": (2, 128, 64),
    }
    for layer, head in enumerate((32, 64)):
        shapes |= _gemma_layer(f"model.language_model.layers.{layer}.", _WIDE, _INNER, head, "")
        shapes[f"model.language_model.layers.{layer}.layer_scalar"] = (1,)
    for layer in range(2):
        shapes |= _gemma_layer(f"model.vision_tower.encoder.layers.{layer}.", 64, 96, 32, ".linear", keys=2)
    _save(folder, "Gemma4ForConditionalGeneration", "gemma4", language, tower, shapes)


def _hybrid(tokens: int) -> tuple[dict[str, Any], dict[str, Sequence[int]]]:
    """Qwen3.5's language part: settings and shapes."""
    keys, values, size, head = 2, 4, 16, 32
    language = {
        **{"hidden_size": _WIDE, "intermediate_size": _INNER, "num_hidden_layers": 4, "num_attention_heads": 2},
        **{"num_key_value_heads": 1, "head_dim": head, "vocab_size": tokens, "max_position_embeddings": 4096},
        **{"rms_norm_eps": 1e-6, "tie_word_embeddings": True, "full_attention_interval": 4, "hidden_act": "silu"},
        **{"linear_conv_kernel_dim": 4, "linear_key_head_dim": size, "linear_value_head_dim": size},
        **{"linear_num_key_heads": keys, "linear_num_value_heads": values},
        "layer_types": [*["linear_attention"] * 3, "full_attention"],
        "rope_parameters": {
            **{"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5},
            **{"mrope_section": [3, 3, 2], "mrope_interleaved": True},
        },
    }
    shapes: dict[str, Sequence[int]] = {
        "model.language_model.embed_tokens.weight": (tokens, _WIDE),
        "model.language_model.norm.weight": (_WIDE,),
    }
    mixed = 2 * keys * size + values * size
    for layer in range(4):
        at = f"model.language_model.layers.{layer}."
        shapes |= {
            at + "input_layernorm.weight": (_WIDE,),
            at + "post_attention_layernorm.weight": (_WIDE,),
            at + "mlp.gate_proj.weight": (_INNER, _WIDE),
            at + "mlp.up_proj.weight": (_INNER, _WIDE),
            at + "mlp.down_proj.weight": (_WIDE, _INNER),
        }
        if layer == 3:  # its queries have a gate beside them
            shapes |= {
                at + "self_attn.q_proj.weight": (2 * 2 * head, _WIDE),
                at + "self_attn.k_proj.weight": (head, _WIDE),
                at + "self_attn.v_proj.weight": (head, _WIDE),
                at + "self_attn.o_proj.weight": (_WIDE, 2 * head),
                at + "self_attn.q_norm.weight": (head,),
                at + "self_attn.k_norm.weight": (head,),
            }
        else:
            shapes |= {
                at + "linear_attn.in_proj_qkv.weight": (mixed, _WIDE),
                at + "linear_attn.in_proj_z.weight": (values * size, _WIDE),
                at + "linear_attn.in_proj_a.weight": (values, _WIDE),
                at + "linear_attn.in_proj_b.weight": (values, _WIDE),
                at + "linear_attn.conv1d.weight": (mixed, 1, 4),
                at + "linear_attn.A_log": (values,),
                at + "linear_attn.dt_bias": (values,),
                at + "linear_attn.norm.weight": (size,),
                at + "linear_attn.out_proj.weight": (_WIDE, values * size),
            }
    return language, shapes


def _qwen_tower() -> dict[str, Sequence[int]]:
    shapes: dict[str, Sequence[int]] = {
        "model.visual.patch_embed.proj.weight": (64, 3, 2, 16, 16),
        "model.visual.patch_embed.proj.bias": (64,),
        "model.visual.pos_embed.weight": (64, 64),
        **_linear("model.visual.merger.linear_fc1", 256, 256),
        **_linear("model.visual.merger.linear_fc2", _WIDE, 256),
        **_norm("model.visual.merger.norm", 64),
    }
    for layer in range(2):
        at = f"model.visual.blocks.{layer}."
        shapes |= _norm(at + "norm1", 64) | _norm(at + "norm2", 64)
        shapes |= _linear(at + "attn.qkv", 192, 64) | _linear(at + "attn.proj", 64, 64)
        shapes |= _linear(at + "mlp.linear_fc1", 96, 64) | _linear(at + "mlp.linear_fc2", 64, 96)
    return shapes


def _siglip_tower() -> dict[str, Sequence[int]]:
    shapes: dict[str, Sequence[int]] = {
        "model.vision_tower.embeddings.patch_embedding.weight": (64, 3, 14, 14),
        "model.vision_tower.embeddings.patch_embedding.bias": (64,),
        "model.vision_tower.embeddings.position_embedding.weight": (70 * 70, 64),
        **_norm("model.vision_tower.post_layernorm", 64),
    }
    for layer in range(2):
        at = f"model.vision_tower.encoder.layers.{layer}."
        shapes |= _norm(at + "layer_norm1", 64) | _norm(at + "layer_norm2", 64) | _attention(at + "self_attn.", 64)
        shapes |= _linear(at + "mlp.fc1", 96, 64) | _linear(at + "mlp.fc2", 64, 96)
    return shapes


def _mergers() -> dict[str, Sequence[int]]:
    """What makes one token of 2 x 2 within MiniCPM-V's tower, and again behind it."""
    within, behind = "model.vision_tower.vit_merger.", "model.merger.mlp.0."
    return {
        **_norm(within + "layer_norm1", 64),
        **_attention(within + "self_attn.", 64),
        **_norm(within + "pre_norm", 256),
        **_linear(within + "linear_1", 192, 256),
        **_linear(within + "linear_2", 64, 192),
        **_norm(behind + "pre_norm", 256),
        **_linear(behind + "linear_1", 192, 256),
        **_linear(behind + "linear_2", _WIDE, 192),
    }


def _gemma_layer(at: str, wide: int, inner: int, head: int, kind: str, keys: int = 1) -> dict[str, Sequence[int]]:
    norms = ("input", "post_attention", "pre_feedforward", "post_feedforward")
    return {
        at + f"self_attn.q_proj{kind}.weight": (2 * head, wide),
        at + f"self_attn.k_proj{kind}.weight": (keys * head, wide),
        at + f"self_attn.v_proj{kind}.weight": (keys * head, wide),
        at + f"self_attn.o_proj{kind}.weight": (wide, 2 * head),
        at + "self_attn.q_norm.weight": (head,),
        at + "self_attn.k_norm.weight": (head,),
        at + f"mlp.gate_proj{kind}.weight": (inner, wide),
        at + f"mlp.up_proj{kind}.weight": (inner, wide),
        at + f"mlp.down_proj{kind}.weight": (wide, inner),
        **{at + f"{norm}_layernorm.weight": (wide,) for norm in norms},
    }


def _attention(at: str, wide: int) -> dict[str, Sequence[int]]:
    shapes: dict[str, Sequence[int]] = {}
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        shapes |= _linear(at + part, wide, wide)
    return shapes


def _linear(name: str, rows: int, columns: int) -> dict[str, Sequence[int]]:
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def _norm(name: str, wide: int) -> dict[str, Sequence[int]]:
    return {f"{name}.weight": (wide,), f"{name}.bias": (wide,)}


def _tensor(name: str, shape: Sequence[int]) -> Tensor:
    """Near one what scales, near nothing what is added, and random all else."""
    noise = torch.randn(tuple(shape)) * (0.03 if name.endswith("embed_tokens.weight") else 0.15)
    plain = len(shape) == 1 and (name.endswith("norm.weight") or name.endswith(("layer_scalar", "dt_bias")))
    ones = plain or ("norm" in name and name.endswith(".weight")) or name.endswith("A_log")
    return noise + 1 if ones else noise


def _save(
    folder: Path,
    architecture: str,
    kind: str,
    language: dict[str, Any],
    tower: dict[str, Any],
    shapes: Shapes,
    more: Mapping[str, Any] | None = None,
    preprocessor: Mapping[str, Any] | None = None,
) -> None:
    torch.manual_seed(7)
    config = {
        **{"architectures": [architecture], "model_type": kind, "tie_word_embeddings": True},
        **{"text_config": language, "vision_config": tower, **(more or {})},
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    settings = {**PREPROCESSOR, **(preprocessor or {})}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    weights = {name: _tensor(name, shape) for name, shape in shapes.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
