"""Of candidates, the entries count whose things a picture shows, by keypoints."""

from __future__ import annotations

import asyncio
import threading
from hashlib import sha256

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import quizglass_server.steps.lookup.spatial as module
from quizglass.values import Entry
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.knowledge.content.keypoints import Keypoints, frame_keypoints, same_places, stored_keypoints
from quizglass_server.knowledge.keypoints import EntryKeypoints
from quizglass_server.steps.lookup.spatial import match_places
from tests.support.pictures.textures import pasted, texture

BOOK, POSTER, MAP, TABLE = texture(1), texture(2), texture(4), texture(3, 640, 480)
LEAST = 8


class Shelf:
    """Has the pictures of all entries."""

    def __init__(self, *pictures: RGB) -> None:
        self.pictures = {of(pixels): pixels for pixels in pictures}

    async def picture(self, digest: bytes) -> Picture | None:
        pixels = self.pictures.get(digest)
        return None if pixels is None else Picture(digest, pixels)


def of(pixels: RGB) -> bytes:
    return sha256(pixels.tobytes()).digest()


def hit(name: str, *pictures: RGB) -> EntryHit:
    return EntryHit(Entry(name, name.title(), "", picture_sha256=tuple(map(of, pictures))), 0.3)


async def shown(frame: RGB, hits: list[EntryHit], *pictures: RGB) -> list[str]:
    source = EntryKeypoints(Shelf(*pictures))
    return [each.entry.id for each in await match_places(source, Picture(of(frame), frame), hits, LEAST)]


async def test_what_a_picture_shows_is_found_whatever_else_it_is_like() -> None:
    frame = pasted(BOOK, TABLE, 0.7, 40, 30)
    hits = [hit("map", MAP), hit("poster", POSTER), hit("book", BOOK)]
    assert await shown(frame, hits, BOOK, POSTER, MAP) == ["book"]


async def test_several_things_are_found_the_clearest_first() -> None:
    frame = pasted(POSTER, pasted(BOOK, TABLE, 0.5, 10, 10), 1.0, 300, 200)
    assert await shown(frame, [hit("book", BOOK), hit("poster", POSTER)], BOOK, POSTER) == ["poster", "book"]


async def test_any_of_the_first_pictures_of_an_entry_will_do() -> None:
    assert await shown(BOOK, [hit("book", POSTER, BOOK)], BOOK, POSTER) == ["book"]


async def test_entries_with_one_picture_are_all_found() -> None:
    """Their texts distinguish them later, so the second one must not be lost."""
    sent_anew = cv2.imdecode(cv2.imencode(".jpg", BOOK, [cv2.IMWRITE_JPEG_QUALITY, 75])[1], cv2.IMREAD_COLOR)
    hits = [hit("first", BOOK), hit("second", BOOK), hit("third", sent_anew)]
    assert await shown(BOOK, hits, BOOK, sent_anew) == ["first", "second", "third"]


async def test_a_keypoint_counts_for_one_entry_of_those_that_share_a_place() -> None:
    """The poster lies on the table beside the book: of the frame the second has the table, and nothing else."""
    here, there = (pasted(thing, TABLE, 0.5, 240, 180) for thing in (BOOK, POSTER))
    frame, table = frame_keypoints(here), stored_keypoints(there)
    clearest = same_places(frame, stored_keypoints(here))
    assert len(clearest) > len(same_places(frame, table)) >= LEAST
    assert await shown(here, [hit("poster", there), hit("book", here)], here, there) == ["book"]


async def test_a_frame_without_keypoints_has_no_picture_of_the_store_read() -> None:
    class Unread(Shelf):
        async def picture(self, digest: bytes) -> Picture | None:
            raise AssertionError("it is of no use")

    blank = np.full((300, 300, 3), 90, np.uint8)
    assert await match_places(EntryKeypoints(Unread()), Picture(of(blank), blank), [hit("book", BOOK)], LEAST) == []


async def test_other_work_goes_on_while_pictures_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answered = threading.Event(), threading.Event()

    def slow(frame: Keypoints, stored: Keypoints) -> NDArray[np.intp]:
        begun.set()
        assert answered.wait(10)
        return same_places(frame, stored)

    monkeypatch.setattr(module, "same_places", slow)
    comparing = asyncio.create_task(shown(BOOK, [hit("book", BOOK)], BOOK))
    assert await asyncio.to_thread(begun.wait, 10)
    answered.set()
    assert await comparing == ["book"]


async def test_entries_without_a_picture_that_can_be_shown_are_none() -> None:
    assert await shown(BOOK, [hit("words"), hit("gone", POSTER)], BOOK) == []
