"""What a Qwen2-VL style model takes besides token ids: pixel patches and M-RoPE positions, in numpy alone.

Layouts follow Qwen2-VL (Wang et al. 2024, sections 2.1 and 2.2) as transformers' processor and
`get_rope_index` lay them out; the export's parity check runs through this module, so what is checked is what
is served.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from quizglass_server.domain.turns import RGB
from quizglass_server.models.fields import Normalised, Patched, Size
from quizglass_server.models.prompts import PromptTokenizer
from quizglass_server.models.resizing import resize

VISION_START = "<|vision_start|>"
VISION_END = "<|vision_end|>"

Patches = NDArray[np.float32]
"""A picture as a vision scorer takes it: float32 [P, F]; see `patches`."""


def fit(picture: RGB, size: Size) -> RGB:
    """Stretch a picture to `size` (bicubic); the aspect ratio is not kept, as in training."""
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        raise ValueError(f"picture is {picture.dtype} {list(picture.shape)}, not uint8 [height, width, 3]")
    if picture.shape[:2] == (size.height, size.width):
        return picture
    return resize(picture, size)


def channels(picture: RGB, spec: Normalised) -> NDArray[np.float32]:
    """Fit and normalise for an image encoder: float32 [3, height, width]."""
    return np.ascontiguousarray(_normal(picture, spec).transpose(2, 0, 1))


def _normal(picture: RGB, spec: Normalised) -> NDArray[np.float32]:
    """Fit and normalise: float32 [height, width, 3]."""
    # Whole rows at a time: numpy is slow where the last axis is short.
    values = fit(picture, spec).reshape(spec.height, -1).astype(np.float32)
    values /= np.float32(255)
    values -= _along_row(spec.mean, spec.width)
    values /= _along_row(spec.std, spec.width)
    return values.reshape(spec.height, spec.width, 3)


@lru_cache(maxsize=64)
def _along_row(of_channels: tuple[float, ...], width: int) -> NDArray[np.float32]:
    """A value for each channel, again for every pixel of a row."""
    return np.tile(np.asarray(of_channels, np.float32), width)


def patch_grid(spec: Patched) -> tuple[int, int]:
    """Patches down and across."""
    return spec.height // spec.patch, spec.width // spec.patch


def image_tokens(spec: Patched) -> int:
    """How many language-model tokens one picture takes."""
    down, across = patch_grid(spec)
    return (down // spec.merge) * (across // spec.merge)


def patches(picture: RGB, spec: Patched) -> Patches:
    """Fit, normalise and cut a picture into patches.

    Returns:
        float32 [P, 3 * temporal * patch * patch]. Rows go by merge blocks (row by row), and inside a block
        row by row, so that the `merge` x `merge` patches of one token are neighbours. A row holds channel,
        frame, y, x; a still picture repeats for every frame.
    """
    down, across = patch_grid(spec)
    merge, patch = spec.merge, spec.patch
    blocks = _normal(picture, spec).reshape(down // merge, merge, patch, across // merge, merge, patch, 3)
    ordered = blocks.transpose(0, 3, 1, 4, 6, 2, 5)
    out = np.empty((*ordered.shape[:5], spec.temporal, patch, patch), np.float32)
    out[...] = ordered[:, :, :, :, :, None]
    return out.reshape(down * across, -1)


def image_span(tokenizer: PromptTokenizer, image_token: str, spec: Patched) -> list[int]:
    """Token ids that fill a prompt's picture slot: start, one pad for each image token, end.

    Raises:
        PromptError: the tokenizer lacks one of the tokens.
    """
    pad = tokenizer.token_id(image_token)
    return [tokenizer.token_id(VISION_START), *[pad] * image_tokens(spec), tokenizer.token_id(VISION_END)]


def positions(ids: Sequence[int], image_id: int, spec: Patched) -> NDArray[np.int64]:
    """M-RoPE positions of a prompt with at most one picture.

    Args:
        ids: token ids of one row, unpadded, length S.
        image_id: id of the image pad token.
        spec: the picture's geometry.

    Returns:
        int64 [3, S]: time, height and width. Text counts up alike in all three. A picture starts at the next free
        position: its time stands still, height and width follow the merged grid, and the text after it continues
        from one above the largest position used.

    Raises:
        ValueError: the pads are not one run of exactly one picture's length.
    """
    row = np.asarray(ids, dtype=np.int64)
    places = np.flatnonzero(row == image_id)
    count = image_tokens(spec)
    if places.size == 0:
        return np.tile(np.arange(row.size, dtype=np.int64), (3, 1))
    start = int(places[0])
    if places.size != count or int(places[-1]) != start + count - 1:
        raise ValueError(f"{places.size} image tokens in the prompt, not one run of {count}")
    down, across = (side // spec.merge for side in patch_grid(spec))
    height, width = np.divmod(np.arange(count, dtype=np.int64), across)
    end = start + count
    axes = np.empty((3, row.size), np.int64)
    axes[:, :start] = np.arange(start)
    axes[:, start:end] = start
    axes[1, start:end] += height
    axes[2, start:end] += width
    axes[:, end:] = np.arange(row.size - end) + start + max(down, across)
    return axes


def vision_batch(
    rows: Sequence[Sequence[int]], image_id: int, spec: Patched, seen: Sequence[Patches | None]
) -> dict[str, NDArray[np.generic]]:
    """Inputs of a vision scorer's ONNX file for a batch of prompts, padded on the right.

    Args:
        rows: token ids of each prompt (B rows of different lengths).
        image_id: id of the image pad token.
        spec: picture geometry.
        seen: `patches` of one picture for each row, None for a row without one (they are zeros and are never read).

    Returns:
        `input_ids` and `attention_mask`, int64 [B, S], `position_ids`, int64 [3, B, S], and `pixel_values`, float32
        [B, P, F].
    """
    batch = padded(rows)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    # Padding must not be the image token's id, or the graph would scatter picture features into it.
    if image_id == 0:
        ids[mask == 0] = 1
    places = np.zeros((3, *ids.shape), np.int64)
    down, across = patch_grid(spec)
    blank = np.zeros((down * across, 3 * spec.temporal * spec.patch**2), np.float32)
    for index, row in enumerate(rows):
        places[:, index, : len(row)] = positions(row, image_id, spec)
    pixels = np.stack([blank if picture is None else picture for picture in seen])
    return batch | {"position_ids": places, "pixel_values": pixels}


def padded(rows: Sequence[Sequence[int]]) -> dict[str, NDArray[np.generic]]:
    """`input_ids` and `attention_mask`, int64 [B, S], of prompts of different lengths, padded on the right."""
    longest = max(len(row) for row in rows)
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask}
