"""Untrained models of every Qwen vision-language family, and prompts with pictures for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs.vision_inputs import image_tokens
from quizglass_export.graphs.qwen_vl import VISION_CLASSES

IMAGE, START, END = 90, 91, 92
"""Token ids of a picture, and of its surroundings."""
LABELS = [7, 3, 11]
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 100,
    "initializer_range": 0.2,
}
TOKENS = {"image_token_id": IMAGE, "video_token_id": 93, "vision_start_token_id": START, "vision_end_token_id": END}


def qwen2_vl() -> Any:
    return transformers.Qwen2VLConfig(
        text_config={**TEXT, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
        vision_config={"depth": 3, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2},
        **TOKENS,
    )


def qwen2_5_vl(full_blocks: Sequence[int] = (1,)) -> Any:
    return transformers.Qwen2_5_VLConfig(
        text_config={**TEXT, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "intermediate_size": 40,
            "num_heads": 2,
            "out_hidden_size": 32,
            "window_size": 56,
            "fullatt_block_indexes": list(full_blocks),
        },
        **TOKENS,
    )


def qwen3_vl() -> Any:
    return transformers.Qwen3VLConfig(
        text_config={
            **TEXT,
            "head_dim": 16,
            "rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3], "mrope_interleaved": True},
        },
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "intermediate_size": 40,
            "num_heads": 2,
            "out_hidden_size": 32,
            "patch_size": 14,
            "num_position_embeddings": 25,
            "deepstack_visual_indexes": [2, 0],
        },
        **TOKENS,
    )


CONFIGS = {"qwen2_vl": qwen2_vl, "qwen2_5_vl": qwen2_5_vl, "qwen3_vl": qwen3_vl}


def made(kind: str) -> Any:
    """A model of a family with random weights; all of them matter, also those that start as zeros or ones."""
    torch.manual_seed(4)
    config = CONFIGS[kind]()
    config._attn_implementation = "eager"
    model = getattr(transformers, VISION_CLASSES[kind])(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model


def pictured(picture: Patched, seed: int, words: int, count: int = 1) -> tuple[list[int], list[np.ndarray]]:
    """Token ids with so many pictures, and the pictures; before each picture but the first stand two words."""
    rng = np.random.default_rng(seed)
    pixels = [rng.integers(0, 256, (picture.height, picture.width, 3), dtype=np.uint8) for _ in range(count)]
    span = [START, *[IMAGE] * image_tokens(picture), END]
    ids = [1, *span]
    for _ in pixels[1:]:
        ids += [*rng.integers(12, 80, 2).tolist(), *span]
    return [*ids, *rng.integers(12, 80, words).tolist()], pixels
