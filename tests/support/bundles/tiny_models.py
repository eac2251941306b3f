"""Tiny models with random weights, in the formats that bundles hold, made in milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")
LABELS = (" A", " B", " C", " D", " yes", " no")
MERGES = ("Ġ A", "Ġ B", "Ġ C", "Ġ D", "Ġ y", "Ġy e", "Ġye s", "Ġ n", "Ġn o")
WIDTH = HEIGHT = 112
EMBEDDING, HEADS, KV_HEADS, FEED_FORWARD, LAYERS = 64, 4, 2, 96, 2
VISION, VISION_HEADS, VISION_FEED_FORWARD, VISION_LAYERS, PATCH, MERGE = 32, 2, 64, 2, 14, 2
MEAN, STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


def vocabulary() -> list[str]:
    """Bytes, merges, specials: 271 tokens."""
    return [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(m.replace(" ", "") for m in MERGES), *SPECIALS]


def write_tokenizer(path: Path) -> Path:
    """A byte-level BPE `tokenizer.json`."""
    tokens = vocabulary()
    ids = {token: index for index, token in enumerate(tokens[: -len(SPECIALS)])}
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=[tuple(m.split(" ")) for m in MERGES]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    tokenizer.save(str(path))
    return path


@dataclass(frozen=True)
class TinyGenerator:
    """Files of a generator."""

    model: Path
    projector: Path


def write_generator(directory: Path, seed: int = 0, context: int = 512) -> TinyGenerator:
    """A Qwen2.5-VL of random weights as GGUF and mmproj."""
    random = np.random.default_rng(seed)
    made = TinyGenerator(directory / "model.gguf", directory / "mmproj.gguf")
    _write_text(made.model, random, context)
    _write_vision(made.projector, random)
    return made


def _write_text(path: Path, random: np.random.Generator, context: int) -> None:
    tokens = vocabulary()
    writer = _text_model(path, "qwen2vl", LAYERS, context)
    writer.add_name("tiny")
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_sections([2, 3, 3, 0])
    _add_tokenizer(writer, "qwen2")
    writer.add_pad_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    head = EMBEDDING // HEADS
    put = _random_tensors(writer, random, 0.4)
    embedding = random.standard_normal((len(tokens), EMBEDDING)).astype(np.float32)
    # Faint rows have small logits: a random model never says a special token and so never ends by itself.
    embedding[-len(SPECIALS) :] *= 0.02
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(EMBEDDING, np.float32))
    for index in range(LAYERS):
        block = f"blk.{index}"
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}.{norm}.weight", np.ones(EMBEDDING, np.float32))
        for part, width in (("q", EMBEDDING), ("k", KV_HEADS * head), ("v", KV_HEADS * head)):
            put(f"{block}.attn_{part}.weight", width, EMBEDDING)
            put(f"{block}.attn_{part}.bias", width)
        put(f"{block}.attn_output.weight", EMBEDDING, EMBEDDING)
        put(f"{block}.ffn_gate.weight", FEED_FORWARD, EMBEDDING)
        put(f"{block}.ffn_up.weight", FEED_FORWARD, EMBEDDING)
        put(f"{block}.ffn_down.weight", EMBEDDING, FEED_FORWARD)
    _finish(writer)


def write_llama(
    path: Path, template: str = "", *, begins: bool = False, kind: str = "llama", words: int = 0, split: int = 0
) -> Path:
    """A text model of Llama's shape with random weights as GGUF, as others publish it.

    Args:
        path: the file.
        template: its chat template; empty for none.
        begins: whether its texts begin with a token of their own.
        kind: llama.cpp's name of the architecture.
        words: tokens beyond the usual ones, that no text is cut into.
        split: tensors of each file, as llama.cpp splits large models; 0: one file has all.

    Returns:
        The file, or the first one.
    """
    random, head = np.random.default_rng(1), EMBEDDING // HEADS
    more = [f"word{number}" for number in range(words)]
    tokens = [*vocabulary(), *more]
    writer = _text_model(path, kind, layers=1, context=512, split=split)
    writer.add_rope_dimension_count(head)
    writer.add_vocab_size(len(tokens))
    _add_tokenizer(writer, "smollm", more)
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(begins)
    if template:
        writer.add_chat_template(template)
    sizes = {"attn_q": EMBEDDING, "attn_k": KV_HEADS * head, "attn_v": KV_HEADS * head, "attn_output": EMBEDDING}
    sizes |= {"ffn_gate": FEED_FORWARD, "ffn_up": FEED_FORWARD}
    shapes = {f"blk.0.{name}.weight": (rows, EMBEDDING) for name, rows in sizes.items()}
    shapes |= {"blk.0.ffn_down.weight": (EMBEDDING, FEED_FORWARD), "token_embd.weight": (len(tokens), EMBEDDING)}
    put = _random_tensors(writer, random, 0.3)
    for name, shape in shapes.items():
        put(name, *shape)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(EMBEDDING, np.float32))
    _finish(writer)
    return min(path.parent.glob(f"{path.stem}-00001-of-*.gguf")) if split else path


def _text_model(path: Path, kind: str, layers: int, context: int, split: int = 0) -> gguf.GGUFWriter:
    """A file that says how large its model is."""
    writer = gguf.GGUFWriter(path, kind, split_max_tensors=split)
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_block_count(layers)
    writer.add_context_length(context)
    writer.add_embedding_length(EMBEDDING)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    return writer


def _add_tokenizer(writer: gguf.GGUFWriter, splitting: str, more: Sequence[str] = ()) -> None:
    """The vocabulary, with more words; `splitting` is llama.cpp's name of how text is cut into words."""
    tokens = [*vocabulary(), *more]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitting)
    writer.add_token_list(tokens)
    kinds = [gguf.TokenType.CONTROL if token in SPECIALS else gguf.TokenType.NORMAL for token in tokens]
    writer.add_token_types(kinds)
    writer.add_token_merges(list(MERGES))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))


