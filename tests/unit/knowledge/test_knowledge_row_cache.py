"""Rows that are kept in memory: the same as those in the database, and gone with it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Entry, Filter, SearchMode
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.knowledge.content.records import Hit, VectorKind
from quizglass_server.knowledge.database.row_cache import RowCache
from quizglass_server.knowledge.index.index import places
from quizglass_server.observe import caches
from tests.support.knowledge.fakes import open_base, pictured, query_picture, query_text, stream

KEYWORDS = SearchOptions(mode=SearchMode.KEYWORDS)


def hit(number: int, text: str = "") -> Hit:
    return Hit(number, Entry(f"e{number}", "Title"), text, 0)


def test_the_rows_found_last_stay() -> None:
    rows = RowCache(most_bytes=4_000)
    for number in range(3):
        rows.keep(VectorKind.CHUNKS, {number: hit(number)}, rows.removals)
    assert rows.found(VectorKind.CHUNKS, [0, 7]) == {0: hit(0)}
    rows.keep(VectorKind.CHUNKS, {3: hit(3, "x" * 900)}, rows.removals)
    assert set(rows.found(VectorKind.CHUNKS, range(9))) == {0, 2, 3}
    assert rows.found(VectorKind.PICTURES, range(9)) == {}


@pytest.fixture
def room_for_a_million() -> Iterator[None]:
    """Rows of all stores have a million bytes."""
    caches.limit(1_666_667)
    yield
    caches.limit(caches.SEARCH_BYTES)


@pytest.mark.usefixtures("room_for_a_million")
def test_stores_share_the_bound_and_the_fullest_lets_go() -> None:
    large, small = RowCache(), RowCache()
    small.keep(VectorKind.CHUNKS, {0: hit(0, "x" * 50_000)}, small.removals)
    for number in range(40):
        large.keep(VectorKind.CHUNKS, {number: hit(number, "x" * 50_000)}, large.removals)
    assert set(small.found(VectorKind.CHUNKS, [0])) == {0}
    kept = large.found(VectorKind.CHUNKS, range(40))
    assert max(kept) == 39, "the newest stay"
    assert large.held_bytes + small.held_bytes <= 1_000_000


@pytest.mark.usefixtures("room_for_a_million")
def test_a_smaller_bound_holds_for_what_is_kept_already() -> None:
    rows = RowCache()
    rows.keep(VectorKind.CHUNKS, {number: hit(number, "x" * 50_000) for number in range(10)}, rows.removals)
    before = rows.held_bytes
    caches.limit(200_000)
    assert rows.held_bytes < before
    assert caches.held()["rows"] <= 120_000, "with those of every other store"
    caches.limit(0)
    rows.keep(VectorKind.CHUNKS, {11: hit(11)}, rows.removals)
    assert rows.held_bytes == 0


@pytest.mark.parametrize("letter", "aあ😀")
def test_the_bound_is_of_bytes_whatever_the_script(letter: str) -> None:
    rows = RowCache(most_bytes=1_000_000)
    for number in range(40):
        rows.keep(VectorKind.CHUNKS, {number: hit(number, letter * 50_000)}, rows.removals)
    kept = rows.found(VectorKind.CHUNKS, range(40))
    assert 500_000 < sum(sys.getsizeof(row.text) for row in kept.values()) <= 1_000_000


async def test_answers_that_hold_long_entries_are_kept_up_to_a_bound_of_bytes(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    text = " ".join(f"w{number:05}" for number in range(28_500))
    await base.add(stream(pictured(f"e{number}", text=text) for number in range(9)))
    for number in range(64):
        assert len(await base.search_texts(await query_text(f"q{number}"), 9)) == 9
    assert 8 < len(base._answers) <= 32 * 1024 * 1024 // (9 * len(text))
    short = SearchOptions(entries=("nothing",))
    for number in range(300):
        await base.search_texts(await query_text(f"q{number}"), 9, "", short)
    assert len(base._answers) <= 256
    await base.close()


def test_what_was_removed_is_not_kept_by_who_read_it_before() -> None:
    rows = RowCache()
    before = rows.removals
    rows.forget(VectorKind.CHUNKS, [5])
    rows.keep(VectorKind.CHUNKS, {5: hit(5), 6: hit(6)}, before)
    assert rows.found(VectorKind.CHUNKS, [5, 6]) == {}
    rows.keep(VectorKind.CHUNKS, {6: hit(6)}, rows.removals)
    rows.forget(VectorKind.CHUNKS, [6])
    assert rows.found(VectorKind.CHUNKS, [6]) == {}


def test_what_expires_is_read_each_time() -> None:
    rows = RowCache()
    rows.keep(VectorKind.CHUNKS, {1: Hit(1, Entry("e", "Title", expires_after=9), "", 0)}, rows.removals)
    assert rows.found(VectorKind.CHUNKS, [1]) == {}


async def test_rows_kept_as_written_are_those_read_back(tmp_path: Path) -> None:
    facts = {"b": "2", "a": "1"}
    made = [pictured(f"e{n}", text=f"Text {n}.", attributes=facts, pictures=[b"%d" % n]) for n in (1, 2)]
    answers = []
    base = await open_base(tmp_path)
    await base.add(stream(made))
    for _ in range(2):
        texts = await base.search_texts(await query_text("e1: Text 1."), 9, "Text 1")
        answers.append((texts, await base.search_crops([await query_picture(b"2")], 9)))
        await base.close()
        base = await open_base(tmp_path)
    assert answers[0] == answers[1]
    assert list(answers[1][0][0].entry.attributes) == ["b", "a"]
    await base.close()


async def test_words_without_an_encoder_pass_over_what_is_gone_and_heed_the_filter(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream(pictured(f"e{n}", text="Some velvet.", kind=("car", "bird")[n % 2]) for n in range(4)))
    await base.close()
    base = await open_base(tmp_path, text_encoder=None)
    await base.delete("e1")
    found = [hit.entry.id for hit in await base.search_texts(None, 9, "velvet", KEYWORDS)]
    assert found == ["e0", "e2", "e3"]
    birds = SearchOptions(Filter(kinds=("bird",)), SearchMode.KEYWORDS)
    assert [hit.entry.id for hit in await base.search_texts(None, 9, "velvet", birds)] == ["e3"]
    await base.close()


@given(st.sets(st.integers(0, 50)), st.sets(st.integers(0, 50)))
def test_places_are_those_of_the_labels_that_are_there(there: set[int], wanted: set[int]) -> None:
    ascending, asked = np.array(sorted(there), np.int64), np.array(sorted(wanted), np.int64)
    at, known = places(ascending, asked)
    assert set(asked[known].tolist()) == there & wanted
    assert ascending[at].tolist() == asked[known].tolist()
