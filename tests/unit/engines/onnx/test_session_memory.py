"""What sessions keep of memory between runs, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_GROWN = """
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature

MIB = 1 << 20
side = 1024
nodes = [helper.make_node(kind, [given], [made]) for kind, given, made in (("Exp", "x", "a"), ("Tanh", "a", "b"))]
nodes.append(helper.make_node("ReduceSum", ["b", "axes"], ["y"], keepdims=0))
axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", side])
made = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows"])
graph = helper.make_graph(nodes, "scratch", [given], [made], [axes])
path = Path(sys.argv[1])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
signature = Signature("y", {"x": InputRange((1, side), (1, side), (1 << 20, side))})
sessions = [OnnxSession(path, signature, OnnxOptions(provider="cpu")) for _ in range(8)]
rows = 33 * MIB // (4 * side)


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


values = np.zeros((rows, side), np.float32)
before = resident()
for session in sessions:
    session.run({"x": values})
print((resident() - before) // MIB)
"""


def test_sessions_share_the_memory_that_their_runs_take(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _GROWN, str(tmp_path / "scratch.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200, "MiB: eight sessions of which each needs 33 to 66"
