"""Tiny Qwen models with random weights, and a tokenizer of their own kind, for scorers and generators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs.prompts import PromptTokenizer

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")
MERGES = (
    *(("Ġ", letter) for letter in "ABCD"),
    ("Ġ", "t"),
    ("h", "e"),
    ("Ġt", "he"),
    ("Ġ", "Ġ"),
    ("Ã", "¤"),
    ("1", "2"),
    ("<", "|"),
    ("e", "s"),
    ("y", "es"),
    ("Ġ", "yes"),
    ("n", "o"),
    ("Ġ", "no"),
)
"""Among them the labels of planners and rerankers."""
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
IMAGE = "<|image_pad|>"


def write_tokenizer(path: Path) -> Path:
    """A byte-level BPE with Qwen2's splitting and a few merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate([*alphabet, *("".join(pair) for pair in MERGES)])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=list(MERGES)))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    made.save(str(path))
    return path


def qwen2_vl(tokenizer: Path, **text: Any) -> Any:
    """Qwen2VLForConditionalGeneration; `text` are keys of its text model's configuration."""
    torch.manual_seed(5)
    config = transformers.Qwen2VLConfig(
        text_config={**_text(tokenizer), "rope_scaling": _SECTIONS, **text},
        vision_config={"depth": 2, "embed_dim": 64, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2},
        **_tokens(tokenizer),
    )
    return _eager(config, transformers.Qwen2VLForConditionalGeneration)


def qwen2_5_vl(tokenizer: Path, vision: dict[str, Any] | None = None, **text: Any) -> Any:
    """Qwen2_5_VLForConditionalGeneration with full attention in every layer of its tower."""
    torch.manual_seed(3)
    config = transformers.Qwen2_5_VLConfig(
        text_config={**_text(tokenizer), "rope_scaling": _SECTIONS, "pad_token_id": None, **text},
        vision_config={**_TOWER, "fullatt_block_indexes": [0, 1, 2], "initializer_range": 0.1, **(vision or {})},
        **_tokens(tokenizer),
    )
    return _eager(config, transformers.Qwen2_5_VLForConditionalGeneration)


def windowed(tokenizer: Path) -> Any:
    """Qwen2.5-VL whose tower attends within windows of 112 pixels in two layers of three."""
    return qwen2_5_vl(tokenizer, {"fullatt_block_indexes": [2], "window_size": 112})


def qwen3_vl(tokenizer: Path) -> Any:
    """Qwen3VLForConditionalGeneration with features taken from two layers of its tower."""
    torch.manual_seed(4)
    config = transformers.Qwen3VLConfig(
        text_config={**_text(tokenizer), "head_dim": 32, "rope_scaling": {**_SECTIONS, "mrope_interleaved": True}},
        vision_config={**_TOWER, "patch_size": 14, "num_position_embeddings": 25, "deepstack_visual_indexes": [2, 0]},
        **_tokens(tokenizer),
    )
    return _eager(config, transformers.Qwen3VLForConditionalGeneration)


def qwen3(tokenizer: Path, width: int = 64, **more: Any) -> Any:
    """Qwen3ForCausalLM."""
    torch.manual_seed(6)
    text = {**_text(tokenizer), "hidden_size": width, "intermediate_size": width, "head_dim": 32, **more}
    return _eager(transformers.Qwen3Config(**text), transformers.Qwen3ForCausalLM)


_SECTIONS = {"rope_type": "default", "type": "mrope", "mrope_section": [4, 6, 6]}
_TOWER = {"depth": 3, "hidden_size": 64, "intermediate_size": 96, "num_heads": 2, "out_hidden_size": 64}


def _text(tokenizer: Path) -> dict[str, Any]:
    return {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "vocab_size": Tokenizer.from_file(str(tokenizer)).get_vocab_size(),
        "rope_theta": 10_000.0,
        "rms_norm_eps": 1e-8,
        "initializer_range": 0.15,
        "tie_word_embeddings": True,
        "max_position_embeddings": 512,
    }


def _tokens(tokenizer: Path) -> dict[str, Any]:
    ids = PromptTokenizer(tokenizer)
    return {
        "tie_word_embeddings": True,
        "image_token_id": ids.token_id(IMAGE),
        "video_token_id": 400,
        "vision_start_token_id": ids.token_id("<|vision_start|>"),
        "vision_end_token_id": ids.token_id("<|vision_end|>"),
    }


def _eager(config: Any, kind: Any) -> Any:
    config._attn_implementation = "eager"
    return kind(config).eval()


def spec(width: int = 112, height: int = 112) -> Patched:
    return Patched(width=width, height=height, mean=(0.5,) * 3, std=(0.5,) * 3, patch=14, merge=2, temporal=2)


ROWS = [list(range(1, 80, 2)), list(range(150, 90, -3))]
"""Token ids of two texts."""


def logits_of_rows(source: Any) -> list[NDArray[np.float32]]:
    """PyTorch's logits [S, V] of each of `ROWS`."""
    with torch.no_grad():
        return [source(input_ids=torch.tensor([row])).logits[0].numpy() for row in ROWS]
