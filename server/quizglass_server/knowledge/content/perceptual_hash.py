"""64 bits of how a picture looks, which re-encoded, resized and slightly altered copies share for the most part.

The difference hash: the picture in grey, reduced to 9 x 8 pixels; a bit says whether one is brighter than the next.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

from quizglass_server.domain.turns import RGB

_ALIKE_BITS = 6  # of 64 that may differ: a JPEG of low quality changes about this many


def perceptual_hash_of(pixels: RGB) -> int:
    """The hash as SQLite stores integers, with a sign; never 0, which stands for a look that is not known."""
    small = Image.fromarray(np.ascontiguousarray(pixels)).convert("L").resize((9, 8), Image.Resampling.BOX)
    grey = np.asarray(small, dtype=np.int16)
    bits = np.packbits(grey[:, 1:] > grey[:, :-1])
    return int.from_bytes(bits.tobytes(), "big", signed=True) or 1


def alike(one: int, other: int) -> bool:
    """Whether two hashes are those of near-duplicates."""
    if not one or not other:
        return False
    return ((one ^ other) & ((1 << 64) - 1)).bit_count() <= _ALIKE_BITS
