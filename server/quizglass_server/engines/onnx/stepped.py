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
TOKENS = (*LENGTHS, 1536, 2048, 3072, 4096)
"""Of all rows together."""
CUDA_GRAPH = {"enable_cuda_graph": "1"}
"""Options of the CUDA provider for a session that is run in steps alone."""
BATCH = ("batch", "batch_size")
"""What exported graphs call the axis of rows."""
_GRAPH_ID, _MASK, _PACKED = "gpu_graph_id", "attention_mask", "tokens"


def step(size: int, steps: Sequence[int]) -> int:
    """The first step that holds a size; beyond the last, a multiple of it."""
    return next((each for each in steps if size <= each), -(-size // steps[-1]) * steps[-1])


Shape = tuple[tuple[str, int], ...]
"""Name and size of every dynamic axis."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """What one shape keeps."""

    binding: Any
    options: Any
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


class SteppedRuns:
    """Runs of a session whose dynamic axes are named: one of rows, as `BATCH` names it, and others, of lengths; the one
    called `tokens` is of all rows together.

    One run at a time: the tensors of a shape are one set.
    """

    def __init__(self, ort: Any, session: Any, device: str, number: int = 0) -> None:
        """Args:
        ort: the package onnxruntime.
        session: opened with `CUDA_GRAPH` where the device is a card; its outputs are float32.
        device: where tensors stay, as ONNX Runtime calls it: cuda or cpu.
        number: of the device.
        """
        self._ort, self._session = ort, session
        self._device = (device, number)
        self._axes: dict[str, list[int | str]] = {each.name: list(each.shape) for each in session.get_inputs()}
        self._outputs: dict[str, list[int | str]] = {each.name: list(each.shape) for each in session.get_outputs()}
        self._bound: dict[Shape, _Bound] = {}
        self._lock = threading.Lock()

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Sizes of the dynamic axes, in the order of their names, that were run so far."""
        return sorted(tuple(size for _, size in shape) for shape in self._bound)

    def run(self, outputs: Sequence[str], inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Run once.

        Args:
            outputs: names of those wanted.
            inputs: by name, padded with zeros to a step; a mask among them is padded like the rest.

        Returns:
            float32 each, as long as the inputs.
        """
        sizes = {
            axis: size
            for name, values in inputs.items()
            for axis, size in zip(self._axes[name], values.shape, strict=True)
            if isinstance(axis, str)
        }
        shape = tuple((axis, step(size, _steps(axis))) for axis, size in sorted(sizes.items()))
        with self._lock:
            bound = self._bound.get(shape) or self._bind(shape, inputs)
            for name, values in inputs.items():
                bound.inputs[name].update_inplace(_padded(name, values, _sized(self._axes[name], dict(shape))))
            self._session.run_with_iobinding(bound.binding, bound.options)
            return [
                bound.outputs[name].numpy()[tuple(map(slice, _sized(self._outputs[name], sizes)))].copy()
                for name in outputs
            ]

    def _bind(self, shape: Shape, inputs: Mapping[str, NDArray[Any]]) -> _Bound:
        make, sizes = self._ort.OrtValue.ortvalue_from_shape_and_type, dict(shape)
        given = {
            name: make(_sized(self._axes[name], sizes), values.dtype.type, *self._device)
            for name, values in inputs.items()
        }
        made = {name: make(_sized(axes, sizes), np.float32, *self._device) for name, axes in self._outputs.items()}
        binding = self._session.io_binding()
        for name, value in given.items():
            binding.bind_ortvalue_input(name, value)
        for name, value in made.items():
            binding.bind_ortvalue_output(name, value)
        options = self._ort.RunOptions()
        options.add_run_config_entry(_GRAPH_ID, str(len(self._bound) + 1))
        self._bound[shape] = bound = _Bound(binding, options, given, made)
        return bound


def _steps(axis: str) -> Sequence[int]:
    return ROWS if axis in BATCH else TOKENS if axis == _PACKED else LENGTHS


def _sized(axes: Sequence[int | str], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A declared shape with a size for each name."""
    return tuple(sizes[axis] if isinstance(axis, str) else axis for axis in axes)


def _padded(name: str, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Zeros behind what there is; a row that is not asked for has one token, since attention needs one."""
    padded = np.zeros(shape, values.dtype)
    padded[tuple(map(slice, values.shape))] = values
    if name == _MASK:
        padded[len(values) :, 0] = 1
    return padded
