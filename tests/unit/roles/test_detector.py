"""What becomes of a detector's boxes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Region
from quizglass_bundle.fields import Size
from quizglass_server.domain.regions import Detection
from quizglass_server.domain.turns import Picture
from quizglass_server.roles.detector import SAME, distinct, squared
from quizglass_server.roles.shared.fitting import PictureFitter

PHRASES = ["red car", "boat"]
SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
ROWS = st.lists(st.tuples(*[SHARES] * 6), min_size=1, max_size=12)


def overlap(one: Region, other: Region) -> float:
    left, top = max(one.left, other.left), max(one.top, other.top)
    shared = Region(left, top, min(one.right, other.right), min(one.bottom, other.bottom)).area
    return shared / (one.area + other.area - shared)


def one_by_one(rows: list[tuple[float, ...]], least_score: float) -> list[Detection]:
    """The boxes compared in pairs."""
    found: list[Detection] = []
    for *scores, x, y, width, height in sorted(rows, key=lambda row: -max(row[:2])):
        sides = np.clip([x - width / 2, y - height / 2, x + width / 2, y + height / 2], 0, 1)
        each = Detection(Region(*map(float, sides)), max(scores), PHRASES[int(np.argmax(scores))])
        alike = [one for one in found if one.phrase == each.phrase]
        if each.score >= least_score and each.region.area > 0:
            found += [each] if all(overlap(one.region, each.region) <= SAME for one in alike) else []
    return found


@given(ROWS, SHARES)
def test_boxes_are_told_as_if_each_was_compared_with_each(rows: list[tuple[float, ...]], least_score: float) -> None:
    given = np.array(rows)
    assert distinct(given[:, :2], given[:, 2:], PHRASES, least_score) == one_by_one(rows, least_score)


def test_of_boxes_that_nearly_coincide_the_likeliest_of_each_phrase_stays() -> None:
    boxes = np.array([[0.5, 0.5, 0.4, 0.4], [0.51, 0.5, 0.4, 0.4], [0.5, 0.5, 0.4, 0.4], [0.1, 0.1, 0.1, 0.1]])
    scores = np.array([[0.6, 0.1], [0.9, 0.2], [0.3, 0.7], [0.4, 0.0]])
    found = distinct(scores, boxes, PHRASES)
    assert [(each.score, each.phrase) for each in found] == [(0.9, "red car"), (0.7, "boat"), (0.4, "red car")]
    assert [each.score for each in distinct(scores, boxes, PHRASES, 0.7)] == [0.9, 0.7]


@pytest.mark.parametrize(("width", "height"), [(640, 480), (480, 640), (100, 100), (800, 100), (9, 1), (1, 300)])
def test_a_picture_is_padded_to_a_square_in_the_size_of_the_model(width: int, height: int) -> None:
    pixels = np.full((height, width, 3), 200, np.uint8)
    square, shown = squared(Picture(b"p" * 32, pixels), Size(width=96, height=96), PictureFitter())
    assert square.shape == (96, 96, 3)
    assert max(shown.width, shown.height) == 96
    assert abs(shown.width * height - shown.height * width) <= max(width, height)  # half a pixel of the model's
    assert (square[: shown.height, : shown.width] == 200).all()
    assert (square[shown.height :] == 128).all()
    assert (square[:, shown.width :] == 128).all()


def test_the_square_of_a_long_picture_takes_no_memory_of_its_size() -> None:
    picture = Picture(b"p" * 32, np.zeros((500, 4000, 3), np.uint8))
    tracemalloc.start()
    squared(picture, Size(width=96, height=96), PictureFitter())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < picture.pixels.nbytes  # a square of 4,000 pixels would take eight times as much


def test_boxes_that_show_nothing_of_the_picture_are_left_out() -> None:
    boxes = np.array([[1.5, 0.5, 0.4, 0.4], [0.5, 0.5, 0.0, 0.4], [0.9, 0.9, 0.4, 0.4]])
    (found,) = distinct(np.array([[0.9], [0.8], [0.7]]), boxes, ["boat"])
    sides = [found.region.left, found.region.top, found.region.right, found.region.bottom]
    assert np.allclose(sides, [0.7, 0.7, 1.0, 1.0])
