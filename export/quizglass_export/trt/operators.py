"""Which operators of a graph TensorRT's ONNX parser documents as supported.

The list is onnx-tensorrt's `docs/operators.md` of TensorRT 8.5, and the additions of later versions that exported
graphs have. The parser itself has the last word: `engine` asks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import TensorProto, numpy_helper

from quizglass_export.bundles.onnx_graph import read_onnx

_DOCUMENTED = """
Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Celu Clip
Concat Constant ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace DequantizeLinear Div Dropout
Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gemm GlobalAveragePool
GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample HardSigmoid HardSwish Identity If
InstanceNormalization IsNaN LRN LSTM LeakyRelu Less LessOrEqual Log LogSoftmax Loop LpNormalization LpPool
MatMul Max MaxPool Mean MeanVarianceNormalization Min Mod Mul Neg NonMaxSuppression NonZero Not OneHot Or PRelu
Pad Pow QuantizeLinear RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign Round Scan Scatter ScatterElements ScatterND Selu
Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum
Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor
"""
SUPPORTED = frozenset(_DOCUMENTED.split())
LATER: Mapping[str, str] = {"LayerNormalization": "8.6", "GroupNormalization": "8.6", "IsInf": "8.6"}
"""Operator to the version that added it."""
_CONSTANT_INPUT = {"CumSum": 1, "TopK": 1}
"""Operator to the input that has to be constant."""
_STANDARD = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """What a graph would meet in TensorRT's parser.

    Attributes:
        supported: how many nodes are documented as supported.
        unsupported: operator to the number of its nodes.
        later: operator to the version of TensorRT that it needs.
        restricted: what breaks a documented restriction, in words.
    """

    supported: int
    unsupported: dict[str, int]
    later: dict[str, str]
    restricted: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether nothing is unsupported or restricted."""
        return not self.unsupported and not self.restricted


def check_operators(path: Path) -> OperatorReport:
    """Check a model's operators, those of subgraphs included; ExportError if it cannot be read."""
    model = read_onnx(path)
    constants = _constants(model)
    supported, unsupported, later, restricted = 0, dict[str, int](), dict[str, str](), list[str]()
    for node in _nodes(model.graph):
        name = node.op_type if node.domain in _STANDARD else f"{node.domain}.{node.op_type}"
        if name in LATER:
            later[name] = LATER[name]
        elif name not in SUPPORTED:
            unsupported[name] = unsupported.get(name, 0) + 1
            continue
        supported += 1
        place = _CONSTANT_INPUT.get(name)
        if place is not None and len(node.input) > place and node.input[place] not in constants:
            restricted.append(f"{name} {node.name}: its input {place} must be constant")
        if name in ("QuantizeLinear", "DequantizeLinear") and len(node.input) > 2:
            zero = constants.get(node.input[2])
            if zero is None or numpy_helper.to_array(zero).any():
                restricted.append(f"{name} {node.name}: its zero point must be 0")
    return OperatorReport(supported, unsupported, later, tuple(restricted))


def _nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    nodes = list(graph.node)
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                nodes += _nodes(inner) if inner.node else []
    return nodes


def _constants(model: onnx.ModelProto) -> dict[str, TensorProto | None]:
    """Names of constants, with the tensor of those that are stored as one: a number may be an attribute of its own."""
    found: dict[str, TensorProto | None] = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in _nodes(model.graph):
        if node.op_type == "Constant" and node.attribute:
            value = node.attribute[0]
            found[node.output[0]] = value.t if value.HasField("t") else None
    return found
