"""Says what is wrong with a frame as the camera took it, and what to do about it.

A linear layer over the numbers of `statistics`, one output a fault. `layer.json` beside this file is what
`quizglass_lab.coaching` fitted on drawings and photographs with faults. It is part of the server and not of a
bundle: it judges cameras, whatever models answer, and belongs to the code that computes its numbers.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass.session import CaptureFault, CaptureScore
from quizglass_server.domain.turns import RGB
from quizglass_server.errors import BundleError
from quizglass_server.roles.shared.wordgate import fitted
from quizglass_server.session.coaching.statistics import COUNT, SIDE, border, statistics

WEIGHTS = Path(__file__).with_name("layer.json")
FAULTS = (
    CaptureFault.BLUR,
    CaptureFault.DARK,
    CaptureFault.TILT,
    CaptureFault.TRUNCATION,
    CaptureFault.OCCLUSION,
    CaptureFault.NOISE,
)
"""The faults, in the order of the layer's outputs."""
SURE = (CaptureFault.BLUR,)
"""Reported by default: clean photographs do not trigger it (docs/session.md)."""
ADVICE = {
    CaptureFault.BLUR: "hold still",
    CaptureFault.DARK: "more light",
    CaptureFault.TILT: "hold level",
    CaptureFault.OCCLUSION: "uncover the lens",
    CaptureFault.NOISE: "more light",
}
_SIDES = ("move left", "move right", "move up", "move down")
"""For subjects that reach beyond the left, right, upper and lower border."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a frame is like."""

    fault: CaptureFault
    """The worst one; NONE where nothing is beyond its threshold."""
    advice: str
    """What to do; empty with NONE."""
    scores: tuple[CaptureScore, ...]
    """Probability of every fault, as the layer was fitted: of equally frequent ones."""


class CaptureCoach:
    """Judges frames. May be called from several threads.

    Args:
        told: the faults that frames are judged by; scores are of all.
        path: the layer.

    Raises:
        BundleError: the file is damaged, or belongs to other numbers.
    """

    def __init__(self, told: Collection[CaptureFault] = FAULTS, path: Path = WEIGHTS) -> None:
        self._told = np.asarray([fault in told for fault in FAULTS])
        try:
            layer = json.loads(path.read_text(encoding="utf-8"))
            self._mean, self._spread = (np.asarray(layer[name], np.float32) for name in ("mean", "spread"))
            self._weights = np.asarray([layer["weights"][fault] for fault in FAULTS], np.float32)
            self._bias = np.asarray([layer["bias"][fault] for fault in FAULTS], np.float32)
            self._thresholds = np.asarray([layer["thresholds"][fault] for fault in FAULTS], np.float32)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BundleError(f"{path}: is no layer of capture faults: {error}") from error
        if self._weights.shape != (len(FAULTS), COUNT) or self._mean.shape != (COUNT,):
            raise BundleError(f"{path}: weights have the shape {self._weights.shape}, not {(len(FAULTS), COUNT)}")

    def logits(self, pixels: RGB) -> NDArray[np.float32]:
        """How much a picture looks as if it had each of FAULTS: float32 [6]."""
        numbers = (statistics(pixels) - self._mean) / self._spread
        return np.asarray(self._weights @ numbers + self._bias, np.float32)

    def judge(self, pixels: RGB) -> Judged:
        """What is wrong with a picture: RGB, uint8 [H, W, 3]."""
        logits = self.logits(pixels)
        scores = tuple(
            CaptureScore(fault, float(1 / (1 + np.exp(-logit)))) for fault, logit in zip(FAULTS, logits, strict=True)
        )
        beyond = np.where(self._told, logits - self._thresholds, -np.inf)
        worst = int(np.argmax(beyond))
        if beyond[worst] <= 0:
            return Judged(CaptureFault.NONE, "", scores)
        fault = FAULTS[worst]
        return Judged(fault, ADVICE.get(fault) or _towards(pixels), scores)


def _towards(pixels: RGB) -> str:
    """Where the rest of a thing is that the border cuts: beyond the side that most crosses."""
    return _SIDES[int(np.argmax(border(fitted(pixels, SIDE))[:, 1]))]
