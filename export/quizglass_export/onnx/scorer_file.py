"""A scorer of texts as an ONNX file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from quizglass_export.graphs.scorer_text import SharingTextScorer
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.parity import Inputs, session

OUTPUTS = ("logits", "present")
AXES = {
    "input_ids": {0: "batch", 1: "sequence"},
    "attention_mask": {0: "batch", 1: "whole"},
    "past": {2: "batch", 4: "past"},
    "logits": {0: "batch"},
    "present": {2: "batch", 4: "keep"},
}


def write_text_scorer(model: Any, labels: Sequence[int], path: Path) -> None:
    """Write a scorer whose prompts may share a beginning.

    Args:
        model: a merged Qwen3ForCausalLM, or any causal model of that form.
        labels: token ids in the order of the logits.
        path: the file to write, all in float32.
    """
    scorer = SharingTextScorer(model, labels).eval()
    write_onnx(scorer, example(scorer), AXES, OUTPUTS, path)


def example(scorer: SharingTextScorer) -> dict[str, torch.Tensor]:
    """Inputs of a batch of two with a past."""
    layers, heads, size = scorer.decoder.cache_shape
    past = torch.zeros(layers, 2, 2, heads, 3, size)
    ids = torch.ones(2, 5, dtype=torch.int64)
    mask = torch.ones(2, 8, dtype=torch.int64)
    return {"input_ids": ids, "attention_mask": mask, "past": past, "keep": torch.tensor(2)}


def without_past(path: Path) -> Callable[[Inputs], Inputs]:
    """What completes inputs of whole prompts for the scorer in a file; nothing, where its prompts share nothing."""
    shape = next((node.shape for node in session(path).get_inputs() if node.name == "past"), None)
    if shape is None:
        return lambda inputs: inputs

    def completed(inputs: Inputs) -> Inputs:
        past = np.zeros((shape[0], 2, len(inputs["input_ids"]), shape[3], 0, shape[5]), np.float32)
        return inputs | {"past": past, "keep": np.array(0, np.int64)}

    return completed
