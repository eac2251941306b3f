"""Traces PyTorch modules to ONNX files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from quizglass_export.onnx.file import OPSET


def write_onnx(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    dynamic: Mapping[str, Mapping[int, str]],
    output: str | Sequence[str],
    path: Path,
) -> None:
    """Trace a module to an ONNX file.

    Args:
        module: in evaluation mode; its forward takes `inputs` in order.
        inputs: an example of each input by name, with a batch of two or more so that no axis collapses.
        dynamic: names of the dynamic axes of each input and of the output.
        output: name of the only output, or of several.
        path: file to write.
    """
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer warns of every Python value that is meant to be a constant
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            str(path),
            input_names=list(inputs),
            output_names=[output] if isinstance(output, str) else list(output),
            dynamic_axes={name: dict(axes) for name, axes in dynamic.items()},
            opset_version=OPSET,
            dynamo=False,
        )
