"""Searches hold up no other call, and imports do not hold up searches."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from quizglass.values import SearchMode
from quizglass_server.decoding.markup.converter import Converter
from quizglass_server.domain.entries import PicturedEntry, SearchOptions
from quizglass_server.knowledge.content.records import EntryDraft, Replacements
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.writer import DatabaseWriter
from quizglass_server.knowledge.index.idle_window import IdleWindow
from quizglass_server.knowledge.ingest.drafts import Ingest
from quizglass_server.knowledge.search.finder import Finder
from tests.support.knowledge.fakes import (
    FakeImageEncoder,
    FakeTextEncoder,
    fake_decoding,
    open_base,
    pictured,
    query_picture,
    query_text,
    stream,
)

VECTORS = SearchOptions(mode=SearchMode.VECTORS)


async def test_the_event_loop_goes_on_while_a_search_takes_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("e1", text="Some text.")]))
    begun, may_end = asyncio.Event(), threading.Event()
    loop, texts = asyncio.get_running_loop(), Finder.texts

    def slow(*arguments: object) -> object:
        loop.call_soon_threadsafe(begun.set)
        assert may_end.wait(30), "the event loop was blocked"
        return texts(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Finder, "texts", slow)
    search = asyncio.create_task(base.search_texts(await query_text("e1: Some text."), 1))
    await begun.wait()
    assert not search.done()
    assert (await base.get("e1")).id == "e1", "another reader answers meanwhile"
    may_end.set()
    assert (await search)[0].entry.id == "e1"
    await base.close()


async def test_no_file_is_touched_on_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def recorded(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: object, **named: object) -> object:
            threads.add(threading.get_ident())
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    for owner, name in (
        (DatabaseReader, "__init__"),
        (DatabaseReader, "hits"),
        (DatabaseReader, "entry"),
        (DatabaseReader, "page"),
        (DatabaseWriter, "run"),
    ):
        recorded(owner, name)
    base = await open_base(tmp_path)
    await base.add(stream(pictured(f"e{n}", text="Text.", pictures=[b"%d" % n]) for n in range(3)))
    await base.close()
    base = await open_base(tmp_path)
    await base.search_texts(await query_text("e1: Text."), 3, "text")
    await base.search_crops([await query_picture(b"1")], 3)
    await base.get("e1")
    await base.list("", 9)
    await base.delete("e1")
    await base.compact()
    await base.close()
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(("busy", "commits"), [(False, [128, 72]), (True, [32] * 6 + [8])])
async def test_an_import_commits_less_at_a_time_during_searches(busy: bool, commits: list[int]) -> None:
    seen: list[int] = []

    async def commit(drafts: list[EntryDraft]) -> Replacements:
        seen.append(len(drafts))
        return Replacements()

    ingest, idle_window = Ingest(FakeTextEncoder(), FakeImageEncoder(), fake_decoding, Converter()), IdleWindow()
    with idle_window.search() if busy else nullcontext():
        report = await ingest.all_of(stream(pictured(f"e{n}") for n in range(200)), commit, idle_window)
    assert (report.added, seen) == (200, commits)


async def test_searches_are_answered_between_the_commits_of_an_import(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("known", text="Known.")]))
    query, grown, searches = await query_text("known: Known."), asyncio.Event(), 0

    async def entries() -> AsyncIterator[PicturedEntry]:
        for n in range(200):
            if n == 130:  # a commit has as many at most
                await grown.wait()
            yield pictured(f"e{n}", text=f"Text {n}.")

    adding = asyncio.create_task(base.add(entries()))
    async with asyncio.timeout(120):
        while not adding.done():
            words = str(searches)  # another question each time, or it would be answered from memory
            assert (await base.search_texts(query, 1, words, VECTORS))[0].entry.id == "known"
            searches += 1
            if base.count() > 1:
                grown.set()  # a search has seen the import grow
    assert (await adding).added == 200
    assert base.count() == 201
    await base.close()
