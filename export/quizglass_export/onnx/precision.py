"""Converts a float32 ONNX model to another precision.

None of them lets a row's scores depend on what else is in its batch: INT8 is static, with ranges found on calibration
inputs (a dynamic range for a whole tensor would be the batch's), and weight-only kernels quantise each row by itself.
"""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from quizglass_export.errors import ExportError
from quizglass_export.graphs.card_operators import settle
from quizglass_export.graphs.reads import drop_unread, names_read
from quizglass_export.onnx.file import inferred, load_model, save_model
from quizglass_export.onnx.products import SMALLEST, Weights, name_of, replace_products, split_gemms

Inputs = Mapping[str, NDArray[np.generic]]
_BLOCK = 32
_CALIBRATED = 1 << 30
"""Most bytes of weights of a model that is calibrated, which is done in one file; protobuf allows 2 GiB."""
_LARGEST = 1e4
"""In float16: more is cut to it, since masks are added to scores, and a sum beyond 65504 would be infinite."""
_MICROSOFT = "com.microsoft"
_INT8_ROWS = 4
"""`accuracy_level` of MatMulNBits: activations in INT8, each row and block with a scale of its own."""


def to_float16(source: Path, target: Path) -> int:
    """Compute and store in float16; inputs, outputs and the angles of rotary positions stay float32.

    Returns:
        The number of weights changed.

    Raises:
        ExportError: a weight is too large.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = load_model(source)
    count = 0
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        count += 1
        if tensor.dims and float(np.abs(numpy_helper.to_array(tensor)).max(initial=0)) > _LARGEST:
            raise ExportError(f"{source}: {tensor.name} has values beyond {_LARGEST:g}; choose another precision")
    angles = _keep_angles(model.graph)
    with contextlib.redirect_stdout(io.StringIO()):
        halved = convert_float_to_float16(
            model, keep_io_types=True, max_finite_val=_LARGEST, disable_shape_infer=True, node_block_list=angles
        )
    settle(halved)
    save_model(halved, target)
    return count


def fuse_encoder(path: Path, kind: str) -> None:
    """Put ONNX Runtime's fused attention, norms and activations into an encoder's graph, in place.

    Args:
        path: the float32 model.
        kind: as ONNX Runtime's optimiser calls its form: bert, of texts; vit, of pictures. Convolutions stay as they
            are.
    """
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    options = FusionOptions(kind)
    options.enable_embed_layer_norm = False  # takes int32 ids, and one sum for three
    with _quiet(), contextlib.redirect_stdout(io.StringIO()):
        model = optimize_model(str(path), kind, optimization_options=options, opt_level=0, use_gpu=True).model
    save_model(model, path)


def _keep_angles(graph: onnx.GraphProto) -> list[str]:
    """Names of the nodes that compute sines and cosines, from whole numbers or the graph's inputs on.

    An angle grows with the position, and float16 tells those around 1,000 apart by halves. What is converted after them
    is noted with its type in the graph, where the converter looks for it.
    """
    makers = {out: node for node in graph.node for out in node.output}
    pending = [node for node in graph.node if node.op_type in ("Cos", "Sin")]
    if not pending:
        return []
    floats = {value.name for value in inferred(graph) if value.type.tensor_type.elem_type == TensorProto.FLOAT}
    kept: dict[str, NodeProto] = {}
    while pending:
        node = pending.pop()
        node.name = name_of(node)
        if node.name not in kept:
            kept[node.name] = node
            pending += [makers[name] for name in node.input if name in makers and name in floats]
    made = floats & {out for node in kept.values() for out in node.output}
    read = {name for node in graph.node if node.name not in kept for name in names_read(node)}
    for name in sorted(made & read):
        graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    return list(kept)


def to_weight_only(source: Path, target: Path, bits: int) -> int:
    """Store the weights of products in blocks of 4 or 8 bits (ONNX Runtime's MatMulNBits). Returns how many.

    Each block of 32 weights of a column has one float32 scale; values are symmetric around the middle. Tables that rows
    are looked up in (embeddings) get 8 bits and a scale for each row.
    """
    model = load_model(source)

    def replaced(node: NodeProto, weights: Weights) -> list[NodeProto]:
        packed, scales = pack_blocks(weights, bits)
        names = [f"{name_of(node)}.{part}" for part in ("blocks", "scales")]
        for name, value in zip(names, (packed, scales.reshape(-1)), strict=True):
            model.graph.initializer.append(numpy_helper.from_array(value, name))
        return [
            helper.make_node(
                "MatMulNBits",
                [node.input[0], *names],
                list(node.output),
                name=node.name,
                domain=_MICROSOFT,
                K=weights.shape[0],
                N=weights.shape[1],
                bits=bits,
                block_size=_BLOCK,
                accuracy_level=_INT8_ROWS,
            )
        ]

    count = replace_products(model, replaced)
    _store_tables(model)
    _import_microsoft(model)
    save_model(model, target)
    return count


def _store_tables(model: onnx.ModelProto) -> None:
    """Store tables of which nodes gather rows as int8, with one float32 scale for each row."""
    graph = model.graph
    tables = {tensor.name: tensor for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT}
    rows = [node for node in graph.node if node.op_type == "Gather" and _rows_of(node, tables)]
    for name in dict.fromkeys(node.input[0] for node in rows):
        weights = numpy_helper.to_array(tables[name])
        scales = np.maximum(np.abs(weights).max(axis=1, keepdims=True) / 127, np.float32(1e-12))
        graph.initializer.append(numpy_helper.from_array(np.rint(weights / scales).astype(np.int8), f"{name}.rows"))
        graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), f"{name}.scales"))
    nodes: list[NodeProto] = []
    for node in graph.node:
        nodes += _looked_up(node) if node in rows else [node]
    del graph.node[:]
    graph.node.extend(nodes)
    drop_unread(graph)


def _rows_of(node: NodeProto, tables: Mapping[str, TensorProto]) -> bool:
    """Whether it gathers whole rows of a table worth storing otherwise."""
    table = tables.get(node.input[0])
    along = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}.get("axis", 0)
    return table is not None and along == 0 and len(table.dims) == 2 and table.dims[0] * table.dims[1] >= SMALLEST


def _looked_up(node: NodeProto) -> list[NodeProto]:
    """What stands for gathering rows: rows and scales are gathered, and multiplied in float32."""
    table, places = node.input
    (out,) = node.output
    return [
        helper.make_node("Gather", [f"{table}.rows", places], [f"{out}.rows"], name=node.name, axis=0),
        helper.make_node(
            "Gather", [f"{table}.scales", places], [f"{out}.scales"], name=f"{name_of(node)}.scales", axis=0
        ),
        helper.make_node("Cast", [f"{out}.rows"], [f"{out}.cast"], name=f"{name_of(node)}.cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{out}.cast", f"{out}.scales"], [out], name=f"{name_of(node)}.mul"),
    ]


def pack_blocks(weights: Weights, bits: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Blocks as MatMulNBits reads them.

    Args:
        weights: float32 [in, out].
        bits: 4 or 8.

    Returns:
        uint8 [out, blocks, bytes of a block] (4 bits: the lower half first) and float32 scales [out, blocks].
    """
    rows, columns = weights.shape
    blocks = -(-rows // _BLOCK)
    padded = np.zeros((columns, blocks * _BLOCK), np.float32)
    padded[:, :rows] = weights.T
    grouped = padded.reshape(columns, blocks, _BLOCK)
    middle = 1 << (bits - 1)
    # The value furthest from zero lands on the end of the scale that has one step more.
    furthest = np.take_along_axis(grouped, np.abs(grouped).argmax(-1)[..., None], -1)[..., 0]
    scales = (furthest / -middle).astype(np.float32)
    steps = grouped / np.where(scales == 0, 1, scales)[..., None]
    values = np.clip(np.rint(steps) + middle, 0, 2 * middle - 1).astype(np.uint8)
    if bits == 4:
        values = values[..., 0::2] | (values[..., 1::2] << 4)
    return values, scales


def to_int8(source: Path, target: Path, calibration: Iterable[Inputs]) -> int:
    """Static INT8 products (QDQ form) with ranges from calibration inputs. Returns how many.

    Weights have a scale for each column and seven bits, since products of eight-bit weights overflow on processors
    without VNNI.
    """
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    model = load_model(source)
    if _size(model) > _CALIBRATED:
        raise ExportError(f"{source}: too large for static INT8; choose int8-rows or int8-weights")
    split_gemms(model)
    own = {tensor.name for tensor in model.graph.initializer}
    names = []
    for node in model.graph.node:
        node.name = name_of(node)
        if node.op_type == "MatMul" and node.input[1] in own:
            names.append(node.name)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder, _quiet():
        plain = Path(folder) / "plain.onnx"
        onnx.save(model, str(plain))
        quantize_static(
            str(plain),
            str(Path(folder) / "int8.onnx"),
            _Reader(calibration),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            reduce_range=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            nodes_to_quantize=names,
            op_types_to_quantize=["MatMul"],
            calibrate_method=CalibrationMethod.MinMax,
        )
        save_model(onnx.load(str(Path(folder) / "int8.onnx")), target)
    return len(names)


class _Reader:
    """Calibration inputs one by one, as ONNX Runtime asks for them."""

    def __init__(self, inputs: Iterable[Inputs]) -> None:
        self._inputs: Iterator[Inputs] = iter(inputs)

    def get_next(self) -> dict[str, Any] | None:
        """The next inputs, or None."""
        found = next(self._inputs, None)
        return None if found is None else dict(found)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(each) for each in self._inputs)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without ONNX Runtime's advice to preprocess, which is for graphs with shapes that these do not have."""
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)
    try:
        yield
    finally:
        logging.getLogger().setLevel(level)


def _size(model: onnx.ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def _import_microsoft(model: onnx.ModelProto) -> None:
    if all(each.domain != _MICROSOFT for each in model.opset_import):
        model.opset_import.append(helper.make_opsetid(_MICROSOFT, 1))
