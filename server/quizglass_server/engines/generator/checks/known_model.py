"""A tiny model whose answer is known: two layers of made-up weights, one matrix in each format that llama.cpp repacks.

It is written in a millisecond, the same on every machine. Its logits were computed from the formats' definitions alone,
in plain floating point (`tests/unit/engines/llama/native/test_engines_known_model.py` does it again), so that they do
not depend on any compiled code being right.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import shake_128

import numpy as np
from numpy.typing import NDArray

WIDTH, LAYERS, HEADS, VOCABULARY = 256, 2, 4, 32
CONTEXT = 512
"""More than is needed, or llama.cpp would warn of the cells that it adds."""
EPSILON = 1e-5
PROMPT = tuple(7 * place % VOCABULARY for place in range(33))
"""The last token is read by itself: one row is another code path than many."""
# fmt: off
LOGITS = (
    (-1.0782, -1.4856, -2.9807, -0.5456, -0.2308, -0.8880, 0.5340, -0.0754, -0.4684, -0.3037, -2.5730, 0.3599,
     2.0439, -0.0563, -0.7075, 0.7582, 1.5838, 0.2923, 0.3101, -0.3086, 1.2737, 0.1829, 0.0451, -0.0812,
     -0.3811, 0.0231, -0.4840, -1.3790, 0.1107, 0.5530, -0.1520, 0.2870),
    (0.1021, -2.5953, -0.8945, -0.0969, -1.9904, 0.4632, 0.1980, 0.3300, -0.6014, -0.9262, -0.9393, 0.5768,
     1.0933, -2.2043, 0.3082, 1.8628, 0.1562, 1.0160, -2.1470, -0.2183, 1.2689, -0.6835, 0.5697, 1.8127,
     -0.5488, 0.6801, -1.0873, 0.4627, -1.5205, -0.6316, 0.6091, -0.6216),
)
# fmt: on
"""After the last token but one, and after the last."""

_ALIGNMENT = 32
_STRING, _UINT32, _INT32, _FLOAT32, _ARRAY = 8, 4, 5, 6, 9
"""GGUF's numbers for types of values."""
_F32 = 0
"""GGUF's number for tensors of 32-bit floats."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a matrix is stored: blocks of random bytes with a scale that makes its products neither grow nor vanish."""

    number: int
    """The type's number in GGUF."""
    block: int
    """Weights in a block."""
    size: int
    """Bytes of a block."""
    scales: tuple[tuple[int, bytes], ...]
    """Offsets in a block, and the bytes there."""


def _half(*offsets_and_values: tuple[int, float]) -> tuple[tuple[int, bytes], ...]:
    return tuple((offset, struct.pack("<e", value)) for offset, value in offsets_and_values)


FORMATS = {
    "Q4_0": Format(2, 32, 18, _half((0, 0.0136))),
    "Q4_1": Format(3, 32, 20, _half((0, 0.0136), (2, -0.102))),
    "Q8_0": Format(8, 32, 34, _half((0, 0.00085))),
    "Q2_K": Format(10, 256, 84, _half((80, 0.0045), (82, 0.00675))),
    "Q4_K": Format(12, 256, 144, _half((0, 0.000275), (2, 0.0020625))),
    "Q5_K": Format(13, 256, 176, _half((0, 0.000135), (2, 0.0020925))),
    "Q6_K": Format(14, 256, 210, _half((208, 0.0000457))),
    "IQ4_NL": Format(20, 32, 18, _half((0, 0.0009))),
    "IQ4_XS": Format(23, 256, 136, _half((0, 0.000049))),
    "MXFP4": Format(39, 32, 17, ((0, b"\x7a"),)),
}
_MATRICES = {
    **{f"blk.{layer}.attn_{part}": name for layer in range(LAYERS) for part, name in (("q", "Q8_0"), ("k", "Q4_0"))},
    "blk.0.attn_v": "Q4_0",
    "blk.0.attn_output": "Q4_1",
    "blk.0.ffn_gate": "Q8_0",
    "blk.0.ffn_up": "Q4_K",
    "blk.0.ffn_down": "Q6_K",
    "blk.1.attn_v": "IQ4_NL",
    "blk.1.attn_output": "Q5_K",
    "blk.1.ffn_gate": "Q2_K",
    "blk.1.ffn_up": "IQ4_XS",
    "blk.1.ffn_down": "MXFP4",
    "output": "Q8_0",
}
"""Their formats; one per format where it matters most, queries and keys in two that others have as well."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the model."""

    name: str
    format: str
    """A name of `FORMATS`, or F32."""
    shape: tuple[int, ...]
    """Rows first."""
    content: bytes


