"""What the model's files say before llama-server reads them: that they can be used, and that they fit the memory."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.engines.generator.checks.gguf_file import GgufError, GgufFile, read_model
from quizglass_server.engines.generator.control_tokens import ControlTexts, added_texts, control_texts
from quizglass_server.errors import BundleError
from quizglass_server.scheduling.cores import cgroup_values

_PROJECTOR = "clip"
_SCRATCH = 256 << 20
"""Bytes that llama.cpp takes beside weights and cache, about."""
_GIB = 1 << 30


@dataclass(frozen=True)
class Weights:
    """What has to be known of the files."""

    control: ControlTexts
    added: ControlTexts
    texts: frozenset[str]
    """Every text that may be parsed as a special token."""
    needed: int
    """Bytes of memory, without a card."""


def examined(model: Path, projector: Path | None, cells: int) -> Weights:
    """Look at the files.

    Args:
        model: the text model.
        projector: the vision projector, if there is one.
        cells: of the KV cache that it is to have.

    Raises:
        BundleError: one is no GGUF, is cut off, or is of another kind.
    """
    text = _read(model)
    if text.architecture == _PROJECTOR:
        raise BundleError(f"{model.name}: is a projector; name the text model, and this one as the projector")
    if text.values.get("tokenizer.ggml.model", "no_vocab") in ("no_vocab", "none"):
        raise BundleError(f"{model.name}: has no tokenizer; export it again")
    seen = None if projector is None else _read(projector)
    if projector is not None and seen is not None and seen.architecture != _PROJECTOR:
        raise BundleError(f"{projector.name}: is no projector but a model ({seen.architecture}); name its mmproj file")
    needed = text.whole + (seen.whole if seen is not None else 0) + cache_bytes(text, cells) + _SCRATCH
    tokens, types = text.strings("tokenizer.ggml.tokens"), text.numbers("tokenizer.ggml.token_type")
    texts = frozenset(control_texts(tokens, types))
    return Weights(ControlTexts(texts), ControlTexts(added_texts(tokens, types)), texts, needed)


def check_memory(model: Path, needed: int, cells: int) -> None:
    """See that a model fits the memory before it is loaded.

    Args:
        model: the text model, for the message.
        needed: bytes, without those that a card takes.
        cells: of its KV cache, for the message.

    Raises:
        BundleError: it needs more than there is.
    """
    if needed > (there := memory_bytes()):
        raise BundleError(
            f"{model.name}: needs about {needed / _GIB:.1f} GiB with {cells} cells of cache, and this machine has "
            f"{there / _GIB:.1f}; take a smaller model or quantisation, or fewer --generator-cells"
        )


def cache_bytes(model: GgufFile, cells: int) -> int:
    """Bytes of the KV cache, in 16 bits, as far as the file says: layers that attend to nothing have none."""
    name = model.architecture
    layers, heads = model.number(f"{name}.block_count"), model.numbers(f"{name}.attention.head_count") or [1]
    shared = model.numbers(f"{name}.attention.head_count_kv") or heads
    every = max(1, model.number(f"{name}.full_attention_interval", 1))
    number = sum(shared[:layers]) if len(shared) > 1 else shared[0] * (layers // every)
    side = model.number(f"{name}.embedding_length") // max(1, *heads)
    wide = model.number(f"{name}.attention.key_length", side) + model.number(f"{name}.attention.value_length", side)
    return 2 * number * wide * cells


def memory_bytes() -> int:
    """Memory of this machine, or of the container or service where that is less."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for text in cgroup_values("memory.max"):
        with suppress(ValueError):  # "max": no limit
            size = min(size, int(text))
    return size


def _read(path: Path) -> GgufFile:
    try:
        return read_model(path)
    except GgufError as error:
        raise BundleError(f"{path.name}: {error}") from None
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise BundleError(f"{path.name}: cannot be read: {error}") from None
