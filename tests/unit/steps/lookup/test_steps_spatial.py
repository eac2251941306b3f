"""Of candidates, the entries count whose things a picture shows, by keypoints."""

from __future__ import annotations

from hashlib import sha256

from quizglass.values import Entry
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import RGB, Picture
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


async def test_a_keypoint_counts_for_one_entry() -> None:
    """Two entries with one picture: the second has nothing of its own to show for."""
    assert await shown(BOOK, [hit("first", BOOK), hit("second", BOOK)], BOOK) == ["first"]


async def test_entries_without_a_picture_that_can_be_shown_are_none() -> None:
    assert await shown(BOOK, [hit("words"), hit("gone", POSTER)], BOOK) == []
