"""Collects the nodes and weights of an ONNX graph, and writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 18, 8
"""As torch.onnx writes them for this opset: an ONNX Runtime that reads the exporter's other graphs reads these."""
_TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}
MICROSOFT = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""
Axes = Sequence[int | str]
"""Of a tensor; a name stands for an axis of any length."""
_LARGE = 1 << 26
"""Bytes of weights from which on they lie beside the model, which ONNX Runtime maps into memory."""


class GraphWriter:
    """A graph that grows node by node. Values are known by their names."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, onnx.TensorProto] = {}

    def weight(self, name: str, values: NDArray[Any]) -> str:
        """Hold an array under its name, once; returns the name."""
        if name not in self._weights:
            self._weights[name] = numpy_helper.from_array(np.array(values, order="C"), name)
        return name

    def constant(self, values: ArrayLike, kind: str = "int64") -> str:
        """Hold a small array; equal ones are one."""
        array = np.asarray(values, kind)
        named = "_".join(str(each) for each in array.reshape(-1).tolist())
        return self.weight(f"constant_{kind}_{array.ndim}_{named}", array)

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node of one output; returns the output's name."""
        name = output or f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def nodes(self, operator: str, *inputs: str, outputs: Sequence[str], **attributes: Any) -> list[str]:
        """Add a node of several outputs.

        Args:
            operator: its name.
            inputs: names of values; "" where an optional one is left out.
            outputs: what the outputs' names end with; "" for one that nothing reads.
            attributes: of the node.

        Returns:
            The outputs' names.
        """
        name = f"{operator.lower()}_{len(self._nodes)}"
        made = [each and f"{name}.{each}" for each in outputs]
        self._nodes.append(helper.make_node(operator, list(inputs), made, name=name, **attributes))
        return made

    def write(
        self,
        path: Path,
        inputs: Mapping[str, tuple[str, Axes]],
        outputs: Mapping[str, Axes],
        beside: str = "",
        like: Path | None = None,
    ) -> None:
        """Write the graph.

        Args:
            path: the file.
            inputs: name to NumPy's name of the type, and axes.
            outputs: name to axes; all are float32.
            beside: name of the file for the weights, which another graph is to share; empty: `NAME.data`, and only from
                64 MiB of them on.
            like: a graph in the same folder: the weights that it has are not written again.
        """
        weights = self._weights | ({} if like is None else _weights_of(like))
        given = [helper.make_tensor_value_info(name, _TYPES[kind], axes) for name, (kind, axes) in inputs.items()]
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, axes) for name, axes in outputs.items()]
        graph = helper.make_graph(self._nodes, path.stem, given, made, [weights[name] for name in self._weights])
        domains = [""] + [MICROSOFT] * any(node.domain == MICROSOFT for node in self._nodes)
        opsets = [helper.make_opsetid(domain, 1 if domain else OPSET) for domain in domains]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        apart = bool(beside) or sum(len(tensor.raw_data) for tensor in graph.initializer) >= _LARGE
        data = path.with_name(beside or f"{path.name}.data")
        if apart:
            data.unlink(missing_ok=True)  # onnx would write behind what is there
        onnx.save(model, str(path), save_as_external_data=apart, location=data.name if apart else None)
        if apart:
            data.chmod(path.stat().st_mode)  # onnx makes it unreadable for others
        if len(opsets) == 1:  # the checker knows none of ONNX Runtime's own
            onnx.checker.check_model(str(path))


def _weights_of(path: Path) -> dict[str, onnx.TensorProto]:
    """A graph's weights by name; of those in another file the place there."""
    return {tensor.name: tensor for tensor in onnx.load(str(path), load_external_data=False).graph.initializer}
