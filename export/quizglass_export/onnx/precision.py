"""Converts a float32 ONNX model to another precision.

None of them lets a row's scores depend on what else is in its batch: INT8 is static, with ranges found on calibration
inputs (a dynamic range for a whole tensor would be the batch's), and weight-only kernels quantise each row by itself.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from quizglass_export.errors import ExportError
from quizglass_export.graphs.card_operators import settle
from quizglass_export.graphs.reads import names_read
from quizglass_export.onnx.file import inferred, load_model, save_model
from quizglass_export.onnx.products import name_of, split_gemms
from quizglass_export.onnx.static_int8 import CalibrationInputs, Inputs, quiet

_CALIBRATED = 1 << 30
"""Most bytes of weights of a model that is calibrated, which is done in one file; protobuf allows 2 GiB."""
_LARGEST = 1e4
"""In float16: more is cut to it, since masks are added to scores, and a sum beyond 65504 would be infinite."""


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
    with quiet(), contextlib.redirect_stdout(io.StringIO()):
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
    with tempfile.TemporaryDirectory(dir=target.parent) as folder, quiet():
        plain = Path(folder) / "plain.onnx"
        onnx.save(model, str(plain))
        quantize_static(
            str(plain),
            str(Path(folder) / "int8.onnx"),
            CalibrationInputs(calibration),
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


def _size(model: onnx.ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)
