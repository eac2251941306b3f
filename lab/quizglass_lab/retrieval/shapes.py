"""Architectures of the three retrieval models: sizes, initial weights, and the files saved beside them.

Sizes were chosen on one CPU core. Attention is "eager" in training: under bfloat16 autocast the backward pass of
PyTorch's fused CPU attention takes as long as everything else together.
"""

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    CLIPVisionConfig,
    CLIPVisionModelWithProjection,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from quizglass_export.clip_pixels import CLIP_MEAN, CLIP_STD

IMAGE_SIZE = 112
IMAGE_DIMENSION = 128
IMAGE_MEAN, IMAGE_STD = CLIP_MEAN, CLIP_STD
TEXT_DIMENSION = 192
TEXT_MAX_TOKENS = 128
RERANKER_VOCABULARY = 2048
RERANKER_MAX_TOKENS = 256
LORA_RANK = 16
LORA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def build_image_encoder() -> CLIPVisionModelWithProjection:
    """CLIP's vision tower, 112x112 pixels in 49 patches, with a projection to 128 dimensions."""
    config = CLIPVisionConfig(
        hidden_size=192,
        intermediate_size=576,
        num_hidden_layers=3,
        num_attention_heads=6,
        image_size=IMAGE_SIZE,
        patch_size=16,
        projection_dim=IMAGE_DIMENSION,
        hidden_act="relu",
        attn_implementation="eager",
    )
    model = CLIPVisionModelWithProjection(config)
    _initialise_vision(model)
    return model


