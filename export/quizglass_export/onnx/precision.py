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
import onnx.version_converter
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from quizglass_export.errors import ExportError
from quizglass_export.graphs.card_operators import settle
from quizglass_export.graphs.reads import names_read
from quizglass_export.onnx.file import inferred, load_model, save_model
from quizglass_export.onnx.products import name_of, split_gemms

Inputs = Mapping[str, NDArray[np.generic]]
_CALIBRATED = 1 << 30
"""Most bytes of weights of a model that is calibrated, which is done in one file; protobuf allows 2 GiB."""
_RAISED = 17
"""Version of ONNX's operators that older models are raised to before they are quantised."""
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


def to_int8_convolutions(source: Path, target: Path, calibration: Iterable[Inputs]) -> int:
    """Static INT8 convolutions (QDQ form) of a model of earlier operators than ONNX's 13. Returns how many.

    Weights have a scale for each output channel and seven bits, as those of `to_int8`.
    """
    import onnxruntime
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    with tempfile.TemporaryDirectory(dir=target.parent) as folder, _quiet():
        raised, plain, quantised = (Path(folder) / f"{name}.onnx" for name in ("raised", "plain", "int8"))
        # Scales for each channel came with 13.
        onnx.save(onnx.version_converter.convert_version(onnx.load(str(source)), _RAISED), str(raised))
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(plain)
        options.log_severity_level = 3
        onnxruntime.InferenceSession(str(raised), options, providers=["CPUExecutionProvider"])  # writes the file
        quantize_static(
            str(plain),
            str(quantised),
            _Reader(calibration),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            reduce_range=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv"],
            calibrate_method=CalibrationMethod.MinMax,
        )
        model = onnx.load(str(quantised))
    save_model(model, target)
    return sum(node.op_type == "Conv" for node in model.graph.node)


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
