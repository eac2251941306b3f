"""A graph traced without weights, and its weights written to a file beside it, one tensor after the other."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper
from torch import Tensor, nn

from quizglass_export.checkpoints.merged import MergedWeights
from quizglass_export.errors import ExportError
from quizglass_export.graphs.decoder import PrefillDecoder
from quizglass_export.onnx.file import OPSET, halved, restoring

INLINE = 1 << 28
"""Models up to this size are one file: protobuf allows 2 GiB, and holds a file several times while it writes it."""
_ALIGNED = 4096
_HEAD = "lm_head.weight"


def write_streamed(
    weights: MergedWeights,
    build: Callable[[Any], nn.Module],
    labels: Sequence[int],
    example: Callable[[Any], Mapping[str, Tensor]],
    dynamic: Mapping[str, Mapping[int, str]],
    outputs: Sequence[str],
    path: Path,
    *,
    inline: int = INLINE,
) -> None:
    """Write a scorer of a large checkpoint.

    Memory peaks at a few of the largest tensors, and at copies of the queries' and keys' matrices that scorers join.

    Args:
        weights: the merged checkpoint.
        build: makes the scorer from a model of the checkpoint's class.
        labels: rows of the output matrix that the scorer has.
        example: makes an example of each input by name, for the scorer.
        dynamic: names of the dynamic axes of each input and output.
        outputs: names of the outputs.
        path: file to write; weights beyond `inline` bytes go to `PATH.data`.
        inline: largest model that is written as one file.
    """
    _prepare(weights, labels)
    scorer = build(weights.model)
    inputs = example(scorer)
    model = _trace(scorer, inputs, dynamic, outputs)
    turned = _absorb_transposes(model, set(inputs))
    _write(model, turned, _values(weights, scorer), path, inline)


def _write(
    model: onnx.ModelProto, turned: Mapping[str, str], values: Iterable[tuple[str, Tensor]], path: Path, inline: int
) -> None:
    """The graph with its values; what is written of a file that fails is removed."""
    data = path.with_name(f"{path.name}.data")
    try:
        with data.open("w+b") as file:
            stored = _Stored(model, file, turned)
            for name, tensor in values:
                stored.add(name, tensor)
            beside = stored.finish(path, data.name, inline)
    except BaseException:
        data.unlink(missing_ok=True)
        raise
    if not beside:
        data.unlink()


def _prepare(weights: MergedWeights, labels: Sequence[int]) -> None:
    """Values that a scorer computes with while it is built."""
    names = [name for name, _ in weights.model.named_parameters()]
    for prefix in {name.rpartition(".")[0] for name in names if "patch_embed" in name or "pos_embed" in name}:
        weights.fill(f"{prefix}.")
    with torch.no_grad():
        weights.model.lm_head.weight[list(labels)] = weights.rows(_HEAD, labels)


def _trace(
    scorer: nn.Module, inputs: Mapping[str, Tensor], dynamic: Mapping[str, Mapping[int, str]], outputs: Sequence[str]
) -> onnx.ModelProto:
    """The graph, with every parameter as an input."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        file = Path(folder) / "graph.onnx"
        torch.onnx.export(
            scorer,
            tuple(inputs.values()),
            str(file),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={name: dict(axes) for name, axes in dynamic.items()},
            opset_version=OPSET,
            dynamo=False,
            export_params=False,
            keep_initializers_as_inputs=True,  # equal (that is, empty) parameters would be taken for one otherwise
            do_constant_folding=False,
        )
        return onnx.load(str(file))


def _absorb_transposes(model: onnx.ModelProto, inputs: set[str]) -> dict[str, str]:
    """Drop nodes that only turn a parameter; returns the turned one's name by the parameter's."""
    parameters = {value.name for value in model.graph.input} - inputs
    uses: dict[str, int] = {}
    for node in model.graph.node:
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    turned, kept = {}, []
    for node in model.graph.node:
        source = node.input[0] if node.input else ""
        turns = node.op_type == "Transpose" and list(node.attribute[0].ints) == [1, 0]
        if turns and source in parameters and uses[source] == 1:
            turned[source] = node.output[0]
        else:
            kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return turned


