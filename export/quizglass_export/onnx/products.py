"""Products with constant weights in an ONNX graph: finding them, and writing all in one form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, helper, numpy_helper

from quizglass_export.graphs.reads import drop_unread

Weights = NDArray[np.float32]
SMALLEST = 4096
"""Weights with fewer elements stay as they are: they cost nothing, and are often the most sensitive."""


def replace_products(model: onnx.ModelProto, replace: Callable[[NodeProto, Weights], list[NodeProto]]) -> int:
    """Replace each MatMul with constant weights.

    Args:
        model: changed in place; a Gemm with constant weights becomes MatMul and Add first.
        replace: given the MatMul and its weights [in, out], the nodes that take its place.

    Returns:
        How many were replaced.
    """
    split_gemms(model)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes, count = [], 0
    for node in model.graph.node:
        tensor = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if tensor is None or len(tensor.dims) != 2 or tensor.dims[0] * tensor.dims[1] < SMALLEST:
            nodes.append(node)
            continue
        nodes += replace(node, np.ascontiguousarray(numpy_helper.to_array(tensor), np.float32))
        count += 1
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    drop_unread(model.graph)
    return count


def name_of(node: NodeProto) -> str:
    """A node's name, which may be left out, or that of its first result: one that no other node has."""
    return str(node.name or node.output[0])


def split_gemms(model: onnx.ModelProto) -> None:
    """Write every Gemm of two-dimensional states with constant weights as MatMul and Add."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes, turned = [], set[str]()
    for node in model.graph.node:
        given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        plain = given.get("alpha", 1.0) == 1.0 and given.get("beta", 1.0) == 1.0 and not given.get("transA", 0)
        if node.op_type != "Gemm" or not plain or node.input[1] not in weights:
            nodes.append(node)
            continue
        name = node.input[1]
        if given.get("transB", 0):
            name = f"{name}.turned"
            if name not in turned:
                values = np.ascontiguousarray(numpy_helper.to_array(weights[node.input[1]]).T)
                model.graph.initializer.append(numpy_helper.from_array(values, name))
                turned.add(name)
        biased = len(node.input) == 3
        out = f"{node.output[0]}.product" if biased else node.output[0]
        nodes.append(helper.make_node("MatMul", [node.input[0], name], [out], name=f"{name_of(node)}.matmul"))
        if biased:
            nodes.append(helper.make_node("Add", [out, node.input[2]], [node.output[0]], name=f"{name_of(node)}.add"))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    drop_unread(model.graph)
