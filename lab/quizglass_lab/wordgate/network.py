"""The network of the gate: a few convolutions over the whole picture, one judgement a cell of 8 x 8 pixels.

It takes what the server has, uint8 [1, H, W, 3], and gives the logits of all places of two by two cells,
float32 [1, 1, H / 8 - 1, W / 8 - 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

LAYERS: tuple[tuple[int, int, int, int], ...] = (
    (12, 3, 2, 1),
    (16, 3, 2, 1),
    (32, 3, 2, 1),
    (32, 3, 1, 1),
    (32, 3, 1, 2),
)
"""Channels, side, stride and dilation of each convolution."""
POOL = 2
"""Cells a side that are judged together: one cell is less than a letter."""
_OPSET = 17


class WordGate(nn.Module):
    """Logits of every cell."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for channels, side, stride, dilation in LAYERS:
            pad = dilation * (side // 2)
            layers.append(nn.Conv2d(before, channels, side, stride, pad, dilation, bias=False))
            layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
            before = channels
        self.features = nn.Sequential(*layers)
        self.head = nn.Conv2d(before, 1, 1)
        nn.init.constant_(torch.as_tensor(self.head.bias), -3.0)

    def forward(self, pixels: Tensor) -> Tensor:
        """float32 [B, 3, H, W], 0 to 255, to float32 [B, H / 8, W / 8]."""
        logits: Tensor = self.head(self.features(pixels / 127.5 - 1.0))
        return logits[:, 0]


def most(logits: Tensor) -> Tensor:
    """Logit of the likeliest place of each picture: float32 [B]."""
    pooled = nn.functional.avg_pool2d(logits[:, None], POOL, stride=1)
    return pooled.amax(dim=(1, 2, 3))


def save(gate: WordGate, path: Path, notes: Mapping[str, str]) -> None:
    """Write the network as ONNX, its normalisations folded into its weights; `notes` become the file's metadata."""
    nodes = [
        helper.make_node("Cast", ["pixels"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["floats", "scale"], ["scaled"]),
        helper.make_node("Sub", ["scaled", "one"], ["centred"]),
        helper.make_node("Transpose", ["centred"], ["x0"], perm=[0, 3, 1, 2]),
    ]
    weights = {"scale": np.array(1 / 127.5, np.float32), "one": np.array(1.0, np.float32)}
    for at, (kernel, bias) in enumerate(_folded(gate)):
        _, side, stride, dilation = LAYERS[at]
        weights |= {f"w{at}": kernel, f"b{at}": bias}
        shape = {"strides": [stride] * 2, "dilations": [dilation] * 2, "pads": [dilation * (side // 2)] * 4}
        nodes.append(helper.make_node("Conv", [f"x{at}", f"w{at}", f"b{at}"], [f"c{at}"], **shape))
        nodes.append(helper.make_node("Relu", [f"c{at}"], [f"x{at + 1}"]))
    last = len(LAYERS)
    weights |= {"w": gate.head.weight.detach().numpy(), "b": torch.as_tensor(gate.head.bias).detach().numpy()}
    nodes += [
        helper.make_node("Conv", [f"x{last}", "w", "b"], ["cells"]),
        helper.make_node("AveragePool", ["cells"], ["logits"], kernel_shape=[POOL, POOL]),
    ]
    graph = helper.make_graph(
        nodes,
        "wordgate",
        [helper.make_tensor_value_info("pixels", TensorProto.UINT8, [1, "height", "width", 3])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, "down", "across"])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="quizglass-export")
    model.ir_version = 8
    helper.set_model_props(model, dict(notes))
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def note(path: Path, notes: Mapping[str, str]) -> None:
    """Replace the metadata of a file that was saved."""
    model = onnx.load(str(path))
    helper.set_model_props(model, dict(notes))
    path.write_bytes(model.SerializeToString())


def _folded(gate: WordGate) -> list[tuple[np.ndarray, np.ndarray]]:
    """Kernel and bias of each convolution with the normalisation after it."""
    folded = []
    modules = list(gate.features)
    for convolution, norm in zip(modules[::3], modules[1::3], strict=True):
        if not isinstance(convolution, nn.Conv2d) or not isinstance(norm, nn.BatchNorm2d):
            raise TypeError("the network is not made of convolutions and normalisations")
        mean, variance = torch.as_tensor(norm.running_mean), torch.as_tensor(norm.running_var)
        scale = (norm.weight / torch.sqrt(variance + norm.eps)).detach()
        kernel = convolution.weight.detach() * scale[:, None, None, None]
        folded.append((kernel.numpy(), (norm.bias.detach() - mean * scale).numpy()))
    return folded
