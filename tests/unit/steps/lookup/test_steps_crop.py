"""Which parts of the picture a question is looked up by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Region
from quizglass_bundle.tuning import Views
from quizglass_server.domain.turns import Picture
from quizglass_server.steps.lookup.parts.crop import (
    LEFT,
    MIDDLE,
    RIGHT,
    WHOLE,
    View,
    crop,
    place_of,
    squares_of,
    views_of,
    with_place,
)


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Who made the car on the left?", LEFT),
        ("When was the leftmost thing made?", LEFT),
        ("What is the left-hand boat called?", LEFT),
        ("How old is the one to my RIGHT?", RIGHT),
        ("What does the right one cost?", RIGHT),
        ("Who made the thing in the middle?", MIDDLE),
        ("Who made the thing in the centre?", MIDDLE),
        ("What is at the center of the picture?", MIDDLE),
        ("What is on the far left of the shelf?", LEFT),
        ("Who left this here?", None),
        ("Is it right that this is old?", None),
        ("How much time is left?", None),
        ("What is the middle name of its founder?", None),
        ("Is the one on the left older than the one on the right?", None),
        ("What is this?", None),
        ("", None),
    ],
)
def test_position_words_name_a_place(question: str, place: str | None) -> None:
    assert place_of(question) == place


@pytest.mark.parametrize(
    ("question", "place", "other", "changed"),
    [
        ("Who made the car on the far left?", LEFT, RIGHT, "Who made the car on the right?"),
        ("Who made the car to my LEFT, and when?", LEFT, MIDDLE, "Who made the car in the middle, and when?"),
        ("Who made the car in the centre?", MIDDLE, LEFT, "Who made the car on the left?"),
        ("Who made the left one?", LEFT, RIGHT, "Who made the right one?"),
        ("Who made the leftmost car?", LEFT, RIGHT, "Who made the rightmost car?"),
        ("Who made the car on the left?", LEFT, None, "Who made the car?"),
        ("Who made the left one?", LEFT, None, "Who made the one?"),
        ("Who made the leftmost car?", LEFT, None, "Who made the car?"),
    ],
)
def test_a_place_can_be_replaced_or_left_out(question: str, place: str, other: str | None, changed: str) -> None:
    assert with_place(question, place, other) == changed
    assert place_of(changed) == other


def test_without_a_word_from_the_bundle_a_place_is_a_half_and_anything_else_the_whole_picture() -> None:
    assert views_of("Who made the car on the left?", Views()) == (View(LEFT, 0.5),)
    assert views_of("Who made this?", Views()) == (WHOLE,)


def test_a_place_is_cut_in_every_width_and_no_place_at_every_place() -> None:
    views = Views(placed=(0.5, 0.4), unplaced=(1.0, 0.5))
    assert views_of("Who made the car on the right?", views) == (View(RIGHT, 0.5), View(RIGHT, 0.4))
    assert views_of("Who made the car?", views) == (WHOLE, View(LEFT, 0.5), View(MIDDLE, 0.5), View(RIGHT, 0.5))


def test_the_whole_picture_is_one_view_wherever_it_is() -> None:
    assert views_of("Who made the car on the left?", Views(placed=(1.0,))) == (WHOLE,)


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        (WHOLE, range(10)),
        (View(LEFT, 0.5), range(5)),
        (View(MIDDLE, 0.5), range(2, 7)),
        (View(RIGHT, 0.5), range(5, 10)),
        (View(LEFT, 0.4), range(4)),
        (View(MIDDLE, 0.4), range(3, 7)),
        (View(RIGHT, 0.4), range(6, 10)),
    ],
)
def test_views_are_shares_of_the_width(view: View, columns: range) -> None:
    pixels = np.broadcast_to(np.arange(10, dtype=np.uint8)[None, :, None], (3, 10, 3))
    part = crop(Picture(b"p" * 32, pixels), view)
    assert part.pixels[0, :, 0].tolist() == list(columns)
    assert part.height == 3


def test_the_whole_picture_is_itself_and_a_part_is_known_by_its_place() -> None:
    picture = Picture(b"p" * 32, np.zeros((4, 6, 3), np.uint8))
    assert crop(picture, WHOLE) is picture
    assert crop(picture, Region(0, 0, 1, 1)) is picture
    left = crop(picture, View(LEFT, 0.5))
    assert len(left.sha256) == 32
    assert left == crop(picture, Region(0, 0, 0.5, 1)), "the same pixels, however they were chosen"
    right, other = crop(picture, View(RIGHT, 0.5)), crop(Picture(b"q" * 32, picture.pixels), View(LEFT, 0.5))
    assert len({picture, left, right, other}) == 4


@pytest.mark.parametrize("place", [LEFT, MIDDLE, RIGHT])
def test_a_picture_too_narrow_to_cut_stays_whole(place: str) -> None:
    narrow = Picture(b"p" * 32, np.zeros((4, 1, 3), np.uint8))
    assert crop(narrow, View(place, 0.5)) is narrow


def frame(width: int, height: int) -> Picture:
    return Picture(b"x" * 32, np.zeros((height, width, 3), np.uint8))


@given(st.integers(20, 2000), st.integers(20, 2000), st.floats(0.2, 1))
def test_squares_are_square_in_pixels_cover_the_picture_and_lie_close(width: int, height: int, share: float) -> None:
    side, squares = share * min(width, height), squares_of("What is this?", frame(width, height), [share])
    if share == 1 and width == height:
        assert squares == ()
        return
    assert all((each.right - each.left) * width == pytest.approx(side) for each in squares)
    assert all((each.bottom - each.top) * height == pytest.approx(side) for each in squares)
    assert all(0 <= each.left < each.right <= 1 + 1e-9 and 0 <= each.top < each.bottom <= 1 + 1e-9 for each in squares)
    for starts, length, ends in (
        ({each.left for each in squares}, width, {each.right for each in squares}),
        ({each.top for each in squares}, height, {each.bottom for each in squares}),
    ):
        gaps = np.diff(sorted(start * length for start in starts))
        assert all(gaps <= 0.6 * side + 1e-6)
        assert len(starts) == 1 or (min(starts), max(ends)) == (0, pytest.approx(1))


def test_squares_of_several_sides_and_of_a_place() -> None:
    wide = frame(640, 480)
    assert len(squares_of("What is this?", wide, [2 / 3])) == 3 * 2
    assert len(squares_of("What is this?", wide, [2 / 3, 0.48])) == 3 * 2 + 4 * 3
    assert squares_of("What is this?", wide, []) == ()
    left = squares_of("What is the one on the left?", wide, [0.48])
    right = squares_of("What is the one on the right?", wide, [0.48])
    assert len(left) == len(right) == 2 * 3
    assert max(each.left for each in left) < min(each.left for each in right)
    assert len(squares_of("What is the one in the middle?", wide, [0.48])) == 2 * 3
    assert len(squares_of("What is this?", frame(480, 640), [2 / 3])) == 2 * 3
