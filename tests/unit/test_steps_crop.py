"""Which part of the picture a question is about."""

import numpy as np
import pytest

from quizglass_server.steps.crop import crop, view_of


@pytest.mark.parametrize(
    ("question", "view"),
    [
        ("Who made the car on the left?", "left"),
        ("When was the leftmost thing made?", "left"),
        ("What is the left-hand boat called?", "left"),
        ("How old is the one to my RIGHT?", "right"),
        ("What does the right one cost?", "right"),
        ("Who made the thing in the middle?", "middle"),
        ("Who made the thing in the centre?", "middle"),
        ("What is at the center of the picture?", "middle"),
        ("What is on the far left of the shelf?", "left"),
        ("Who left this here?", "whole"),
        ("Is it right that this is old?", "whole"),
        ("How much time is left?", "whole"),
        ("What is the middle name of its founder?", "whole"),
        ("Is the one on the left older than the one on the right?", "whole"),
        ("What is this?", "whole"),
        ("", "whole"),
    ],
)
def test_position_words_pick_the_view(question: str, view: str) -> None:
    assert view_of(question) == view


@pytest.mark.parametrize(
    ("view", "columns"),
    [("whole", range(8)), ("left", range(4)), ("middle", range(2, 6)), ("right", range(4, 8))],
)
def test_views_are_halves_of_the_width(view: str, columns: range) -> None:
    pixels = np.broadcast_to(np.arange(8, dtype=np.uint8)[None, :, None], (3, 8, 3))
    assert crop(pixels, view)[0, :, 0].tolist() == list(columns)
    assert crop(pixels, view).shape[0] == 3


@pytest.mark.parametrize("view", ["left", "middle", "right"])
def test_a_picture_too_narrow_to_halve_stays_whole(view: str) -> None:
    assert crop(np.zeros((4, 1, 3), np.uint8), view).shape == (4, 1, 3)