def tensors() -> list[Tensor]:
    """All of them."""
    all_tensors = [_vector("output_norm")]
    for layer in range(LAYERS):
        all_tensors += [_vector(f"blk.{layer}.attn_norm"), _vector(f"blk.{layer}.ffn_norm")]
    all_tensors.append(Tensor("token_embd.weight", "F32", (VOCABULARY, WIDTH), _embedding().tobytes()))
    for name, format_ in _MATRICES.items():
        rows = VOCABULARY if name == "output" else WIDTH
        all_tensors.append(
            Tensor(f"{name}.weight", format_, (rows, WIDTH), _blocks(name, FORMATS[format_], rows * WIDTH))
        )
    return all_tensors


def gguf() -> bytes:
    """The model as a GGUF file, version 3."""
    values = [
        _text("general.architecture", "llama"),
        # A vocabulary as small as can be; what is asked of it is tokens already.
        _text("tokenizer.ggml.model", "llama"),
        _texts("tokenizer.ggml.tokens", ["<unk>", "<s>", "</s>", *(f"t{place}" for place in range(3, VOCABULARY))]),
        _numbers("tokenizer.ggml.scores", _FLOAT32, "f", [0.0] * VOCABULARY),
        _numbers("tokenizer.ggml.token_type", _INT32, "i", [2, 3, 3, *[1] * (VOCABULARY - 3)]),
        _number("tokenizer.ggml.bos_token_id", 1),
        _number("tokenizer.ggml.eos_token_id", 2),
        _number("tokenizer.ggml.unknown_token_id", 0),
        _number("llama.vocab_size", VOCABULARY),
        _number("llama.block_count", LAYERS),
        _number("llama.context_length", CONTEXT),
        _number("llama.embedding_length", WIDTH),
        _number("llama.feed_forward_length", WIDTH),
        _number("llama.attention.head_count", HEADS),
        _key("llama.attention.layer_norm_rms_epsilon", _FLOAT32) + struct.pack("<f", EPSILON),
    ]
    described, content = b"", b""
    all_tensors = tensors()
    for tensor in all_tensors:
        content += bytes(-len(content) % _ALIGNMENT)
        number = FORMATS[tensor.format].number if tensor.format in FORMATS else _F32
        sizes = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape))
        described += _string(tensor.name) + sizes + struct.pack("<IQ", number, len(content))
        content += tensor.content
    head = b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(values)) + b"".join(values) + described
    return head + bytes(-len(head) % _ALIGNMENT) + content


def _vector(name: str) -> Tensor:
    return Tensor(f"{name}.weight", "F32", (WIDTH,), np.ones(WIDTH, np.float32).tobytes())


def _embedding() -> NDArray[np.float32]:
    """Small, so that what the layers add is most of the outcome."""
    random = np.frombuffer(shake_128(b"embedding").digest(VOCABULARY * WIDTH), np.int8)
    return random.astype(np.float32) / np.float32(512)


def _blocks(name: str, format_: Format, weights: int) -> bytes:
    count = weights // format_.block
    random = np.frombuffer(shake_128(name.encode()).digest(count * format_.size), np.uint8)
    blocks = random.reshape(count, format_.size).copy()
    for offset, scale in format_.scales:
        blocks[:, offset : offset + len(scale)] = np.frombuffer(scale, np.uint8)
    return blocks.tobytes()


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _key(name: str, kind: int) -> bytes:
    return _string(name) + struct.pack("<I", kind)


def _text(name: str, text: str) -> bytes:
    return _key(name, _STRING) + _string(text)


def _texts(name: str, texts: list[str]) -> bytes:
    return _key(name, _ARRAY) + struct.pack("<IQ", _STRING, len(texts)) + b"".join(map(_string, texts))


def _numbers(name: str, kind: int, code: str, numbers: Sequence[float]) -> bytes:
    return _key(name, _ARRAY) + struct.pack(f"<IQ{len(numbers)}{code}", kind, len(numbers), *numbers)


def _number(name: str, number: int) -> bytes:
    return _key(name, _UINT32) + struct.pack("<I", number)