def _random_tensors(writer: gguf.GGUFWriter, random: np.random.Generator, scale: float) -> Callable[..., None]:
    """What adds a tensor by its name and the sizes of its axes."""

    def put(name: str, *shape: int) -> None:
        writer.add_tensor(name, (random.standard_normal(shape) * scale).astype(np.float32))

    return put


def _vision_tower(path: Path, kind: str, side: int, mean: list[float], std: list[float]) -> gguf.GGUFWriter:
    """A file that says how large its vision tower is."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type(gguf.GGUFType.MMPROJ)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type(kind)
    writer.add_vision_projection_dim(EMBEDDING)
    writer.add_vision_image_size(side)
    writer.add_vision_patch_size(PATCH)
    writer.add_vision_embedding_length(VISION)
    writer.add_vision_feed_forward_length(VISION_FEED_FORWARD)
    writer.add_vision_block_count(VISION_LAYERS)
    writer.add_vision_head_count(VISION_HEADS)
    writer.add_vision_image_mean(mean)
    writer.add_vision_image_std(std)
    writer.add_vision_attention_layernorm_eps(1e-6)
    return writer


def _write_vision(path: Path, random: np.random.Generator) -> None:
    writer = _vision_tower(path, gguf.VisionProjectorType.QWEN25VL, 560, MEAN, STD)
    writer.add_vision_use_silu(True)
    writer.add_vision_n_wa_pattern(0)
    writer.add_vision_spatial_merge_size(MERGE)
    put = _random_tensors(writer, random, 0.2)
    for name in ("v.patch_embd.weight", "v.patch_embd.weight.1"):
        put(name, VISION, 3, PATCH, PATCH)
    for index in range(VISION_LAYERS):
        block = f"v.blk.{index}"
        for norm in ("ln1", "ln2"):
            writer.add_tensor(f"{block}.{norm}.weight", np.ones(VISION, np.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
            put(f"{block}.{part}.weight", VISION, VISION)
            put(f"{block}.{part}.bias", VISION)
        for part in ("ffn_gate", "ffn_up"):
            put(f"{block}.{part}.weight", VISION_FEED_FORWARD, VISION)
            put(f"{block}.{part}.bias", VISION_FEED_FORWARD)
        put(f"{block}.ffn_down.weight", VISION, VISION_FEED_FORWARD)
        put(f"{block}.ffn_down.bias", VISION)
    writer.add_tensor("v.post_ln.weight", np.ones(VISION, np.float32))
    merged = VISION * MERGE * MERGE
    for name, rows in (("mm.0", merged), ("mm.2", EMBEDDING)):
        put(f"{name}.weight", rows, merged)
        put(f"{name}.bias", rows)
    _finish(writer)


def write_foreign_projector(path: Path, kind: str) -> Path:
    """A SigLIP of random weights as mmproj for `write_llama`; `kind` is llama.cpp's name: idefics3 or gemma3."""
    random, merge, ones, zeros = np.random.default_rng(2), 2, np.ones(VISION, np.float32), np.zeros(VISION, np.float32)
    writer = _vision_tower(path, kind, WIDTH, [0.5] * 3, [0.5] * 3)
    writer.add_vision_use_gelu(True)
    writer.add_vision_projector_scale_factor(merge)
    writer.add_uint32("clip.vision.preproc_image_size", 4 * WIDTH)
    put = _random_tensors(writer, random, 0.2)
    put("v.patch_embd.weight", VISION, 3, PATCH, PATCH)
    put("v.patch_embd.bias", VISION)
    put("v.position_embd.weight", (WIDTH // PATCH) ** 2, VISION)
    for norm in ("v.post_ln", *(f"v.blk.{index}.{name}" for index in range(VISION_LAYERS) for name in ("ln1", "ln2"))):
        writer.add_tensor(f"{norm}.weight", ones)
        writer.add_tensor(f"{norm}.bias", zeros)
    for index in range(VISION_LAYERS):
        sizes = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_out"), (VISION, VISION))
        sizes |= {"ffn_up": (VISION_FEED_FORWARD, VISION), "ffn_down": (VISION, VISION_FEED_FORWARD)}
        for part, (rows, columns) in sizes.items():
            put(f"v.blk.{index}.{part}.weight", rows, columns)
            put(f"v.blk.{index}.{part}.bias", rows)
    if kind == "gemma3":
        put("mm.input_projection.weight", VISION, EMBEDDING)
        writer.add_tensor("mm.soft_emb_norm.weight", ones)
    else:
        put("mm.model.fc.weight", EMBEDDING, VISION * merge * merge)
    _finish(writer)
    return path


def _finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
