"""ONNX files: reading and writing them, and storing weights in half the bytes where nothing is lost by it."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from quizglass_export.errors import ExportError
from quizglass_export.graphs.rotary import DOMAIN

OPSET = 18
_PART = 1 << 22
"""Elements that are looked at together: large weights have no second copy in memory for it."""
_SMALLEST = 4096
"""Initialisers with fewer elements are left alone: a Cast costs more than it saves."""
_HALF = ".half"
"""What the names of weights in half the bytes end with."""
_LARGE = 1 << 26
"""Bytes of a model file from which on its weights lie beside it."""


def halve_weights(path: Path) -> int:
    """Store float32 weights as float16 or bfloat16 where every value survives the round trip.

    Checkpoints are mostly published in half precision, so this loses nothing: a Cast restores float32, and runtimes
    fold it when they load the model. Weights that were changed by a merge stay as they are.

    Returns:
        Bytes saved.
    """
    model = onnx.load(str(path))
    graph = model.graph
    casts = []
    saved = 0
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        half = halved(numpy_helper.to_array(tensor), tensor.name)
        if half is None:
            continue
        casts.append(restoring(tensor.name))
        tensor.CopyFrom(half)
        saved += len(half.raw_data)
    if casts:
        nodes = [*casts, *graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        save_model(model, path)
        check_whole(path)
    return saved


def halved(values: NDArray[np.float32], name: str) -> TensorProto | None:
    """Weights of this name in half the bytes if that loses nothing and is worth a Cast; else None."""
    if values.size < _SMALLEST:
        return None
    flat = np.ascontiguousarray(values).reshape(-1)
    parts = [slice(start, start + _PART) for start in range(0, flat.size, _PART)]
    with np.errstate(over="ignore"):
        if all(np.array_equal(flat[part].astype(np.float16).astype(np.float32), flat[part]) for part in parts):
            return numpy_helper.from_array(flat.astype(np.float16).reshape(values.shape), f"{name}{_HALF}")
    bits = flat.view(np.uint32)
    if any((bits[part] & 0xFFFF).any() for part in parts):
        return None
    upper = np.concatenate([(bits[part] >> 16).astype("<u2") for part in parts])
    return helper.make_tensor(f"{name}{_HALF}", TensorProto.BFLOAT16, values.shape, upper.tobytes(), raw=True)


def restoring(name: str) -> onnx.NodeProto:
    """What makes float32 of `halved` weights again, under their name."""
    return helper.make_node("Cast", [f"{name}{_HALF}"], [name], name=f"{name}.cast", to=TensorProto.FLOAT)


def load_model(path: Path) -> onnx.ModelProto:
    """A model whose weights are float32 again where `halved` stored them in half the bytes."""
    model = onnx.load(str(path))
    graph = model.graph
    halves = {tensor.name: tensor for tensor in graph.initializer if tensor.name.endswith(_HALF)}
    nodes = []
    for node in graph.node:
        if node.op_type == "Cast" and node.input[0] in halves and node.input[0] == f"{node.output[0]}{_HALF}":
            tensor = halves[node.input[0]]
            values = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(values, node.output[0]))
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def save_model(model: onnx.ModelProto, path: Path) -> None:
    """Write a model, with large weights beside it in `NAME.data`: ONNX Runtime maps that file into memory, where it
    keeps two copies of weights that stand in the model itself while it loads them.

    Files with weights of a model that was at `path` before are removed.
    """
    beside = path.with_name(f"{path.name}.data")
    for name in {beside.name, *(external_files(path) if path.exists() else ())}:
        path.with_name(name).unlink(missing_ok=True)
    large = sum(len(tensor.raw_data) for tensor in model.graph.initializer) >= _LARGE
    onnx.save(model, str(path), save_as_external_data=large, location=beside.name if large else None)
    if large:
        beside.chmod(path.stat().st_mode)  # onnx makes it unreadable for others


def inferred(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Types and axes of a graph's values, as far as they are known without running it."""
    known = onnx.shape_inference.infer_shapes(_without_weights(graph)).graph
    return [*known.value_info, *known.input, *known.output]


def _without_weights(graph: onnx.GraphProto) -> onnx.ModelProto:
    """The graph with large weights as inputs of their shape: how many axes a value has does not hang on theirs."""
    large = [tensor for tensor in graph.initializer if len(tensor.dims) > 1]
    given = {value.name for value in graph.input}
    weights = [helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in large]
    inputs = [*graph.input, *(value for value in weights if value.name not in given)]
    small = [tensor for tensor in graph.initializer if len(tensor.dims) <= 1]
    bare = helper.make_graph(graph.node, "shapes", inputs, graph.output, small)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(bare, opset_imports=opsets)


def check_whole(path: Path) -> None:
    """Have the ONNX package check a model with its weights; one in memory could be over protobuf's 2 GiB."""
    onnx.checker.check_model(str(path))


def external_files(path: Path) -> set[str]:
    """Names of the files beside a model that hold its weights."""
    model = onnx.load(str(path), load_external_data=False)
    entries = [entry for tensor in model.graph.initializer for entry in tensor.external_data]
    return {Path(entry.value).name for entry in entries if entry.key == "location"}


def part_weights(path: Path) -> None:
    """Write a large model that is one file again, with its weights beside it."""
    if path.stat().st_size >= _LARGE:
        save_model(onnx.load(str(path)), path)


def count_weights(path: Path) -> int:
    """How many numbers a model's weights are; ExportError where the file is no ONNX model."""
    return sum(prod(tensor.dims) for tensor in whole_model(path).graph.initializer)


def whole_model(path: Path) -> onnx.ModelProto:
    """A model that is one file; ExportError where it is none, or has weights elsewhere."""
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise ExportError(f"{path}: not a readable ONNX file: {error}") from error
    if any(tensor.data_location == TensorProto.EXTERNAL for tensor in model.graph.initializer):
        raise ExportError(f"{path}: has weights in another file; save it as one")
    return model
