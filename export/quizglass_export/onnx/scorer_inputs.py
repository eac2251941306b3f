"""What an exported scorer is given for whole prompts, by the server's own functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs.resizing import RGB
from quizglass_bundle.inputs.vision_inputs import padded, patches, vision_batch


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