def _values(weights: MergedWeights, scorer: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Every parameter of the scorer with its value: read, or computed again from one layer's."""
    names = {id(parameter): name for name, parameter in weights.model.named_parameters()}
    layers = ""
    for path, module in scorer.named_modules():
        if isinstance(module, PrefillDecoder):
            layers = f"{path}.layers."
            yield from _layers(weights, module, layers)
    for name, parameter in scorer.named_parameters():
        if layers and name.startswith(layers):
            continue
        yield name, weights.get(names[id(parameter)]) if id(parameter) in names else parameter


def _layers(weights: MergedWeights, decoder: PrefillDecoder, prefix: str) -> Iterator[tuple[str, Tensor]]:
    text = weights.model.get_decoder()
    path = next(name for name, module in weights.model.named_modules() if module is text)
    for index, layer in enumerate(text.layers):
        place = f"{path}.layers.{index}."
        weights.fill(place)
        rebuilt = type(decoder.layers[index])(layer, text.config)
        for name, parameter in rebuilt.named_parameters():
            yield f"{prefix}{index}.{name}", parameter
        weights.release(place)


class _Stored:
    """Weights on their way into a file, and the graph that will read them."""

    def __init__(self, model: onnx.ModelProto, file: BinaryIO, turned: Mapping[str, str]) -> None:
        self.model = model
        self._file = file
        self._turned = turned
        self._wanted = {value.name for value in model.graph.input}
        self._tensors: list[TensorProto] = []
        self._casts: list[onnx.NodeProto] = []
        self._given: set[str] = set()

    def add(self, name: str, tensor: Tensor) -> None:
        """Store one parameter; those that the graph does not read are skipped."""
        if name not in self._wanted or name in self._given:
            return
        self._given.add(name)
        values: NDArray[np.float32] = tensor.detach().float().numpy()
        if name in self._turned:
            values, name = values.T, self._turned[name]
        values = np.ascontiguousarray(values)
        half = halved(values, name)
        if half is not None:
            self._casts.append(restoring(name))
        stored = half if half is not None else numpy_helper.from_array(values, name)
        content = stored.raw_data
        self._file.write(bytes(-self._file.tell() % _ALIGNED))
        offset = self._file.tell()
        self._file.write(content)
        stored.ClearField("raw_data")
        for key, value in (("offset", offset), ("length", len(content))):
            stored.external_data.add(key=key, value=str(value))
        self._tensors.append(stored)

    def finish(self, path: Path, data: str, inline: int) -> bool:
        """Write the model, and weights of up to `inline` bytes into it; whether the file of the weights is needed."""
        graph = self.model.graph
        inputs = [value for value in graph.input if value.name not in self._given]
        used = {name for node in graph.node for name in node.input}
        if lost := sorted({value.name for value in inputs} & used - set(self._inputs(inputs))):
            raise ExportError(f"{path}: no value for {lost[0]}")
        del graph.input[:]
        graph.input.extend(inputs)
        nodes = [*self._casts, *graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        beside = self._file.tell() > inline
        for tensor in self._tensors:
            if beside:
                tensor.data_location = TensorProto.EXTERNAL
                tensor.external_data.add(key="location", value=data)
            else:
                self._inline(tensor)
        graph.initializer.extend(self._tensors)
        onnx.save(self.model, str(path))
        return beside

    def _inputs(self, values: Sequence[onnx.ValueInfoProto]) -> list[str]:
        """Names of the inputs that are no parameters: those without a dot, as parameters of modules have one."""
        return [value.name for value in values if "." not in value.name and value.name != "head"]

    def _inline(self, tensor: TensorProto) -> None:
        place = {entry.key: int(entry.value) for entry in tensor.external_data}
        self._file.seek(place["offset"])
        tensor.raw_data = self._file.read(place["length"])
        tensor.ClearField("external_data")
