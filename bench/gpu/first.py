"""What is here: the card, its driver, the libraries, and which of ONNX Runtime's providers really run a graph."""

from __future__ import annotations

import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.hostile.sections import Setup
from bench.results import Row
from bench.sections import Part
from quizglass_server.engines.onnx.plugins import PLUGINS
from quizglass_server.engines.onnx.providers import NAMES, InputRange
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature

_QUERY = "name,driver_version,compute_cap,memory.total,memory.used,power.draw"
_PACKAGES = ("onnxruntime-gpu", "onnxruntime", "tensorrt", "torch", "llama-cpp-python", "nvidia-cudnn-cu13")


def run(setup: Setup) -> Part:
    """Ask each provider for one small product, by the server's own session."""
    setup.say("asking every provider for a small product")
    part = Part(data={"card": card(), "packages": _packages()})
    with tempfile.TemporaryDirectory() as folder:
        path = _product(Path(folder))
        for setting in (*NAMES, *PLUGINS):
            why = _refusal(setting, path)
            runs = Row(f"provider {setting} runs", float(not why), "", peer=why)
            part.rows.append(runs)
    return part


def card() -> dict[str, str] | None:
    """What `nvidia-smi` says of the first card; None where there is none. Reads alone, and changes nothing."""
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    values = [each.strip() for each in done.stdout.splitlines()[0].split(",")]
    return dict(zip(_QUERY.split(","), values, strict=True))


def _packages() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _product(folder: Path) -> Path:
    node = helper.make_node("MatMul", ["x", "x"], ["y"])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "xy")
    model = helper.make_model(
        helper.make_graph([node], "product", [x], [y]), opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )
    path = folder / "product.onnx"
    onnx.save(model, str(path))
    return path


def _refusal(setting: str, path: Path) -> str:
    """Why a provider does not run it; empty where it does, and gives the right numbers."""
    shape = InputRange((8, 8), (8, 8), (8, 8))
    given = np.eye(8, dtype=np.float32) * 3
    try:
        session = OnnxSession(path, Signature("y", {"x": shape}), OnnxOptions(provider=setting))
        found = session.run({"x": given})
    except Exception as error:
        return str(error).splitlines()[0][:160]
    return "" if np.allclose(found, given @ given, atol=1e-3) else "wrong numbers"
