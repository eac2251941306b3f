"""Tiny bundles whose files and roles a test has changed, and pictures for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from quizglass_server.domain.turns import Picture

Edit = Callable[[Path, dict[str, Any]], None]
"""Changes files below a bundle's directory, and the roles of its manifest."""


def changed(root: Path, edit: Edit) -> Path:
    """A bundle whose files and roles an edit has changed."""
    path = root / "manifest.json"
    content = json.loads(path.read_text())
    edit(root, content["roles"])
    path.unlink()
    content["files"] = {
        file.relative_to(root).as_posix(): {
            "sha256": sha256(file.read_bytes()).hexdigest(),
            "bytes": file.stat().st_size,
        }
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }
    path.write_text(json.dumps(content))
    return root


def photo(width: int, height: int, level: int = 0) -> Picture:
    """A picture of one grey."""
    pixels = np.full((height, width, 3), level, np.uint8)
    return Picture(sha256(pixels.tobytes() + bytes([width % 256])).digest(), pixels)


def with_tower(width: int, *, of_light: bool = False) -> Edit:
    """An edit that gives the tiny planner's vision tower a file of its own.

    Args:
        width: numbers of each of a picture's 16 image tokens, a multiple of four.
        of_light: whether the tower gives numbers for bright pictures alone.
    """

    def edit(root: Path, roles: dict[str, Any]) -> None:
        path = root / "planner" / "model.onnx"
        model = onnx.load(str(path))
        (pixels,) = (value for value in model.graph.input if value.name == "pixel_values")
        model.graph.input.remove(pixels)
        model.graph.input.append(helper.make_tensor_value_info("image_features", TensorProto.FLOAT, ["b", 16, width]))
        for node in model.graph.node:
            node.input[:] = ["image_features" if name == "pixel_values" else name for name in node.input]
        onnx.save(model, str(path))
        write_tower(path.with_name("tower.onnx"), width, of_light=of_light)
        roles["planner"]["tower"] = "planner/tower.onnx"

    return edit


def write_tower(path: Path, width: int, *, of_light: bool = False) -> None:
    """The mean brightness of every four patches, again and again."""
    constants = {
        "tokens": np.array([1, 16, 4], np.int64),
        "again": np.array([1, 1, width // 4], np.int64),
    }
    nodes = [
        helper.make_node("ReduceMean", ["pixel_values"], ["means"], axes=[2], keepdims=0),
        helper.make_node("Reshape", ["means", "tokens"], ["of_tokens"]),
        helper.make_node("Tile", ["of_tokens", "again"], ["bright"]),
        helper.make_node("Sqrt" if of_light else "Identity", ["bright"], ["image_features"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tower",
        [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, [1, 64, 1176])],
        [helper.make_tensor_value_info("image_features", TensorProto.FLOAT, [1, 16, width])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