@torch.no_grad()
def _initialise_vision(model: CLIPVisionModelWithProjection) -> None:
    """Initial weights for a narrow tower.

    CLIP's own leave attention nearly uniform and drown positions (deviation 0.02) in the patches' colours: where
    things are, and so what shape they have, is then learned late. Measured: twice the accuracy after 100 steps.
    """
    config, embeddings = model.config, model.vision_model.embeddings
    positions = embeddings.position_embedding.weight
    positions[1:] = 0.6 * _grid_positions(config.image_size // config.patch_size, config.hidden_size)
    embeddings.patch_embedding.weight.copy_(_cosine_patches(config.patch_size, config.hidden_size))
    narrow, wide = config.hidden_size**-0.5, config.intermediate_size**-0.5
    shrink = config.num_hidden_layers**-0.5  # scale of each block's addition to the residual stream
    for layer in model.vision_model.encoder.layers:
        attention, mlp = layer.self_attn, layer.mlp
        for matrix in (attention.q_proj, attention.k_proj):
            nn.init.normal_(matrix.weight, std=1.2 * narrow)
        nn.init.normal_(attention.v_proj.weight, std=narrow)
        nn.init.normal_(attention.out_proj.weight, std=narrow * shrink)
        nn.init.normal_(mlp.fc1.weight, std=math.sqrt(2) * narrow)
        nn.init.normal_(mlp.fc2.weight, std=wide * shrink)


def _cosine_patches(side: int, width: int) -> torch.Tensor:
    """[width, 3, side, side]: the lowest two-dimensional cosines of each colour, evened out, then turned at random.

    Random filters answer mostly to a patch's mean colour; with these, edges start out as loud as colours.
    """
    count = math.isqrt(width // 3)
    at = (torch.arange(side) + 0.5) / side
    waves = torch.cos(torch.pi * torch.arange(count).unsqueeze(1) * at)  # [count, side]
    loudness = (1 + torch.arange(count)).float() ** 0.7
    planes = torch.einsum("ux,vy->uvxy", waves * loudness.unsqueeze(1), waves * loudness.unsqueeze(1))
    planes = planes.reshape(-1, side, side) / side**2
    filters = torch.zeros(width, 3, side, side)
    for colour in range(3):
        filters[colour * len(planes) : (colour + 1) * len(planes), colour] = planes
    turn, _ = torch.linalg.qr(torch.randn(width, width))
    return torch.einsum("ab,bcxy->acxy", turn, filters)


def _grid_positions(side: int, width: int) -> torch.Tensor:
    """[side*side, width] sines and cosines of row and column."""
    rates = torch.pi / side * torch.arange(1, width // 4 + 1) ** 0.6
    at = torch.arange(side).unsqueeze(1) * rates
    axis = torch.cat((at.sin(), at.cos()), dim=1)  # [side, width / 2]
    rows, columns = axis.repeat_interleave(side, 0), axis.repeat(side, 1)
    return torch.cat((rows, columns), dim=1)


def build_text_encoder(vocabulary: int) -> BertModel:
    """BERT, 3 layers; its last hidden states are averaged over the unmasked positions, then normalised."""
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=TEXT_DIMENSION,
        num_hidden_layers=3,
        num_attention_heads=6,
        intermediate_size=576,
        hidden_act="relu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=TEXT_MAX_TOKENS,
        initializer_range=0.05,
        attn_implementation="eager",
    )
    return BertModel(config, add_pooling_layer=False)


def build_reranker(vocabulary: int = RERANKER_VOCABULARY, pad_token_id: int = 0) -> Qwen3ForCausalLM:
    """Qwen3, 4 layers; the rotary base and the initial weights are set for 32-wide heads and 192-wide states."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=192,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=6,
        head_dim=32,
        intermediate_size=512,
        max_position_embeddings=RERANKER_MAX_TOKENS,
        rope_theta=10000.0,
        tie_word_embeddings=True,
        initializer_range=0.05,
        bos_token_id=None,
        eos_token_id=pad_token_id,
        pad_token_id=pad_token_id,
        attn_implementation="eager",
    )
    model = Qwen3ForCausalLM(config)
    _scale_residual_outputs(model, config.num_hidden_layers)
    _attend_to_equals(model)
    return model


def _attend_to_equals(model: Qwen3ForCausalLM) -> None:
    """Start half of the first two layers' heads with equal queries and keys, so that equal tokens find each other.

    Comparing names is what a reranker has to learn first; from unrelated queries and keys that takes far longer.
    """
    with torch.no_grad():
        for layer in model.model.layers[:2]:
            rows = model.config.head_dim * (model.config.num_attention_heads // 2)
            layer.self_attn.q_proj.weight[:rows] = layer.self_attn.k_proj.weight[:rows]


def _scale_residual_outputs(model: nn.Module, layers: int) -> None:
    """Shrink what every block adds to the residual stream, so that depth does not grow it (as GPT-2 does)."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                parameter.mul_(1.0 / math.sqrt(2 * layers))


def save_image_encoder(model: CLIPVisionModelWithProjection, out: Path) -> None:
    """Write weights, config and `preprocessor_config.json`."""
    model.save_pretrained(out)
    preprocessing: dict[str, Any] = {
        "image_processor_type": "CLIPImageProcessor",
        "do_resize": True,
        "size": {"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        "resample": 3,  # bicubic, stretched: the aspect is not kept
        "do_center_crop": False,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(IMAGE_MEAN),
        "image_std": list(IMAGE_STD),
        "do_convert_rgb": True,
    }
    _write_json(out / "preprocessor_config.json", preprocessing)


def save_text_pooling(out: Path) -> None:
    """Write `pooling.json`: how sentence vectors are made of the hidden states, and the prefixes (none)."""
    pooling = {
        "pooling": "mean",
        "normalise": True,
        "dimension": TEXT_DIMENSION,
        "query_prefix": "",
        "passage_prefix": "",
        "passage_format": "{title}: {paragraph}",
        "max_tokens": TEXT_MAX_TOKENS,
    }
    _write_json(out / "pooling.json", pooling)


def mean_pool(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """[B,S,D] hidden states and [B,S] mask (1 for a token) to [B,D] unit vectors."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)
    return nn.functional.normalize(pooled.float(), dim=-1)


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
