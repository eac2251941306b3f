"""Runs of a few fixed shapes, whose inputs and outputs stay on the card: each shape's kernels are launched as one.

A small model's run on a card takes as long as the launches of its kernels. ONNX Runtime can capture them as a CUDA
graph where shapes and addresses stay what they were, so batches are padded to steps and every step keeps its tensors.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = (1, 2, 4, 8, 16)
LENGTHS = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
CUDA_GRAPH = {"enable_cuda_graph": "1"}
"""Options of the CUDA provider for a session that is run in steps alone."""
_GRAPH_ID = "gpu_graph_id"


def step(size: int, steps: Sequence[int]) -> int:
    """The first step that holds a size; beyond the last, a multiple of it."""
    return next((each for each in steps if size <= each), -(-size // steps[-1]) * steps[-1])


@dataclass(frozen=True, slots=True)
class _Bound:
    """What one shape keeps."""

    binding: Any
    options: Any
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


class SteppedRuns:
    """Runs of a session whose inputs are int64 [B, S] and whose outputs are float32 [B, ...] of fixed size.

    One run at a time: the tensors of a shape are one set.
    """

    def __init__(self, ort: Any, session: Any, device: str, number: int = 0) -> None:
        """Args:
        ort: the package onnxruntime.
        session: opened with `CUDA_GRAPH` where the device is a card.
        device: where tensors stay, as ONNX Runtime calls it: cuda or cpu.
        number: of the device.
        """
        self._ort, self._session = ort, session
        self._device = (device, number)
        self._outputs = {each.name: tuple(each.shape[1:]) for each in session.get_outputs()}
        self._bound: dict[tuple[int, int], _Bound] = {}
        self._lock = threading.Lock()

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Rows and lengths that were run so far."""
        return sorted(self._bound)

    def run(self, outputs: Sequence[str], inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Run once.

        Args:
            outputs: names of those wanted.
            inputs: int64 [B, S] each, all of one shape; a mask among them is padded like the rest.

        Returns:
            float32 [B, ...] each.
        """
        rows, length = next(iter(inputs.values())).shape
        shape = (step(rows, ROWS), step(length, LENGTHS))
        with self._lock:
            bound = self._bound.get(shape) or self._bind(shape, inputs)
            for name, values in inputs.items():
                bound.inputs[name].update_inplace(_padded(values, shape))
            self._session.run_with_iobinding(bound.binding, bound.options)
            return [bound.outputs[name].numpy()[:rows].copy() for name in outputs]

    def _bind(self, shape: tuple[int, int], inputs: Mapping[str, NDArray[Any]]) -> _Bound:
        make = self._ort.OrtValue.ortvalue_from_shape_and_type
        given = {name: make(shape, values.dtype.type, *self._device) for name, values in inputs.items()}
        made = {name: make((shape[0], *rest), np.float32, *self._device) for name, rest in self._outputs.items()}
        binding = self._session.io_binding()
        for name, value in given.items():
            binding.bind_ortvalue_input(name, value)
        for name, value in made.items():
            binding.bind_ortvalue_output(name, value)
        options = self._ort.RunOptions()
        options.add_run_config_entry(_GRAPH_ID, str(len(self._bound) + 1))
        self._bound[shape] = bound = _Bound(binding, options, given, made)
        return bound


def _padded(values: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Zeros behind each row; a row that is not asked for has one token, since attention needs one."""
    padded = np.zeros(shape, values.dtype)
    padded[: values.shape[0], : values.shape[1]] = values
    padded[values.shape[0] :, 0] = 1
    return padded
