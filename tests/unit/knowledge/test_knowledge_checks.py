"""Checksums, the marker, the store's clock: what makes damage visible."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.perceptual_hash import alike, perceptual_hash_of
from quizglass_server.knowledge.database.checksums import StoreState, label_digest, labels_sum, row_digest, signed
from quizglass_server.knowledge.database.clean_shutdown import FILE, CleanShutdownFlag, ShutdownRecord, read_flag
from quizglass_server.steady_clock import SteadyClock

NUMBERS = st.integers(1, 2**40)
COLUMNS = st.lists(st.one_of(st.integers(), st.text(max_size=8), st.binary(max_size=8)), max_size=6)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20))
def test_the_sum_over_many_labels_is_that_of_each(pairs: list[tuple[int, int]]) -> None:
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    assert labels_sum(found[:, 0], found[:, 1]) == signed(sum(label_digest(*pair) for pair in pairs))


@given(COLUMNS, COLUMNS)
def test_rows_that_differ_have_other_digests(one: list[object], other: list[object]) -> None:
    same = [(type(column), column) for column in one] == [(type(column), column) for column in other]
    assert (row_digest(one) == row_digest(other)) == same


def test_rows_of_two_stores_have_other_digests() -> None:
    assert row_digest(["a"], b"one") != row_digest(["a"], b"two")
    assert -(1 << 63) <= row_digest(["a"]) < 1 << 63


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=10))
def test_what_was_counted_in_and_out_leaves_nothing(digests: list[int]) -> None:
    state = StoreState("00")
    for digest in digests:
        state.add("rows", digest)
    for digest in reversed(digests):
        state.remove("rows", digest)
    assert state.sums == {}


def test_a_state_that_was_altered_is_not_believed() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE state (one INTEGER PRIMARY KEY, body TEXT, digest INTEGER)")
        with pytest.raises(KnowledgeFailed, match="file: its own state is damaged"):
            StoreState.load(connection, "file")
        StoreState("ab" * 16, sequence=7, sums={"rows": -3}).save(connection)
        assert StoreState.load(connection, "file") == StoreState("ab" * 16, sequence=7, sums={"rows": -3})
        connection.execute("UPDATE state SET body = replace(body, '7', '8')")
        with pytest.raises(KnowledgeFailed, match="repair"):
            StoreState.load(connection, "file")


def test_a_marker_says_what_was_written_or_nothing(tmp_path: Path) -> None:
    assert read_flag(tmp_path) is None
    flag = CleanShutdownFlag(tmp_path)
    for mark in (ShutdownRecord("a" * 32, 12345, closed=False), ShutdownRecord("a" * 32, 7, closed=True)):
        flag.write(mark)
        assert read_flag(tmp_path) == mark
    flag.close()
    content = (tmp_path / FILE).read_bytes()
    for bit in range(len(content) * 8):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / FILE).write_bytes(damaged)
        assert read_flag(tmp_path) is None
    (tmp_path / FILE).write_bytes(content[:-1])
    assert read_flag(tmp_path) is None


def test_a_clock_set_back_does_not_bring_time_back() -> None:
    assert SteadyClock(1000.0, wall=lambda: 10.0, counter=lambda: 5.0)() == 1000.0
    assert SteadyClock(1000.0, wall=lambda: 2000.0, counter=lambda: 5.0)() == 2000.0


def test_a_clock_that_jumps_while_the_server_runs_is_not_followed() -> None:
    wall, passed = [1000.0], [50.0]
    clock = SteadyClock(0.0, wall=lambda: wall[0], counter=lambda: passed[0])
    wall[0] += 1e9
    passed[0] += 3
    assert clock() == 1003.0


def test_looks_survive_what_copies_do_to_pictures() -> None:
    dice = np.random.default_rng(3)
    ramp = np.linspace(0, 255, 64)[None, :, None] * np.ones((64, 1, 3))
    waves = 127 + 120 * np.sin(np.arange(64) / 3)[:, None, None] * np.cos(np.arange(64) / 5)[None, :, None]
    one, other = ramp.astype(np.uint8), np.broadcast_to(waves, (64, 64, 3)).astype(np.uint8)
    noisy = np.clip(other.astype(int) + dice.integers(-4, 5, other.shape), 0, 255).astype(np.uint8)
    assert alike(perceptual_hash_of(other), perceptual_hash_of(noisy))
    assert alike(perceptual_hash_of(other), perceptual_hash_of(other[::2, ::2]))
    assert not alike(perceptual_hash_of(one), perceptual_hash_of(other))
    assert not alike(0, 0), "a look that is not known is like no other"
