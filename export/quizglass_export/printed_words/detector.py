"""The detector of lines of words that comes with the RapidOCR package, in static INT8, and how it reads beside it.

Of its operators the convolutions take nearly all the time, and they alone are quantised: with ranges found on drawn
signs, and weights of seven bits, since products of eight-bit ones overflow on processors without VNNI. A recipe's
samples show no words and have no part in it, so that every bundle has the same detector.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.inputs.resizing import RGB
from quizglass_export.checks import Check, share
from quizglass_export.errors import ExportError
from quizglass_export.onnx.static_int8 import to_int8_convolutions
from quizglass_export.printed_words.signs import CUT_OUTS, signs
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import cpu_session
from quizglass_server.errors import EngineFailed
from quizglass_server.roles.reader import RapidOcrReader, detector_input, package_detector
from quizglass_server.roles.shared.wordgate import searched_side

_DRAWN = 16
"""Signs that ranges are found on. Small ones take less time, and of 170 photographs no fewer lines were read alike than
with ranges of larger ones or of photographs."""
_HELD, _TIMED = 18, 6
"""Signs that are read to compare, and how many of them the detectors are timed on."""
_CALIBRATION, _COMPARISON = 7, 8
"""Seeds of these signs."""


def source_file() -> Path:
    """The package's detector. Raises ExportError where the package is not installed."""
    try:
        return package_detector()
    except EngineFailed as error:
        raise ExportError(f"roles.reader: {error.message}") from error


def write_detector(source: Path, target: Path) -> dict[str, Any]:
    """Write the detector in INT8.

    Args:
        source: the detector in float32.
        target: file to write.

    Returns:
        Notes for the report: precision, bytes before, convolutions changed, calibration samples, and median
        milliseconds of finding the lines of a sign, in INT8 and in float32.
    """
    given = [sign.picture for sign in signs(_DRAWN, _CALIBRATION, CUT_OUTS)]
    name = cpu_session(source, 1).get_inputs()[0].name
    products = to_int8_convolutions(source, target, ({name: _input(picture)} for picture in given))
    quick, whole = _milliseconds((target, source))
    return {
        "precision": "int8",
        "float32_bytes": source.stat().st_size,
        "products": products,
        "calibration_samples": len(given),
        "latency_ms": quick,
        "float32_latency_ms": whole,
    }


def check_detector(role: str, model: Path, bound: float) -> list[Check]:
    """Lines of words on held-out signs, read with the detector beside those with the package's own.

    Args:
        role: whose detector it is, for the report.
        model: the detector.
        bound: smallest share of the package's lines that have to be read alike.
    """
    held = signs(_HELD, _COMPARISON)
    pool = EnginePool(1)
    try:
        expected, found = (
            [reader.lines(sign.picture, None) for sign in held]
            for reader in (RapidOcrReader(pool), RapidOcrReader(pool, detector=model))
        )
    except EngineFailed as error:
        raise ExportError(f"roles.{role}: {error.message}") from error
    finally:
        pool.close()
    equal = [line in lines for other, lines in zip(expected, found, strict=True) for line in other]
    right = [
        sum(line in lines for sign, lines in zip(held, read, strict=True) for line in sign.lines)
        for read in (expected, found)
    ]
    written = sum(len(sign.lines) for sign in held)
    detail = f"of {written} lines written, {right[1]} are read whole, {right[0]} with float32"
    return [share(role, "lines read as with float32", equal, bound, detail)]


def _input(picture: RGB) -> NDArray[np.float32]:
    """What the detector is given of a picture, all of which is searched."""
    scale = min(1.0, searched_side(picture) / max(picture.shape[:2]))
    return detector_input(np.ascontiguousarray(picture[:, :, ::-1]), scale)


def _milliseconds(models: Sequence[Path]) -> list[float]:
    """Median milliseconds of each detector on the same signs, in turns on one thread, after a first one that is not
    counted."""
    runs = [cpu_session(path, 1) for path in models]
    times: list[list[float]] = [[] for _ in runs]
    for number, sign in enumerate([*signs(1, _CALIBRATION), *signs(_TIMED, _COMPARISON)]):
        values = _input(sign.picture)
        for run, taken in zip(runs, times, strict=True):
            began = time.perf_counter()
            run.run(None, {run.get_inputs()[0].name: values})
            if number:
                taken.append((time.perf_counter() - began) * 1e3)
    return [round(statistics.median(taken), 3) for taken in times]
