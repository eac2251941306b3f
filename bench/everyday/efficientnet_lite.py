"""EfficientNet-Lite0 in PyTorch: what the graphs are compared with that `quizglass_export.written_graphs` writes.

Module names are those of the checkpoint. Convolutions pad as TensorFlow does, more at the right and the bottom.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from quizglass_export.errors import ExportError
from quizglass_export.written_graphs.efficientnet_lite import CLASSES, FEATURES, LOOKS

_STAGES = (
    *((1, 3, 1, 1, 32, 16), (2, 3, 2, 6, 16, 24), (2, 5, 2, 6, 24, 40), (3, 3, 2, 6, 40, 80)),
    *((3, 5, 1, 6, 80, 112), (4, 5, 2, 6, 112, 192), (1, 3, 1, 6, 192, 320)),
)
"""For each stage: blocks, kernel, stride of the first block, expansion, channels in and out."""


class _SamePadded(nn.Conv2d):
    def forward(self, x: Tensor) -> Tensor:
        (kernel, _), (stride, _) = self.kernel_size, self.stride
        padding: list[int] = []
        for size in (int(x.shape[-1]), int(x.shape[-2])):  # constants of the traced graph
            whole = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            padding += [whole // 2, whole - whole // 2]
        return functional.conv2d(functional.pad(x, padding), self.weight, None, self.stride, 0, 1, self.groups)


def _convolution(channels: int, out: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return _SamePadded(channels, out, kernel, stride, groups=groups, bias=False)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3)


class _Block(nn.Module):
    def __init__(self, kernel: int, stride: int, expansion: int, channels: int, out: int) -> None:
        super().__init__()
        inner = channels * expansion
        if expansion > 1:
            self._expand_conv, self._bn0 = _convolution(channels, inner), _norm(inner)
        self._depthwise_conv, self._bn1 = _convolution(inner, inner, kernel, stride, inner), _norm(inner)
        self._project_conv, self._bn2 = _convolution(inner, out), _norm(out)
        self._expands, self._adds = expansion > 1, stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu6(self._bn0(self._expand_conv(x))) if self._expands else x
        inner = functional.relu6(self._bn1(self._depthwise_conv(inner)))
        projected: Tensor = self._bn2(self._project_conv(inner))
        return projected + x if self._adds else projected


class EfficientNetLite0(nn.Module):
    """`pixel_values` [B, 3, 224, 224] to a vector of features and classes [B, 2280]."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = _convolution(3, 32, 3, 2), _norm(32)
        blocks = [
            _Block(kernel, 1 if at else stride, expansion, out if at else channels, out)
            for count, kernel, stride, expansion, channels, out in _STAGES
            for at in range(count)
        ]
        self._blocks = nn.Sequential(*blocks)
        self._conv_head, self._bn1 = _convolution(320, FEATURES), _norm(FEATURES)
        self._fc = nn.Linear(FEATURES, CLASSES)

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Vectors of length one, float32 [B, 2280], of `pixel_values` [B, 3, 224, 224]."""
        features = self._features(pixel_values)
        classes = self._fc(features).softmax(1).sqrt()
        looks = functional.normalize(features)
        return torch.cat([LOOKS**0.5 * looks, (1 - LOOKS) ** 0.5 * classes], 1)

    def _features(self, pixel_values: Tensor) -> Tensor:
        features = self._blocks(functional.relu6(self._bn0(self._conv_stem(pixel_values))))
        pooled: Tensor = functional.relu6(self._bn1(self._conv_head(features))).mean((2, 3))
        return pooled


class Classifier(EfficientNetLite0):
    """`pixel_values` [B, 3, 224, 224] to logits [B, 1000]."""

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Logits, float32 [B, 1000], of ImageNet's classes for `pixel_values` [B, 3, 224, 224]."""
        logits: Tensor = self._fc(self._features(pixel_values))
        return logits


def load(path: Path, kind: type[EfficientNetLite0] = EfficientNetLite0) -> EfficientNetLite0:
    """The model with a checkpoint's weights.

    Raises:
        ExportError: the weights are another model's.
    """
    weights: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    model = kind()
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ExportError(f"{path}: not the weights of EfficientNet-Lite0: {error}") from error
    return model.eval()
