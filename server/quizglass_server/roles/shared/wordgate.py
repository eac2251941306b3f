"""Says whether a picture may show words, and where, before a reader looks for them.

Finding words costs tens to hundreds of milliseconds and most pictures show none. A network of 25,000 weights looks at
the picture first, at the size at which the reader would search it, in a hundredth of that time. `wordgate.onnx` beside
this file is what `quizglass_lab.wordgate` trained on photographs and on pocketworld with and without words; its
metadata holds the threshold and how that was chosen, and docs/bundles.md what was measured.
"""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass.values import Region
from quizglass_server.domain.turns import RGB
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature

MODEL = Path(__file__).with_name("wordgate.onnx")
SMALL_PICTURE, SMALL_SIDE, LARGE_SIDE = 512, 320, 736
"""Pictures up to SMALL_PICTURE pixels a side are searched for words at SMALL_SIDE, larger ones at LARGE_SIDE."""
CELL = 8
"""Pixels a side of the network's cells; two by two of them are judged together."""
_CHEAP = 1 << 15
"""Pixels, as it is searched, up to which a picture is not judged: such are cut-outs of words, and soon searched."""
_AROUND = 5
"""Cells beyond those that look like words that are searched too."""


class WordGate:
    """Finds the part of a picture that may show words. May be called from several threads."""

    def __init__(self, least: float | None = None, model: Path = MODEL) -> None:
        """Load.

        Args:
            least: the probability of words from which a picture is read, 0 (every picture is) to 1; None: the model's.
            model: the ONNX file.

        Raises:
            BundleError: the file is damaged.
            EngineFailed: onnxruntime is not installed.
        """
        shapes = InputRange((1, 2 * CELL, 2 * CELL, 3), (1, SMALL_SIDE, SMALL_SIDE, 3), (1, LARGE_SIDE, LARGE_SIDE, 3))
        self._session = OnnxSession(
            model, Signature("logits", {"pixels": shapes}), OnnxOptions(provider="cpu", role="wordgate")
        )
        self.notes = self._session.notes
        """What the file says of itself: `threshold`, and `provenance`, how it was chosen."""
        self.least = float(self.notes["threshold"]) if least is None else least
        """Probability from which a picture is read."""
        self._read = _logit(self.least)
        # Whatever has a picture read, the part is found as the gate was judged: it holds whole lines.
        self._part = min(self._read, _logit(float(self.notes["threshold"])))
        self.find(np.zeros((SMALL_SIDE, SMALL_SIDE, 3), np.uint8))  # warm

    def find(self, pixels: RGB) -> Region | None:
        """The smallest rectangle around all that may be words, with a margin; None when nothing may."""
        small = fitted(pixels, searched_side(pixels))
        if is_cheap(small):
            return Region(0.0, 0.0, 1.0, 1.0)
        logits = self.logits(small)
        if logits.max() < self._read:
            return None
        rows, columns = np.nonzero(logits >= self._part)
        down, across = logits.shape[0] + 1, logits.shape[1] + 1
        return Region(
            left=max(0.0, (int(columns.min()) - _AROUND) / across),
            top=max(0.0, (int(rows.min()) - _AROUND) / down),
            right=min(1.0, (int(columns.max()) + 2 + _AROUND) / across),
            bottom=min(1.0, (int(rows.max()) + 2 + _AROUND) / down),
        )

    def logits(self, pixels: RGB) -> NDArray[np.float32]:
        """How much each place of a fitted picture looks like words: float32 [H / 8 - 1, W / 8 - 1], rounded up."""
        logits = self._session.run({"pixels": pixels[None]})
        return np.asarray(logits[0, 0])


def is_cheap(small: RGB) -> bool:
    """Whether a fitted picture is searched without being judged."""
    return bool(small.shape[0] * small.shape[1] <= _CHEAP)


def searched_side(pixels: RGB) -> int:
    """The longer side, in pixels, at which a picture is searched for words; smaller pictures stay as they are."""
    return SMALL_SIDE if max(pixels.shape[:2]) <= SMALL_PICTURE else LARGE_SIDE


def fitted(pixels: RGB, side: int) -> RGB:
    """The picture with its longer side at most `side` pixels, both sides of at least two cells."""
    import cv2

    height, width = pixels.shape[:2]
    scale = min(1.0, side / max(height, width))
    size = max(2 * CELL, round(width * scale)), max(2 * CELL, round(height * scale))
    if size == (width, height):
        return np.ascontiguousarray(pixels)
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _logit(probability: float) -> float:
    if probability <= 0:
        return -np.inf
    return np.inf if probability >= 1 else log(probability / (1 - probability))
