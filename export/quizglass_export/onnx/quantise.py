"""INT8 products in an ONNX scorer, with scores that do not depend on what else is in the batch.

Weights get one scale for each output column. Activations are quantised while the model runs, each row (token) with a
scale of its own: one scale for the whole tensor, as ONNX Runtime's own dynamic quantisation has it, would let a row's
outlier coarsen all other rows. Attention, norms and everything else stay in float32. Logits differ from the model's, so
labels and scores must be compared before such a file is used.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, helper, numpy_helper

from quizglass_export.graphs.reads import drop_unread
from quizglass_export.graphs.rotary import DOMAIN, fuse_rotary
from quizglass_export.onnx.file import check_whole, inferred, load_model, save_model

ROWS, ALONE = "quizglass.rows", "alone"
"""Metadata that asks for rows of one shape alone: how an activation is rounded must not hang on a neighbour."""
_SMALLEST = 16_384
"""Products with smaller weights are left alone: quantising their input costs more than they do."""
_ZERO = 128
"""Zero point of activations: MLAS is fastest with unsigned rows and signed weights."""


def quantise_products(source: Path, target: Path) -> int:
    """Replace products with constant weights by INT8 ones.

    Args:
        source: an ONNX file whose linear layers are MatMul or Gemm, over states of any number of axes.
        target: file to write.

    Returns:
        Number of products replaced.
    """
    model = load_model(source)
    fuse_rotary(model.graph)
    rewriter = _Rewriter(model.graph)
    nodes = [new for node in model.graph.node for new in rewriter.replaced(node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    drop_unread(model.graph)
    model.metadata_props.add(key=ROWS, value=ALONE)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    save_model(model, target)
    check_whole(target)
    return rewriter.count


class _Rewriter:
    """Replaces nodes one by one, and remembers what is quantised already."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.count = 0
        self._graph = graph
        self._weights = {tensor.name: tensor for tensor in graph.initializer}
        self._flat = _flat_states(graph)
        self._rows: dict[str, tuple[str, str]] = {}
        for name, value in (
            ("int8.zero", np.array(_ZERO, np.uint8)),
            ("int8.zeros", np.array([_ZERO], np.uint8)),
            ("int8.one", np.array(1, np.float32)),
            ("int8.steps", np.array(127, np.float32)),
            ("int8.least", np.array(1e-12, np.float32)),
            ("int8.last", np.array([-1], np.int64)),
        ):
            graph.initializer.append(numpy_helper.from_array(value, name))

    def replaced(self, node: NodeProto) -> list[NodeProto]:
        """The node itself, or what stands for it."""
        weights = self._weights_of(node)
        if weights is None:
            return [node]
        self.count += 1
        rows, scale, nodes = self._quantised_rows(node.input[0])
        name = f"int8.{self.count}"
        largest = np.maximum(np.abs(weights).max(axis=0), np.float32(1e-12))
        self._put(f"{name}.weight", np.rint(weights / (largest / 127)).astype(np.int8))
        self._put(f"{name}.scale", (largest / 127).astype(np.float32))
        product = [rows, f"{name}.weight", "int8.one", f"{name}.scale", "int8.zero"]
        biased = node.op_type == "Gemm" and len(node.input) == 3
        out = f"{name}.scaled" if biased else node.output[0]
        nodes.append(helper.make_node("MatMulIntegerToFloat", product, [f"{name}.raw"], name=name, domain=DOMAIN))
        nodes.append(helper.make_node("Mul", [f"{name}.raw", scale], [out], name=f"{name}.mul"))
        if biased:
            nodes.append(helper.make_node("Add", [out, node.input[2]], [node.output[0]], name=f"{name}.add"))
        return nodes

    def _weights_of(self, node: NodeProto) -> NDArray[np.float32] | None:
        """Constant weights [in, out] of a product worth replacing."""
        if node.op_type not in ("MatMul", "Gemm") or node.input[1] not in self._weights:
            return None
        weights = numpy_helper.to_array(self._weights[node.input[1]])
        if weights.ndim != 2 or weights.size < _SMALLEST or weights.dtype != np.float32:
            return None
        given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        if given.get("transA", 0) or given.get("alpha", 1.0) != 1.0 or given.get("beta", 1.0) != 1.0:
            return None
        return np.ascontiguousarray(weights.T if given.get("transB", 0) else weights)

    def _quantised_rows(self, states: str) -> tuple[str, str, list[NodeProto]]:
        """Names of the quantised rows and of their scales [..., 1], and the nodes that make them, the first time."""
        if states in self._rows:
            return *self._rows[states], []
        name = f"{states}.int8"
        self._rows[states] = (name, f"{name}.scale")
        # Quantising has one scale for each place of one axis, so rows of more than two axes are one axis meanwhile.
        flat = states in self._flat
        given, made = (states, name) if flat else (f"{name}.states", f"{name}.rows")
        steps: list[tuple[str, list[str], str, dict[str, int]]] = [
            ("Abs", [states], f"{name}.abs", {}),
            ("ReduceMax", [f"{name}.abs", "int8.last"], f"{name}.max", {"keepdims": 1}),
            ("Max", [f"{name}.max", "int8.least"], f"{name}.most", {}),
            ("Div", [f"{name}.most", "int8.steps"], f"{name}.scale", {}),
            ("Reshape", [f"{name}.scale", "int8.last"], f"{name}.flat", {}),
            ("Shape", [f"{name}.flat"], f"{name}.count", {}),
            ("Expand", ["int8.zeros", f"{name}.count"], f"{name}.zeros", {}),
            ("QuantizeLinear", [given, f"{name}.flat", f"{name}.zeros"], made, {"axis": 0}),
        ]
        if not flat:
            steps[-1:-1] = [
                ("Shape", [states], f"{name}.shape", {}),
                ("Gather", [f"{name}.shape", "int8.last"], f"{name}.width", {}),
                ("Concat", ["int8.last", f"{name}.width"], f"{name}.two", {"axis": 0}),
                ("Reshape", [states, f"{name}.two"], given, {}),
            ]
            steps.append(("Reshape", [made, f"{name}.shape"], name, {}))
        nodes = [helper.make_node(op, inputs, [out], name=out, **more) for op, inputs, out, more in steps]
        return *self._rows[states], nodes

    def _put(self, name: str, value: NDArray[np.generic]) -> None:
        self._graph.initializer.append(numpy_helper.from_array(value, name))


def _flat_states(graph: onnx.GraphProto) -> set[str]:
    """Names of values that are known to have two axes."""
    return {value.name for value in inferred(graph) if len(value.type.tensor_type.shape.dim) == 2}
