"""Photographs as turns have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from quizglass_server.domain.turns import Picture


def read_picture(path: Path) -> Picture:
    """A photograph's pixels, under the file's name."""
    with Image.open(path) as image:
        return Picture(path.name.encode(), np.asarray(image.convert("RGB")))
