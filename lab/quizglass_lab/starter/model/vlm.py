"""The starter's vision-language model: Qwen2.5-VL's architecture at a size that two CPU cores can train.

The weights live in transformers' own classes, so checkpoints are ordinary ones. The forward passes here compute the
same function faster for training: all pictures of a batch at once, no cache objects. A test compares the two.
"""

from __future__ import annotations

import functools
from collections.abc import MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from quizglass_export.clip_pixels import CLIP_MEAN, CLIP_STD
from quizglass_lab.starter.model.sizes import MERGE, PATCH, PICTURE, TOKENS_SIDE

Model = Any
"""transformers' model or PEFT's view of it: their submodules carry no types."""
GRID = PICTURE // PATCH
"""Patches a side."""
PICTURE_TOKENS = TOKENS_SIDE**2
HIDDEN = 192
HEADS = 6
KEY_VALUE_HEADS = 2
LAYERS = 4
VISION_HIDDEN = 128
VISION_HEADS = 4
VISION_DEPTH = 3
_SECTIONS = (4, 6, 6)
_TINY_EPSILON = 1e-8  # llama.cpp reads none for this architecture
_ANGLES: MutableMapping[nn.Module, dict[torch.device, Tensor]] = WeakKeyDictionary()
"""Of vision towers, by the device that they are on."""


def _vision_config() -> dict[str, object]:
    return {
        "depth": VISION_DEPTH,
        "hidden_size": VISION_HIDDEN,
        "num_heads": VISION_HEADS,
        "intermediate_size": 3 * VISION_HIDDEN,  # must differ from hidden_size for llama.cpp
        "out_hidden_size": HIDDEN,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": 2,
        "window_size": PICTURE,
        "fullatt_block_indexes": list(range(VISION_DEPTH)),
    }


def _text_config(vocabulary: int, end: int) -> dict[str, object]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "intermediate_size": 512,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "rms_norm_eps": _TINY_EPSILON,
        "rope_theta": 10_000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": list(_SECTIONS)},
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "initializer_range": 0.06,
        "use_sliding_window": False,
        "bos_token_id": None,
        "eos_token_id": end,
        "pad_token_id": None,  # a padding row would stay zero, which llama.cpp turns into NaN
    }


