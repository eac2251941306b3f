"""EfficientNet-Lite0 as an ONNX image encoder, by looks and by likely classes, and as a tagger.

Inverted residuals without squeeze-and-excitation, ReLU6 throughout (github.com/tensorflow/tpu, efficientnet/lite);
names of weights are those of the PyTorch checkpoint. Convolutions pad as TensorFlow does, more at the right and the
bottom. Batch norms are part of the convolutions before them.

Features alone take things for each other that look alike. So a vector has two parts, each of length one before it is
weighed: the features, and the square roots of the classes' probabilities. The dot product of two vectors is then
`LOOKS` x the cosine of their features + (1 - `LOOKS`) x the Bhattacharyya coefficient of their probabilities.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from quizglass_export.written_graphs.pickled import read_pickled
from quizglass_export.written_graphs.weights import NamedWeights
from quizglass_export.written_graphs.writer import GraphWriter

SIDE, FEATURES = 224, 1280
CLASSES = 1000
"""Number of ImageNet's classes, in the order of their WordNet numbers."""
DIMENSION = FEATURES + CLASSES
LOOKS = 0.9
"""Share of the features in a dot product. With less of them things are found less often: docs/everyday.md."""
MEAN, STD = 127 / 255, 128 / 255
_STAGES = (
    *((1, 3, 1, 1, 32, 16), (2, 3, 2, 6, 16, 24), (2, 5, 2, 6, 24, 40), (3, 3, 2, 6, 40, 80)),
    *((3, 5, 1, 6, 80, 112), (4, 5, 2, 6, 112, 192), (1, 3, 1, 6, 192, 320)),
)
"""For each stage: blocks, kernel, stride of the first block, expansion, channels in and out."""
_EPSILON = 1e-3
_COUNTERS = ".num_batches_tracked"
"""What training counts, and nothing computes with."""


def write_encoder(checkpoint: Path, path: Path) -> None:
    """Write the encoder as ONNX: `pixel_values` [B, 3, 224, 224] to `image_embeds` [B, 2280], of length one.

    Raises:
        ExportError: the weights are another model's, or not to be read.
    """
    network = _Network(checkpoint)
    network.embeds()
    network.weights.check_all_taken(_COUNTERS)
    _write(network.graph, path, "image_embeds", DIMENSION)


def write_classifier(checkpoint: Path, path: Path) -> None:
    """Write the classifier as ONNX: `pixel_values` [B, 3, 224, 224] to `logits` [B, 1000].

    Raises:
        ExportError: the weights are another model's, or not to be read.
    """
    network = _Network(checkpoint)
    network.logits(network.pooled(), "logits")
    network.weights.check_all_taken(_COUNTERS)
    _write(network.graph, path, "logits", CLASSES)


def _write(graph: GraphWriter, path: Path, output: str, width: int) -> None:
    graph.write(path, {"pixel_values": ("float32", ("batch", 3, SIDE, SIDE))}, {output: ("batch", width)})


class _Network:
    """The graph as it grows, and how large its pictures are where it has come to."""

    def __init__(self, checkpoint: Path) -> None:
        self.graph = GraphWriter()
        self.weights = NamedWeights(checkpoint, read_pickled(checkpoint), "EfficientNet-Lite0")
        self._side = SIDE
        self._bounds = (self.graph.constant(0.0, "float32"), self.graph.constant(6.0, "float32"))

    def embeds(self) -> str:
        """Features and the square roots of the classes' probabilities, each weighed: [B, 2280]."""
        graph, pooled = self.graph, self.pooled()
        shares = graph.node("Sqrt", graph.node("Softmax", self.logits(pooled, "logits"), axis=1))
        parts = (graph.node("LpNormalization", pooled, axis=1, p=2), LOOKS), (shares, 1 - LOOKS)
        weighed = [graph.node("Mul", part, graph.constant(share**0.5, "float32")) for part, share in parts]
        return graph.node("Concat", *weighed, axis=1, output="image_embeds")

    def pooled(self) -> str:
        """Features pooled over the picture, [B, 1280]."""
        values = self._relu6(self._convolution("pixel_values", "_conv_stem", "_bn0", (3, 32), 3, 2))
        number = 0
        for count, kernel, stride, expansion, channels, out in _STAGES:
            for at in range(count):
                before, step = (out, 1) if at else (channels, stride)
                values = self._block(values, f"_blocks.{number}", kernel, step, expansion, before, out)
                number += 1
        values = self._relu6(self._convolution(values, "_conv_head", "_bn1", (320, FEATURES)))
        return self.graph.node("Flatten", self.graph.node("GlobalAveragePool", values))

    def logits(self, pooled: str, output: str) -> str:
        """Logits of ImageNet's classes, [B, 1000], under a name."""
        weight = self.graph.weight("_fc.weight", self.weights.take("_fc.weight", CLASSES, FEATURES))
        bias = self.graph.weight("_fc.bias", self.weights.take("_fc.bias", CLASSES))
        return self.graph.node("Gemm", pooled, weight, bias, transB=1, output=output)

    def _block(self, values: str, name: str, kernel: int, stride: int, expansion: int, channels: int, out: int) -> str:
        inner = channels * expansion
        wide = values
        if expansion > 1:
            wide = self._relu6(self._convolution(values, f"{name}._expand_conv", f"{name}._bn0", (channels, inner)))
        deep = self._convolution(
            wide, f"{name}._depthwise_conv", f"{name}._bn1", (1, inner), kernel, stride, groups=inner
        )
        made = self._convolution(self._relu6(deep), f"{name}._project_conv", f"{name}._bn2", (inner, out))
        return self.graph.node("Add", made, values) if stride == 1 and channels == out else made

    def _convolution(
        self,
        values: str,
        name: str,
        norm: str,
        shape: tuple[int, int],
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
    ) -> str:
        """A convolution of channels in (to each group) and out, and the batch norm behind it, as one."""
        channels, out = shape
        weight = self.weights.take(f"{name}.weight", out, channels, kernel, kernel)
        scale, bias, mean, variance = (
            self.weights.take(f"{norm}.{part}", out) for part in ("weight", "bias", "running_mean", "running_var")
        )
        factor = scale / np.sqrt(variance + np.float32(_EPSILON))
        return self.graph.node(
            "Conv",
            values,
            self.graph.weight(f"{name}.weight", weight * factor[:, None, None, None]),
            self.graph.weight(f"{name}.bias", bias - mean * factor),
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            group=groups,
            pads=self._padding(kernel, stride),
        )

    def _padding(self, kernel: int, stride: int) -> list[int]:
        """Before and after, of rows and columns alike; the pictures get smaller by the stride."""
        side, self._side = self._side, -(-self._side // stride)
        whole = max((self._side - 1) * stride + kernel - side, 0)
        before, after = whole // 2, whole - whole // 2
        return [before, before, after, after]

    def _relu6(self, values: str) -> str:
        return self.graph.node("Clip", values, *self._bounds)
