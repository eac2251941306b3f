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

from quizglass_bundle.fields import Normalised, Patched, Size
from quizglass_bundle.inputs.prompts import PromptTokenizer
from quizglass_bundle.inputs.resizing import RGB, resize

VISION_START = "<|vision_start|>"
VISION_END = "<|vision_end|>"

Patches = NDArray[np.float32]
"""A picture as a vision scorer takes it: float32 [P, F]; see `patches`."""
Features = NDArray[np.float32]
"""What a vision tower makes of a picture: float32 [T, D], a row for each of its image tokens."""


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
    """M-RoPE positions of a prompt with any number of pictures of one size.

    Args:
        ids: token ids of one row, unpadded, length S.
        image_id: id of the image pad token.
        spec: the pictures' geometry.

    Returns:
        int64 [3, S]: time, height and width. Text counts up alike in all three. A picture starts at the next free
        position: its time stands still, height and width follow the merged grid, and what comes after it continues
        from one above the largest position used.

    Raises:
        ValueError: the pads are not runs of exactly one picture's length each.
    """
    row = np.asarray(ids, dtype=np.int64)
    places = np.flatnonzero(row == image_id)
    count = image_tokens(spec)
    if places.size % count or (places.reshape(-1, count) != places[::count, None] + np.arange(count)).any():
        raise ValueError(f"{places.size} image tokens in the prompt, not runs of {count}")
    down, across = (side // spec.merge for side in patch_grid(spec))
    height, width = np.divmod(np.arange(count, dtype=np.int64), across)
    axes = np.tile(np.arange(row.size, dtype=np.int64), (3, 1))
    for start in map(int, places[::count]):
        end, first = start + count, int(axes[0, start])
        axes[:, start:end] = first
        axes[1, start:end] += height
        axes[2, start:end] += width
        axes[:, end:] -= count - max(down, across)
    return axes


def vision_batch(
    rows: Sequence[Sequence[int]], image_id: int, spec: Patched, seen: Sequence[Sequence[Patches]]
) -> dict[str, NDArray[np.generic]]:
    """Inputs of a vision scorer's ONNX file for a batch of prompts, padded on the right.

    Args:
        rows: token ids of each prompt (B rows of different lengths).
        image_id: id of the image pad token.
        spec: picture geometry.
        seen: `patches` of the pictures of each row, in the order of their image tokens.

    Returns:
        `input_ids` and `attention_mask`, int64 [B, S], `position_ids`, int64 [3, B, S], and `pixel_values`, float32
        [B, n * P, F], n the most pictures of a row and at least one. Those that a row lacks are zeros that are never
        read.
    """
    down, across = patch_grid(spec)
    pixels = _side_by_side(seen, (down * across, 3 * spec.temporal * spec.patch**2))
    return _placed(rows, image_id, spec) | {"pixel_values": pixels}


def feature_batch(
    rows: Sequence[Sequence[int]], image_id: int, spec: Patched, seen: Sequence[Sequence[Features]], width: int
) -> dict[str, NDArray[np.generic]]:
    """The same for a scorer whose vision tower is a graph of its own: `image_features` in place of `pixel_values`.

    Args:
        rows: as of `vision_batch`.
        image_id: as of `vision_batch`.
        spec: picture geometry.
        seen: what the tower made of the pictures of each row, in the order of their image tokens.
        width: numbers of an image token, D.

    Returns:
        `input_ids`, `attention_mask`, `position_ids`, and `image_features`, float32 [B, n * T, D], n the most pictures
        of a row and at least one.
    """
    features = _side_by_side(seen, (image_tokens(spec), width))
    return _placed(rows, image_id, spec) | {"image_features": features}


def _placed(rows: Sequence[Sequence[int]], image_id: int, spec: Patched) -> dict[str, NDArray[np.generic]]:
    """Padded prompts with their positions."""
    batch = padded(rows)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    # Padding must not be the image token's id, or the graph would scatter picture features into it.
    if image_id == 0:
        ids[mask == 0] = 1
    places = np.zeros((3, *ids.shape), np.int64)
    for index, row in enumerate(rows):
        places[:, index, : len(row)] = positions(row, image_id, spec)
    return batch | {"position_ids": places}


def _side_by_side(seen: Sequence[Sequence[NDArray[np.float32]]], shape: tuple[int, int]) -> NDArray[np.float32]:
    """The pictures of each row, one behind the other, with zeros for missing ones: [B, n * rows of one, columns]."""
    most = max([1, *map(len, seen)])
    values = np.zeros((len(seen), most, *shape), np.float32)
    for index, pictures in enumerate(seen):
        for place, picture in enumerate(pictures):
            values[index, place] = picture
    return values.reshape(len(seen), -1, shape[1])


def padded(rows: Sequence[Sequence[int]]) -> dict[str, NDArray[np.generic]]:
    """`input_ids` and `attention_mask`, int64 [B, S], of prompts of different lengths, padded on the right."""
    longest = max(len(row) for row in rows)
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask}
