"""Rotary positions as one operation of ONNX Runtime instead of five that each pass over all heads.

What `decoder.rotate` traces to is found in the graph: x * (c, c) + (second, first) * (-s, s), where `first` and
`second` are the halves of x. Where that is not so, nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, NodeProto, helper, numpy_helper

from quizglass_export.graphs.reads import drop_unread

DOMAIN = "com.microsoft"


@dataclass(frozen=True, slots=True)
class _Rotation:
    """Names of the rotated tensor and of its half tables [B, S, D / 2]."""

    states: str
    cos: str
    sin: str
    half: int


def fuse_rotary(graph: GraphProto) -> int:
    """Replace rotations of [B, S, heads, D] by `RotaryEmbedding`; what nothing reads any more is dropped.

    Returns:
        Number of rotations replaced.
    """
    fuser = _Fuser(graph)
    nodes = [new for node in graph.node for new in fuser.replaced(node)]
    del graph.node[:]
    graph.node.extend(nodes)
    drop_unread(graph)
    return fuser.count


class _Fuser:
    """Replaces nodes one by one; a table is laid out once."""

    def __init__(self, graph: GraphProto) -> None:
        self.count = 0
        self._graph = graph
        self._makers = {out: node for node in graph.node for out in node.output}
        self._tables: dict[tuple[str, str], tuple[str, str, str]] = {}

    def replaced(self, node: NodeProto) -> list[NodeProto]:
        """The node itself, or what stands for it."""
        rotation = self._rotation(node)
        if rotation is None:
            return [node]
        self.count += 1
        name = f"rotary.{self.count}"
        places, cos, sin, nodes = self._laid_out(rotation)
        flat = self._constant(f"{name}.flat", [0, 0, -1])
        split = self._constant(f"{name}.split", [0, 0, -1, 2 * rotation.half])
        nodes.append(helper.make_node("Reshape", [rotation.states, flat], [f"{name}.in"], name=f"{name}.in"))
        turned = [f"{name}.in", places, cos, sin]
        nodes.append(helper.make_node("RotaryEmbedding", turned, [f"{name}.out"], name=name, domain=DOMAIN))
        nodes.append(helper.make_node("Reshape", [f"{name}.out", split], [node.output[0]], name=f"{name}.split"))
        return nodes

    def _rotation(self, node: NodeProto) -> _Rotation | None:
        """What a sum rotates, if it does."""
        if node.op_type != "Add":
            return None
        for straight, swapped in (node.input, node.input[::-1]):
            whole, crossed = self._made(straight, "Mul"), self._made(swapped, "Mul")
            if whole is None or crossed is None:
                return None
            halves = self._made(crossed.input[0], "Concat")
            split = None if halves is None else self._made(halves.input[0], "Split")
            if halves is None or split is None or list(halves.input) != [split.output[1], split.output[0]]:
                continue
            tables = self._halves(whole.input[1], crossed.input[1])
            size = self._equal_halves(split)
            if split.input[0] == whole.input[0] and tables is not None and size is not None:
                return _Rotation(whole.input[0], *tables, size)
        return None

    def _halves(self, cos: str, sin: str) -> tuple[str, str] | None:
        """Of tables (c, c) and (-s, s), with an axis for heads: c and s."""
        tables = [self._made(name, "Unsqueeze") for name in (cos, sin)]
        both = [None if table is None else self._made(table.input[0], "Concat") for table in tables]
        if both[0] is None or both[1] is None or both[0].input[0] != both[0].input[1]:
            return None
        minus = self._made(both[1].input[0], "Neg")
        if minus is None or minus.input[0] != both[1].input[1]:
            return None
        return both[0].input[0], both[1].input[1]

    def _equal_halves(self, split: NodeProto) -> int | None:
        sizes = self._makers.get(split.input[1]) if len(split.input) > 1 else None
        if sizes is None or sizes.op_type != "Constant":
            return None
        first, *others = numpy_helper.to_array(sizes.attribute[0].t).tolist()
        return int(first) if others == [first] else None

    def _made(self, name: str, kind: str) -> NodeProto | None:
        node = self._makers.get(name)
        return node if node is not None and node.op_type == kind else None

    def _laid_out(self, rotation: _Rotation) -> tuple[str, str, str, list[NodeProto]]:
        """Places int64 [B, S] in tables [B * S, D / 2], and the nodes that make them, the first time."""
        key = rotation.cos, rotation.sin
        if key in self._tables:
            return *self._tables[key], []
        name = f"rotary.table.{len(self._tables) + 1}"
        self._tables[key] = names = (f"{name}.places", f"{name}.cos", f"{name}.sin")
        rows = self._constant(f"{name}.rows", [-1, rotation.half])
        self._graph.initializer.append(numpy_helper.from_array(np.array(0, np.int64), f"{name}.zero"))
        self._graph.initializer.append(numpy_helper.from_array(np.array(1, np.int64), f"{name}.one"))
        steps = [
            ("Shape", [rotation.cos], f"{name}.shape", {"start": 0, "end": 2}),
            ("ReduceProd", [f"{name}.shape"], f"{name}.count", {"keepdims": 0}),
            ("Range", [f"{name}.zero", f"{name}.count", f"{name}.one"], f"{name}.range", {}),
            ("Reshape", [f"{name}.range", f"{name}.shape"], names[0], {}),
            ("Reshape", [rotation.cos, rows], names[1], {}),
            ("Reshape", [rotation.sin, rows], names[2], {}),
        ]
        nodes = [helper.make_node(op, inputs, [out], name=out, **more) for op, inputs, out, more in steps]
        return *names, nodes

    def _constant(self, name: str, values: list[int]) -> str:
        self._graph.initializer.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name
