"""What a model is quantised with by ONNX Runtime's static INT8, and convolutions in it. Needs no PyTorch."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
from numpy.typing import NDArray

from quizglass_export.onnx.file import save_model

Inputs = Mapping[str, NDArray[np.generic]]
_RAISED = 17
"""Version of ONNX's operators that older models are raised to before they are quantised."""


def to_int8_convolutions(source: Path, target: Path, calibration: Iterable[Inputs]) -> int:
    """Static INT8 convolutions (QDQ form) of a model of earlier operators than ONNX's 13. Returns how many.

    Weights have a scale for each output channel and seven bits, as those of `to_int8`.
    """
    import onnxruntime
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    with tempfile.TemporaryDirectory(dir=target.parent) as folder, quiet():
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
            CalibrationInputs(calibration),
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


class CalibrationInputs:
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
def quiet() -> Iterator[None]:
    """Without ONNX Runtime's advice to preprocess, which is for graphs with shapes that these do not have."""
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.ERROR)
    try:
        yield
    finally:
        logging.getLogger().setLevel(level)
