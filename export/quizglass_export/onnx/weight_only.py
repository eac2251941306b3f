"""Stores weights in 4 or 8 bits, without PyTorch. Whatever else is in its batch, a row comes out the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from quizglass_export.graphs.reads import drop_unread
from quizglass_export.onnx.file import load_model, save_model
from quizglass_export.onnx.products import SMALLEST, Weights, name_of, replace_products

_BLOCK = 32
_MICROSOFT = "com.microsoft"
_INT8_ROWS = 4
"""`accuracy_level` of MatMulNBits: activations in INT8, each row and block with a scale of its own."""


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


def _import_microsoft(model: onnx.ModelProto) -> None:
    if all(each.domain != _MICROSOFT for each in model.opset_import):
        model.opset_import.append(helper.make_opsetid(_MICROSOFT, 1))
