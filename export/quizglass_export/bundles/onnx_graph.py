"""What an ONNX file holds, read without its external data, and whether that data stays inside the bundle."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

import onnx
from google.protobuf.message import Message
from onnx import TensorProto, helper

from quizglass_export.checks import Precision
from quizglass_export.errors import ExportError
from quizglass_export.onnx.quantise import ROWS

_PACKED = {
    **dict.fromkeys((TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1), 4),
    **dict.fromkeys((TensorProto.INT2, TensorProto.UINT2), 2),
}
"""Bits of one number, by ONNX type, for the types of which a byte holds several."""


@dataclass(frozen=True, slots=True)
class OnnxSummary:
    """A graph in figures.

    Attributes:
        opset: of the standard operators.
        inputs: name to axes; a dynamic axis has its name.
        outputs: the same.
        operators: how many of each.
        weights: bytes of the weights by type.
        external: names of files with weights, beside the model.
        precision: what it computes in, and what its weights are stored as.
    """

    opset: int
    inputs: dict[str, list[int | str]]
    outputs: dict[str, list[int | str]]
    operators: dict[str, int]
    weights: dict[str, int]
    external: tuple[str, ...]
    precision: str


def read_onnx(path: Path) -> onnx.ModelProto:
    """Parse a model without its external data, and check that this lies beside it.

    Raises:
        ExportError: no ONNX file, or external data is missing, cut short, linked, or outside the directory.
    """
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise ExportError(f"{path}: not a readable ONNX file: {error}") from error
    if not model.graph.node or not model.graph.output:
        raise ExportError(f"{path}: not a readable ONNX file: it has no graph")
    for tensor in weights(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            _check_external(path, tensor)
    return model


def weights(model: onnx.ModelProto) -> list[TensorProto]:
    """All tensors stored in a model, wherever: in subgraphs, functions, attributes, or as parts of sparse ones."""
    found: list[TensorProto] = []
    pending: list[Message] = [model]
    while pending:
        message = pending.pop()
        if isinstance(message, TensorProto):
            found.append(message)
            continue
        for field, value in message.ListFields():
            if field.message_type is not None:
                pending += [value] if isinstance(value, Message) else value
    return found


def summarise(path: Path) -> OnnxSummary:
    """Describe a model; ExportError as from `read_onnx`."""
    model = read_onnx(path)
    stored: Counter[str] = Counter()
    files = set()
    for tensor in weights(model):
        try:
            stored[TensorProto.DataType.Name(tensor.data_type).lower()] += _bytes(tensor)
        except (KeyError, ValueError):
            raise ExportError(f"{path}: {tensor.name}: data_type is {tensor.data_type}, which is not known") from None
        if tensor.data_location == TensorProto.EXTERNAL:
            files.add(_external(tensor)["location"])
    operators = Counter(node.op_type for node in model.graph.node)
    own = {initializer.name for initializer in model.graph.initializer}
    return OnnxSummary(
        opset=next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 0),
        inputs={each.name: _axes(each) for each in model.graph.input if each.name not in own},
        outputs={each.name: _axes(each) for each in model.graph.output},
        operators=dict(operators.most_common()),
        weights=dict(stored.most_common()),
        external=tuple(sorted(files)),
        precision=_precision(model, operators, stored),
    )


def _precision(model: onnx.ModelProto, operators: Counter[str], stored: Counter[str]) -> str:
    if "MatMulNBits" in operators:
        bits = {a.i for n in model.graph.node if n.op_type == "MatMulNBits" for a in n.attribute if a.name == "bits"}
        return f"int{'/'.join(str(each) for each in sorted(bits))} weights"
    if "DequantizeLinear" in operators:
        return "int8 (static)"
    largest = max(stored, key=lambda name: stored[name], default="float")
    computes = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16"}
    if largest in ("float16", "bfloat16"):
        casts = [node for node in model.graph.node if node.op_type == "Cast"]
        restored = {
            name for n in casts for name in n.input for a in n.attribute if a.name == "to" and a.i == TensorProto.FLOAT
        }
        half = [each.name for each in model.graph.initializer if each.data_type != TensorProto.FLOAT]
        if sum(name in restored for name in half) > len(half) / 2:
            return f"fp32 (weights stored as {computes[largest]})"
    return computes.get(largest, largest)


def chosen_precision(path: Path) -> Precision:
    """Which candidate of `quickest` a model is: each of those below float32 leaves its mark."""
    model = read_onnx(path)
    if any(entry.key == ROWS for entry in model.metadata_props):
        return "int8-rows"
    return "int8" if any(node.op_type == "DequantizeLinear" for node in model.graph.node) else "fp32"


def _check_external(path: Path, tensor: TensorProto) -> None:
    entry = _external(tensor)
    location = entry.get("location", "")
    name = PurePosixPath(location)
    if not location or name.is_absolute() or len(name.parts) != 1 or name.name in ("..", ".") or "\\" in location:
        raise ExportError(f"{path}: {tensor.name}: external data at {location!r}; it must lie beside the model")
    file = path.parent / location
    if file.is_symlink() or not file.is_file():
        raise ExportError(f"{path}: {tensor.name}: external data {location!r} is missing or a link")
    try:
        offset, length = int(entry.get("offset", 0)), int(entry.get("length", -1))
    except ValueError:
        raise ExportError(f"{path}: {tensor.name}: external data has no numbers for its place") from None
    if offset < 0 or length < 0 or offset + length > file.stat().st_size:
        raise ExportError(
            f"{path}: {tensor.name}: external data of {length} bytes at {offset} is outside {location}, which has "
            f"{file.stat().st_size}; copy both files again"
        )


def _external(tensor: TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _bytes(tensor: TensorProto) -> int:
    if tensor.data_type == TensorProto.STRING:
        return sum(map(len, tensor.string_data))
    bits = _PACKED.get(tensor.data_type) or 8 * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    return int(-(-prod(tensor.dims) * bits // 8))


def _axes(value: Any) -> list[int | str]:
    return [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
