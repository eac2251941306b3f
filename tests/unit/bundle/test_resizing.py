"""The resize by products gives what Pillow gives."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs import resizing
from quizglass_bundle.inputs.resizing import height_first, pillows_order, resize, width_first


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def pillow(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC))


def apart(one: np.ndarray, two: np.ndarray) -> tuple[int, float]:
    """Largest difference of a byte, and the share that differs."""
    difference = np.abs(one.astype(int) - two)
    return int(difference.max()), float((difference > 0).mean())


@given(st.tuples(*[st.integers(1, 260)] * 2), st.tuples(*[st.integers(1, 130)] * 2), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_any_shape_is_resized_as_pillow_resizes_it(before: tuple[int, int], after: tuple[int, int], seed: int) -> None:
    picture = noise(*before, seed)
    repeated = ceil(after[0] / before[0]) * ceil(after[1] / before[1])
    for _ in range(2):  # by Pillow at first sight, by products at the second
        found = resize(picture, Size(height=after[0], width=after[1]))
        assert found.dtype == np.uint8
        largest, share = apart(found, pillow(picture, *after))
        assert largest <= 1
        assert share <= 0.005 or share * found.size <= 8 * repeated  # of a small picture, a few values by one


@pytest.mark.parametrize("before", [(448, 448), (480, 640), (640, 480), (300, 170)])
def test_a_cameras_frames_go_by_products(before: tuple[int, int]) -> None:
    order = pillows_order(*before, 112, 112)
    assert order in (width_first, height_first)
    frame = noise(*before, 3)
    assert apart(order(frame, 112, 112), pillow(frame, 112, 112)) <= (1, 0.001)


def test_extremes_stay_in_range() -> None:
    picture = np.zeros((448, 448, 3), np.uint8)
    picture[::37] = 255
    for _ in range(2):
        assert np.array_equal(resize(picture, Size(height=112, width=112)), pillow(picture, 112, 112))


def test_pillow_does_it_for_large_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    large = noise(1100, 1000)
    monkeypatch.setattr(resizing, "pillows_order", None)
    for _ in range(2):
        assert np.array_equal(resize(large, Size(height=8, width=8)), pillow(large, 8, 8))
