"""What an exported scorer is given for whole prompts, by the server's own functions, and its tower before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs.resizing import RGB
from quizglass_bundle.inputs.vision_inputs import (
    Features,
    Patches,
    feature_batch,
    padded,
    patch_grid,
    patches,
    vision_batch,
)
from quizglass_export.parity import session

FEATURES = "image_features"
"""What towers give, and decisions take."""


def scorer_batch(
    rows: Sequence[Sequence[int]],
    image_id: int | None = None,
    spec: Patched | None = None,
    pictures: Sequence[Sequence[RGB]] = (),
) -> dict[str, NDArray[np.generic]]:
    """Inputs of an ONNX scorer for a batch of prompts.

    Args:
        rows: token ids of each prompt (B rows of different lengths).
        image_id: id of the image pad token, for a vision scorer.
        spec: picture geometry, for a vision scorer.
        pictures: of each row, in the order of its image tokens.

    Returns:
        For a vision scorer what `vision_batch` makes, else what `padded` does.
    """
    if spec is None or image_id is None:
        return padded(rows)
    return vision_batch(rows, image_id, spec, [[patches(each, spec) for each in shown] for shown in pictures])


def tower_inputs(seen: Patches) -> dict[str, NDArray[np.generic]]:
    """Inputs of a tower for one picture."""
    return {"pixel_values": seen[None]}


class TowerRuns:
    """Runs of a tower's file on the CPU."""

    def __init__(self, path: Path, picture: Patched) -> None:
        """Args:
        path: the ONNX file.
        picture: size and patches of its pictures.
        """
        self._session = session(path)
        self._picture = picture
        down, across = patch_grid(picture)
        self.width = self(np.zeros((down * across, 3 * picture.temporal * picture.patch**2), np.float32)).shape[1]
        """Numbers of an image token."""

    def batch(
        self, rows: Sequence[Sequence[int]], image_id: int, pictures: Sequence[Sequence[RGB]]
    ) -> dict[str, NDArray[np.generic]]:
        """Inputs of the decisions for a batch of prompts; args as `scorer_batch`'s."""
        seen = [[self(patches(each, self._picture)) for each in shown] for shown in pictures]
        return feature_batch(rows, image_id, self._picture, seen, self.width)

    def __call__(self, seen: Patches) -> Features:
        """What the tower makes of one picture."""
        values: NDArray[np.float32] = self._session.run([FEATURES], dict(tower_inputs(seen)))[0]
        features: Features = values[0]
        return features
