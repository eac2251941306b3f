"""Scorers of texts for a card: read from a merged checkpoint tensor by tensor, in the two forms that runtimes take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from quizglass_export.checkpoints.merged import MergedWeights
from quizglass_export.errors import ExportError
from quizglass_export.graphs.decoder import STATIC_ROPE
from quizglass_export.graphs.scorer_text import TextScorer
from quizglass_export.onnx.precision import to_float16
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.written_graphs.card_scorer import SHARED, CardScorer, DecoderShape, Rotary

AXES = {
    "input_ids": {0: "batch", 1: "sequence"},
    "attention_mask": {0: "batch", 1: "sequence"},
    "logits": {0: "batch"},
}


def write_for_cuda(
    weights: MergedWeights,
    labels: Sequence[int],
    positions: int,
    path: Path,
    number: type[np.floating[Any]] = np.float16,
    packed: Path | None = None,
) -> None:
    """Write a scorer with ONNX Runtime's fused operators, in float16 or another type of numbers.

    Args:
        weights: a causal model of Llama's form: Llama, Qwen2, Qwen3, Gemma.
        labels: token ids in the order of the logits.
        positions: most tokens of a prompt, as a batch is padded.
        path: the file to write.
        packed: file of a second graph, for prompts that begin alike, in the same folder: the weights of both are in
            `weights.data` there, once.

    Raises:
        ExportError: the model's form has no fused operators, or a weight no number in float16.
    """
    named = {name for name, _ in weights.model.named_parameters(remove_duplicate=False)}

    def read(name: str) -> NDArray[np.float32] | None:
        return np.asarray(weights.get(name).numpy(), np.float32) if name in named else None

    rows = np.asarray(weights.rows("lm_head.weight", labels).numpy(), np.float32)
    given = (decoder_shape(weights.model), read, _rotary(weights.model, positions), rows, number)
    CardScorer(*given).write(path, SHARED if packed else "")
    if packed is not None:
        CardScorer(*given, packed=True).write(packed, like=path)


def write_for_tensorrt(model: Any, labels: Sequence[int], path: Path) -> None:
    """Write a scorer of standard operators alone, in float16: what TensorRT's parsers know, with the inputs
    `input_ids` and `attention_mask` alone, so that one shape profile holds all of them.

    Args:
        model: a merged causal model, as `TextScorer` takes it.
        labels: token ids in the order of the logits.
        path: the file to write.
    """
    ones = torch.ones(2, 5, dtype=torch.int64)
    write_onnx(TextScorer(model, labels).eval(), {"input_ids": ones, "attention_mask": ones}, AXES, "logits", path)
    to_float16(path, path)


def decoder_shape(model: Any) -> DecoderShape:
    """What a transformers model of Llama's form is, beside its weights."""
    config, attention = model.config, model.model.layers[0].self_attn
    gemma = config.model_type == "gemma"
    kinds = getattr(config, "layer_types", None) or ()
    sliding = [int(config.sliding_window) if kind == "sliding_attention" else -1 for kind in kinds]
    return DecoderShape(
        layers=int(config.num_hidden_layers),
        heads=int(config.num_attention_heads),
        groups=int(config.num_key_value_heads),
        size=int(attention.head_dim),
        width=int(config.hidden_size),
        epsilon=float(config.rms_norm_eps),
        activation="gelu_pytorch_tanh" if gemma else str(config.hidden_act),
        embedding_scale=float(config.hidden_size**0.5) if gemma else 1.0,
        norm_offset=1.0 if gemma else 0.0,
        windows=tuple(sliding) if any(each > 0 for each in sliding) else (),
    )


def _rotary(model: Any, positions: int) -> Rotary:
    """Tables for positions from 0 on."""
    embedding = model.model.rotary_emb
    kind = getattr(embedding, "rope_type", "default")
    if kind not in STATIC_ROPE:
        raise ExportError(f"config.json: rope_type {kind!r} cannot be exported; use one of {', '.join(STATIC_ROPE)}")
    angles = np.outer(np.arange(positions, dtype=np.float64), embedding.inv_freq.double().numpy())
    scaling = float(embedding.attention_scaling)
    return Rotary(*(np.asarray(table * scaling, np.float32) for table in (np.cos(angles), np.sin(angles))))
