"""A language model as GGUF, from a transformers model in memory: Qwen2-VL's and Qwen2.5-VL's, and Qwen3.

llama.cpp's architecture `qwen2vl` reads no RMS epsilon, and silently goes wrong without the rotary base, the
pre-tokeniser's name or the token types, so all of them are written and none is optional here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from quizglass_export.checkpoints.files import read_json
from quizglass_export.errors import ExportError

_LARGEST_EPSILON = 1e-5
_VISION_PREFIX = "model.visual."
_HEAD = "lm_head.weight"


def write_text_gguf(model: Any, tokenizer: Path, path: Path, name: str) -> None:
    """Write the language model of a Qwen2-VL, Qwen2.5-VL or Qwen3 in float32.

    Args:
        model: Qwen2VLForConditionalGeneration, Qwen2_5_VLForConditionalGeneration or Qwen3ForCausalLM; merged, float32.
        tokenizer: its `tokenizer.json` (byte-level BPE with Qwen2's pre-tokeniser).
        path: file to write.
        name: model name for the metadata.

    Raises:
        ExportError: llama.cpp would run the model wrongly.
    """
    check_text(model.config, tokenizer)
    architecture = text_architecture(model.config)
    config = model.config if architecture == "qwen3" else model.config.text_config
    writer = gguf.GGUFWriter(str(path), architecture)
    _write_shape(writer, config, name)
    if architecture == "qwen2vl":
        _write_sections(writer, config)
    else:
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    write_vocabulary(writer, tokenizer, int(config.vocab_size))
    for key, tensor in model.state_dict().items():
        if key.startswith(_VISION_PREFIX) or (key == _HEAD and config.tie_word_embeddings):
            continue
        writer.add_tensor(gguf_name(key, architecture, config.num_hidden_layers), float32(tensor))
    finish(writer)


def text_architecture(config: Any) -> str:
    """llama.cpp's name of a transformers model's language part."""
    return "qwen3" if config.model_type == "qwen3" else "qwen2vl"


def gguf_name(key: str, architecture: str, layers: int) -> str:
    """llama.cpp's name of one of transformers' tensors; ExportError if it has none."""
    kind = {"qwen3": gguf.MODEL_ARCH.QWEN3, "qwen2vl": gguf.MODEL_ARCH.QWEN2VL}[architecture]
    names = gguf.get_tensor_name_map(kind, layers)
    target: str | None = names.get_name(key.replace("model.language_model.", "model."), (".weight", ".bias"))
    if target is None:
        raise ExportError(f"model.safetensors: {key} has no counterpart in GGUF's {architecture} architecture")
    return target


def float32(tensor: Tensor) -> NDArray[np.float32]:
    """A tensor as a contiguous float32 array."""
    return np.ascontiguousarray(tensor.detach().float().numpy())


def finish(writer: gguf.GGUFWriter) -> None:
    """Write header, metadata and tensors, and close the file."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_shape(writer: gguf.GGUFWriter, config: Any, name: str) -> None:
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name(name)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_theta)


def check_text(config: Any, tokenizer: Path, context: int | None = None) -> None:
    """Raise ExportError where llama.cpp would run a model wrongly.

    Args:
        config: transformers' own.
        tokenizer: its `tokenizer.json`.
        context: tokens of the longest prompt and its answer; None: as many as the model was made for.
    """
    text = config.get_text_config()
    if text.hidden_act != "silu":
        raise ExportError(f"config.json: hidden_act is {text.hidden_act!r}; llama.cpp runs silu for this architecture")
    scaling = getattr(text, "rope_scaling", None) or {}
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    if kind not in ("default", "mrope"):
        raise ExportError(
            f"config.json: rope_scaling is of type {kind!r}, which is not written to GGUF; leave it out, or convert "
            "the checkpoint with llama.cpp's own converter and name that file by roles.generator.model"
        )
    most = int(text.max_position_embeddings)
    length = context or most
    if length > most:
        raise ExportError(
            f"config.json: max_position_embeddings is {most}, roles.generator.context {length}; choose a shorter one"
        )
    slides = "sliding_attention" in (getattr(text, "layer_types", None) or ())
    if slides and text.sliding_window < length:
        raise ExportError(
            f"config.json: sliding_window is {text.sliding_window}, and llama.cpp attends to all of the {length} "
            "tokens of roles.generator.context for this architecture; choose a shorter one"
        )
    if text_architecture(config) == "qwen2vl" and config.text_config.rms_norm_eps > _LARGEST_EPSILON:
        raise ExportError(
            f"config.json: text_config.rms_norm_eps is {config.text_config.rms_norm_eps}; llama.cpp uses 0 for this "
            f"architecture, so train with at most {_LARGEST_EPSILON}"
        )
    _read_vocabulary(tokenizer, int(text.vocab_size))


def _write_sections(writer: gguf.GGUFWriter, config: Any) -> None:
    sections = list(config.rope_scaling["mrope_section"])
    writer.add_rope_dimension_sections(sections + [0] * (4 - len(sections)))


def _read_vocabulary(path: Path, size: int) -> dict[str, Any]:
    """A `tokenizer.json` of byte-level BPE with the tokens where a generator stops and pads, for so many embeddings."""
    content = read_json(path)
    try:
        kind, added = content["model"]["type"], {each["content"]: each["id"] for each in content["added_tokens"]}
        largest = max([*content["model"]["vocab"].values(), *added.values()]) if kind == "BPE" else 0
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ExportError(f"{path}: not a tokenizer.json: {error}") from error
    if kind != "BPE":
        raise ExportError(f"{path}: model.type is {kind!r}; the generator needs byte-level BPE")
    for needed in ("<|im_end|>", "<|endoftext|>"):
        if needed not in added:
            raise ExportError(f"{path}: added_tokens has no {needed}, where the generator stops or pads")
    if largest >= size:
        raise ExportError(
            f"config.json: vocab_size is {size}, and {path} has the token {largest}; it is another model's tokenizer"
        )
    return content


def write_vocabulary(writer: gguf.GGUFWriter, path: Path, size: int) -> None:
    """Write a `tokenizer.json` of byte-level BPE for so many embeddings; ExportError where it is no such thing."""
    content = _read_vocabulary(path, size)
    model = content["model"]
    tokens = [f"[UNUSED{index}]" for index in range(size)]
    types = [gguf.TokenType.UNUSED] * size
    for token, index in model["vocab"].items():
        tokens[index], types[index] = token, gguf.TokenType.NORMAL
    ids: dict[str, int] = {}
    for added in content["added_tokens"]:
        kind = gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED
        tokens[added["id"]], types[added["id"]] = added["content"], kind
        ids[added["content"]] = added["id"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]])
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_pad_token_id(ids["<|endoftext|>"])
    writer.add_add_bos_token(False)
