"""Keypoints tell that a picture shows the very thing of another one, and do not tell so of other things."""

from __future__ import annotations

from hashlib import sha256

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import quizglass_server.knowledge.keypoints as module
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.knowledge.content.keypoints import frame_keypoints, same_places, stored_keypoints
from quizglass_server.knowledge.keypoints import EntryKeypoints
from tests.support.pictures.textures import bar_code, pasted, seen_from_the_side, texture

SHOWN = 8
"""Keypoints from which a bundle takes a thing as shown."""
BOOK, POSTER, TABLE = texture(1), texture(2), texture(3, 640, 480)


def shared(frame: RGB, stored: RGB) -> int:
    return len(same_places(frame_keypoints(frame), stored_keypoints(stored)))


@pytest.mark.parametrize(
    "frame",
    [BOOK, seen_from_the_side(BOOK), BOOK[40:, 60:], pasted(BOOK, TABLE, 0.7, 300, 200), np.rot90(BOOK).copy()],
    ids=["the same", "from the side, in poor light", "cut", "small among others", "turned"],
)
def test_the_same_thing_is_told_in_another_picture(frame: RGB) -> None:
    assert shared(frame, BOOK) >= SHOWN


@pytest.mark.parametrize("frame", [POSTER, TABLE, seen_from_the_side(POSTER)])
def test_another_thing_is_not(frame: RGB) -> None:
    assert shared(frame, BOOK) < SHOWN


def test_another_thing_at_the_same_place_is_not() -> None:
    here, there = (pasted(thing, TABLE, 0.95, 160, 120) for thing in (BOOK, POSTER))
    assert shared(there, here) < SHOWN
    assert shared(here, here) >= SHOWN


def test_bar_codes_are_not_each_others_though_some_of_their_bars_lie_alike() -> None:
    codes = [bar_code(seed) for seed in range(6)]
    frames, kept = [frame_keypoints(code) for code in codes], [stored_keypoints(code) for code in codes]
    counts = np.array([[len(same_places(frame, stored)) for stored in kept] for frame in frames])
    assert (counts >= SHOWN).tolist() == np.eye(len(codes), dtype=bool).tolist()


def test_a_thing_counts_by_many_keypoints_though_no_affine_map_accounts_for_most() -> None:
    height, width = BOOK.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    far = np.array([[0, 0], [0.85 * width, 0.3 * height], [0.85 * width, 0.7 * height], [0, height]], np.float32)
    frame = cv2.warpPerspective(BOOK, cv2.getPerspectiveTransform(corners, far), (width, height))
    assert shared(frame, BOOK) >= SHOWN


@pytest.mark.parametrize(
    "blank", [np.full((300, 300, 3), 90, np.uint8), np.zeros((4, 900, 3), np.uint8), np.zeros((1, 1, 3), np.uint8)]
)
def test_what_has_no_texture_or_is_tiny_has_none(blank: RGB) -> None:
    assert len(frame_keypoints(blank).places) == 0
    assert shared(blank, BOOK) == shared(BOOK, blank) == 0


@given(arrays(np.uint8, st.tuples(st.integers(1, 60), st.integers(1, 60), st.just(3))))
@settings(max_examples=60, deadline=None)
def test_any_pixels_can_be_compared_and_a_frames_places_are_its_own(pixels: RGB) -> None:
    frame = frame_keypoints(pixels)
    for stored in (stored_keypoints(pixels), stored_keypoints(BOOK)):
        places = same_places(frame, stored)
        assert len(set(places.tolist())) == len(places) <= min(len(frame.places), len(stored.places))
        assert all(0 <= place < len(frame.places) for place in places)


class Shelf:
    """Has the book."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    async def picture(self, digest: bytes) -> Picture | None:
        self.asked.append(digest)
        return Picture(digest, BOOK) if digest == of(BOOK) else None


def of(pixels: RGB) -> bytes:
    return sha256(pixels.tobytes()).digest()


async def test_those_of_an_entry_are_computed_once_while_they_are_kept() -> None:
    shelf = Shelf()
    kept = EntryKeypoints(shelf)
    first = await kept.of_entry(of(BOOK))
    assert first is not None
    assert await kept.of_entry(of(BOOK)) is first
    assert shelf.asked == [of(BOOK)]
    kept.let_go(1)
    assert await kept.of_entry(of(BOOK)) is not first


async def test_those_of_a_frame_are_kept_apart_for_each_owner() -> None:
    kept = EntryKeypoints(Shelf())
    mine, yours = (Picture(of(BOOK), BOOK, owner) for owner in ("mine", "yours"))
    assert await kept.of_frame(mine) is await kept.of_frame(mine)
    assert await kept.of_frame(mine) is not await kept.of_frame(yours)


async def test_a_picture_that_is_stored_and_asked_about_has_those_of_a_frame_and_those_of_an_entry() -> None:
    kept, large = EntryKeypoints(Shelf()), Picture(of(BOOK), TABLE)
    frame, entry = await kept.of_frame(large), await kept.of_entry(of(BOOK))
    assert entry is not None
    assert (frame.size, entry.size) == ((480, 360), (320, 240))


async def test_an_entry_whose_picture_is_not_there_has_none() -> None:
    assert await EntryKeypoints(Shelf()).of_entry(of(POSTER)) is None


async def test_no_more_is_kept_than_its_share_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 100)
    kept = EntryKeypoints(Shelf())
    one = await kept.of_entry(of(BOOK))
    assert one is not None
    assert one.nbytes > 100
    assert await kept.of_entry(of(BOOK)) is not one


async def test_pictures_without_keypoints_count_as_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 8 << 10)
    kept = EntryKeypoints(Shelf())
    blanks = [np.full((40, 40, 3), level, np.uint8) for level in range(20)]
    first, *_ = [await kept.of_frame(Picture(of(blank), blank)) for blank in blanks]
    assert await kept.of_frame(Picture(of(blanks[0]), blanks[0])) is not first
