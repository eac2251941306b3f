"""Tiny vision-language checkpoints with random weights, made by transformers' own classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

PREPROCESSOR = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
_SECTIONS = {"rope_type": "default", "type": "mrope", "mrope_section": [4, 6, 6]}
_TOWER = {"depth": 3, "hidden_size": 64, "intermediate_size": 96, "num_heads": 2, "out_hidden_size": 64}
_SIGLIP = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.15,
}


def text(tokens: int) -> dict[str, Any]:
    """What the language part of each has in common."""
    return {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "vocab_size": tokens,
        "rope_theta": 10_000.0,
        "rms_norm_eps": 1e-6,
        "initializer_range": 0.15,
        "tie_word_embeddings": True,
        "max_position_embeddings": 4096,
    }


def qwen2_vl(folder: Path, tokens: int) -> None:
    """Qwen2VLForConditionalGeneration."""
    vision = {"depth": 3, "embed_dim": 64, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2}
    config = transformers.Qwen2VLConfig(
        text_config={**text(tokens), "rope_scaling": _SECTIONS}, vision_config=vision, tie_word_embeddings=True
    )
    save(folder, transformers.Qwen2VLForConditionalGeneration, config)


def qwen2_5_vl(folder: Path, tokens: int) -> None:
    """Qwen2_5_VLForConditionalGeneration, one layer of whose tower attends to everything."""
    config = transformers.Qwen2_5_VLConfig(
        text_config={**text(tokens), "rope_scaling": _SECTIONS, "pad_token_id": None},
        vision_config={**_TOWER, "fullatt_block_indexes": [2], "window_size": 112, "initializer_range": 0.1},
        tie_word_embeddings=True,
    )
    save(folder, transformers.Qwen2_5_VLForConditionalGeneration, config)


def qwen3_vl(folder: Path, tokens: int) -> None:
    """Qwen3VLForConditionalGeneration with features taken from one layer of its tower besides the last."""
    config = transformers.Qwen3VLConfig(
        text_config={**text(tokens), "rope_scaling": {**_SECTIONS, "mrope_interleaved": True}},
        vision_config={**_TOWER, "patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [1]},
        tie_word_embeddings=True,
    )
    save(folder, transformers.Qwen3VLForConditionalGeneration, config)


def gemma3(folder: Path, tokens: int) -> None:
    """Gemma3ForConditionalGeneration: pictures of 224 pixels a side, as 16 tokens."""
    config = transformers.Gemma3Config(
        text_config={**text(tokens), "sliding_window": 512, "query_pre_attn_scalar": 32},
        vision_config={**_SIGLIP, "image_size": 224, "patch_size": 14},
        mm_tokens_per_image=16,
    )
    save(folder, transformers.Gemma3ForConditionalGeneration, config, image_seq_length=16)


def smolvlm(folder: Path, tokens: int) -> None:
    """SmolVLMForConditionalGeneration, which shares its projector with Idefics 3; pictures are cut into tiles."""
    config = transformers.SmolVLMConfig(
        text_config={**text(tokens), "model_type": "llama", "architectures": ["VLlama3ForCausalLM"]},
        vision_config={**_SIGLIP, "image_size": 64, "patch_size": 16},
        scale_factor=2,
        tie_word_embeddings=True,
    )
    save(folder, transformers.SmolVLMForConditionalGeneration, config, size={"longest_edge": 256})


def internvl3(folder: Path, tokens: int) -> None:
    """InternVLForConditionalGeneration with Qwen2 behind it, as InternVL3 has; pictures are cut into tiles."""
    config = transformers.InternVLConfig(
        text_config={**text(tokens), "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]},
        vision_config={
            **_SIGLIP,
            **{"image_size": [56, 56], "patch_size": [14, 14], "architectures": ["InternVisionModel"]},
            **{"attention_bias": True, "num_hidden_layers": 4},
        },
        tie_word_embeddings=True,
    )
    save(folder, transformers.InternVLForConditionalGeneration, config)
    saved = load_file(folder / "model.safetensors")
    named = {key if key.startswith("language_model.") else f"model.{key}": value for key, value in saved.items()}
    save_file(named, folder / "model.safetensors", metadata={"format": "pt"})


def lfm2_vl(folder: Path, tokens: int) -> None:
    """Lfm2VlForConditionalGeneration: a convolution, then attention."""
    part = {key: value for key, value in text(tokens).items() if key not in ("rms_norm_eps", "head_dim")}
    config = transformers.Lfm2VlConfig(
        text_config={
            **part,
            **{"architectures": ["Lfm2ForCausalLM"], "layer_types": ["conv", "full_attention"], "norm_eps": 1e-6},
            "block_auto_adjust_ff_dim": False,
        },
        vision_config={
            **_SIGLIP,
            "num_hidden_layers": 3,
            "patch_size": 16,
            "num_patches": 64,
            "vision_use_head": False,
        },
        projector_hidden_size=96,
        tie_word_embeddings=True,
    )
    save(folder, transformers.Lfm2VlForConditionalGeneration, config)


def save(folder: Path, kind: Any, config: Any, **preprocessor: Any) -> None:
    """Write configuration, random weights, and how pictures are normalised."""
    torch.manual_seed(9)
    model = kind(config).eval()
    with torch.no_grad():  # large, tied ones would have a model repeat its last token, whatever it sees
        model.get_input_embeddings().weight *= 0.2
    model.save_pretrained(folder)
    whole = {**config.to_dict(), "architectures": [kind.__name__]}
    (folder / "config.json").write_text(json.dumps(whole), encoding="utf-8")
    settings = {**PREPROCESSOR, **preprocessor}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
