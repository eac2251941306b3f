"""Writes in the gaps between searches."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from quizglass_server.knowledge.index.idle_window import Gaps


def test_nobody_waits_while_nobody_searches() -> None:
    gaps = Gaps(longest_s=3600.0)
    assert not gaps.busy
    assert list(gaps.between("abc")) == ["a", "b", "c"]


def test_searches_are_counted_even_if_they_fail() -> None:
    gaps = Gaps()
    with gaps.search():
        with pytest.raises(ValueError, match="wrong"), gaps.search():
            raise ValueError("wrong")
        assert gaps.busy
    assert not gaps.busy


def test_a_write_waits_for_the_end_of_a_search() -> None:
    gaps, written, begun = Gaps(longest_s=3600.0), list[str](), threading.Event()

    def entries() -> Iterator[str]:
        begun.set()
        yield from "abc"

    with gaps.search():
        writing = threading.Thread(target=lambda: written.extend(gaps.between(entries())))
        writing.start()
        assert begun.wait(60)
        assert not written
    writing.join()
    assert written == ["a", "b", "c"]


def test_a_write_goes_on_though_searches_follow_each_other() -> None:
    gaps = Gaps(longest_s=0.0)
    with gaps.search():
        assert list(gaps.between("abc")) == ["a", "b", "c"]