def model_config(tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLConfig:
    """Config for a tokenizer built by `build_tokenizer`."""

    def token(text: str) -> int:
        return int(tokenizer.convert_tokens_to_ids(text))

    end = token("<|im_end|>")
    config = Qwen2_5_VLConfig(
        vision_config=_vision_config(),
        text_config=_text_config(len(tokenizer), end),
        tie_word_embeddings=True,
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
    )
    config.eos_token_id = end
    return config


def new_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen2_5_VLForConditionalGeneration:
    """An untrained model; weights depend on the seed alone."""
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(model_config(tokenizer))
    depth_scale = (2 * LAYERS) ** -0.5
    with torch.no_grad():
        for layer in model.model.language_model.layers:
            layer.self_attn.o_proj.weight.mul_(depth_scale)
            layer.mlp.down_proj.weight.mul_(depth_scale)
        for parameter in model.model.visual.parameters():
            if parameter.ndim >= 2:
                fan_in = parameter[0].numel()
                nn.init.normal_(parameter, std=fan_in**-0.5 * 0.8)
    model.generation_config.eos_token_id = model.config.eos_token_id
    model.generation_config.pad_token_id = int(tokenizer.pad_token_id or 0)
    return model


def patches(pictures: Tensor) -> Tensor:
    """Normalised patches in Qwen2-VL's order, for one frame.

    Args:
        pictures: uint8 [B, 112, 112, 3].

    Returns:
        float32 [B, 64, 588]: merge groups row by row, the four patches of a group together, each channel-first. The
        processor's 1176 values are these with every channel's 14 x 14 plane repeated for the two time slices.
    """
    batch = pictures.shape[0]
    mean, std = _statistics(pictures.device)
    values: Tensor = (pictures.to(torch.float32) / 255.0 - mean) / std
    side = TOKENS_SIDE
    values = values.view(batch, side, MERGE, PATCH, side, MERGE, PATCH, 3)
    return values.permute(0, 1, 4, 2, 5, 7, 3, 6).reshape(batch, GRID * GRID, 3 * PATCH * PATCH)


@functools.cache
def _statistics(device: torch.device) -> tuple[Tensor, Tensor]:
    """CLIP's mean and deviation of channels, each [3]; brought to a GPU once, for that waits for all work before it."""
    with torch.inference_mode(False):
        mean, std = torch.tensor((CLIP_MEAN, CLIP_STD), device=device)
    return mean, std


def normed(x: Tensor, module: Model) -> Tensor:
    """RMS norm with a transformers module's weight and epsilon; in one kernel, for which both have one precision."""
    return F.rms_norm(x, (x.shape[-1],), module.weight.to(x.dtype), module.variance_epsilon)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of queries or keys [..., S, d] by angles that broadcast to them."""
    half = x.shape[-1] // 2
    swapped = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + swapped * sin


def _attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None) -> Tensor:
    """Attention; on a CPU the plain one, whose backward pass is several times faster there for these lengths.

    Args:
        query: [B, heads, S, d]; key and value [B, kv heads, S, d]; bias broadcasts over [B, 1, S, S].

    Returns:
        [B, heads, S, d].
    """
    batch, heads, length, width = query.shape
    groups = key.shape[1]
    if query.is_cuda:
        key, value = (each.repeat_interleave(heads // groups, 1) for each in (key, value))
        return F.scaled_dot_product_attention(query, key, value, None if bias is None else bias.to(query.dtype))
    rows = (query * width**-0.5).reshape(batch, groups, heads // groups * length, width)
    scores = torch.matmul(rows, key.transpose(-1, -2)).view(batch, heads, length, -1)
    if bias is not None:
        scores = scores + bias
    weights = scores.softmax(-1).to(value.dtype).view(batch, groups, heads // groups * length, -1)
    return torch.matmul(weights, value).view(batch, heads, length, width)


def _attention_bias(mask: Tensor | None, length: int, device: torch.device) -> Tensor:
    """0 where a row may look, a large negative number elsewhere."""
    if mask is None:
        mask = torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]
    return torch.zeros(mask.shape, device=device).masked_fill_(~mask, -1e9)


def _vision_angles(visual: Model) -> Tensor:
    """[64, head_dim] rotary angles of the patches in merge order; worked out once for a tower, on each device."""
    device = visual.patch_embed.proj.weight.device
    known = _ANGLES.setdefault(visual, {})
    if device not in known:
        with torch.inference_mode(False):
            angles: Tensor = visual.rot_pos_emb(torch.tensor([[1, GRID, GRID]])).to(device)
            known[device] = torch.cat((angles, angles), dim=-1)
    return known[device]


def picture_features(model: Model, pictures: Tensor) -> Tensor:
    """What the language part is shown of pictures: uint8 [B, 112, 112, 3] to [B, 16, 192]."""
    return tower_features(model.model.visual, pictures)


def tower_features(visual: Model, pictures: Tensor) -> Tensor:
    """Vision tower and merger: uint8 [B, 112, 112, 3] to [B, 16, 192]."""
    batch = pictures.shape[0]
    weight = visual.patch_embed.proj.weight.sum(2).flatten(1)  # both time slices see the same frame
    x = F.linear(patches(pictures), weight)
    angles = _vision_angles(visual)
    cos, sin = angles.cos(), angles.sin()
    for block in visual.blocks:
        qkv = block.attn.qkv(normed(x, block.norm1)).view(batch, GRID * GRID, 3, block.attn.num_heads, -1)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        query, key = rotate(query, cos, sin).to(value.dtype), rotate(key, cos, sin).to(value.dtype)
        mixed = _attend(query, key, value).transpose(1, 2).reshape(batch, GRID * GRID, -1)
        x = x + block.attn.proj(mixed)
        x = x + block.mlp(normed(x, block.norm2))
    merged = normed(x, visual.merger.ln_q).reshape(batch, PICTURE_TOKENS, -1)
    features: Tensor = visual.merger.mlp(merged)
    return features


def hidden_states(model: Model, embeddings: Tensor, positions: Tensor, mask: Tensor | None = None) -> Tensor:
    """The language model up to its last norm.

    Args:
        model: the model, or a PEFT wrapper's base.
        embeddings: [B, S, 192]; padding on the right.
        positions: int64 [3, B, S], M-RoPE.
        mask: bool [B, 1, S, S], true where a row may look; None means plain causal.

    Returns:
        [B, S, 192].
    """
    language = model.model.language_model
    cos, sin = text_angles(language, positions)
    batch, length, _ = embeddings.shape
    bias = _attention_bias(mask, length, embeddings.device)
    x = embeddings
    for layer in language.layers:
        attention = layer.self_attn
        inner = normed(x, layer.input_layernorm)
        query = attention.q_proj(inner).view(batch, length, HEADS, -1).transpose(1, 2)
        key = attention.k_proj(inner).view(batch, length, KEY_VALUE_HEADS, -1).transpose(1, 2)
        value = attention.v_proj(inner).view(batch, length, KEY_VALUE_HEADS, -1).transpose(1, 2)
        query, key = rotate(query, cos, sin).to(value.dtype), rotate(key, cos, sin).to(value.dtype)
        mixed = _attend(query, key, value, bias)
        x = x + attention.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))
        x = x + layer.mlp(normed(x, layer.post_attention_layernorm))
    return normed(x, language.norm)


def text_angles(language: Model, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin, [B, 1, S, head_dim]: each frequency band takes its own axis of the position."""
    inverse = language.rotary_emb.inv_freq
    axis = [number for number, width in enumerate(_SECTIONS) for _ in range(width)]
    angles = positions.to(torch.float32)[axis].permute(1, 2, 0) * inverse
    angles = torch.cat((angles, angles), dim=-1)[:, None]
    return angles.cos(), angles.sin()


def logits(model: Model, hidden: Tensor) -> Tensor:
    """Scores over the vocabulary for any number of hidden states."""
    return F.linear(hidden, model.model.language_model.embed_tokens.weight)
