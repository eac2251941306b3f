"""Writes in the gaps between searches."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from quizglass_server.knowledge.index.idle_window import IdleWindow


def test_no_import_waits_without_searches() -> None:
    idle_window = IdleWindow(longest_s=3600.0)
    assert not idle_window.busy
    assert list(idle_window.between("abc")) == ["a", "b", "c"]


def test_searches_are_counted_even_if_they_fail() -> None:
    idle_window = IdleWindow()
    with idle_window.search():
        with pytest.raises(ValueError, match="wrong"), idle_window.search():
            raise ValueError("wrong")
        assert idle_window.busy
    assert not idle_window.busy


def test_a_write_waits_for_the_end_of_a_search() -> None:
    idle_window, written, begun = IdleWindow(longest_s=3600.0), list[str](), threading.Event()

    def entries() -> Iterator[str]:
        begun.set()
        yield from "abc"

    with idle_window.search():
        writing = threading.Thread(target=lambda: written.extend(idle_window.between(entries())))
        writing.start()
        assert begun.wait(60)
        assert not written
    writing.join()
    assert written == ["a", "b", "c"]


def test_a_write_goes_on_though_searches_follow_each_other() -> None:
    idle_window = IdleWindow(longest_s=0.0)
    with idle_window.search():
        assert list(idle_window.between("abc")) == ["a", "b", "c"]
