"""Commits that several writers share, and stores of the version before."""

import asyncio
import threading
from pathlib import Path

import pytest

from quizglass_server.errors import KnowledgeFailed, NotFound
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.database.threads import StoreThreads
from quizglass_server.knowledge.database.writer import DatabaseWriter
from tests.support.knowledge.fakes import (
    open_base,
    pictured,
    query_text,
    stream,
)


@pytest.fixture
def store(tmp_path: Path):
    made = StoreThreads(tmp_path / FILE, lambda: 0.0)
    yield made
    made.close()


async def while_the_writer_is_busy(store: StoreThreads, writes: list) -> list:
    """Queue jobs behind one that waits, then let all of them go."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(_: DatabaseWriter) -> None:
        begun.set()
        go_on.wait()

    busy = asyncio.create_task(store.alone(wait))
    await asyncio.to_thread(begun.wait)
    tasks = [asyncio.create_task(store.write(*write)) for write in writes]
    await asyncio.sleep(0)
    go_on.set()
    await busy
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_writers_that_wait_share_a_commit(store: StoreThreads, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []
    run = DatabaseWriter.run

    def counted(writer: DatabaseWriter, jobs):
        groups.append(len(jobs))
        return run(writer, jobs)

    monkeypatch.setattr(DatabaseWriter, "run", counted)
    followed: list[int] = []
    writes = [((lambda writer, n=n: n), followed.append) for n in range(100)]
    assert await while_the_writer_is_busy(store, writes) == list(range(100))
    assert (groups, followed) == ([64, 36], list(range(100)))


async def test_a_job_that_fails_undoes_itself_alone(store: StoreThreads) -> None:
    def half(writer: DatabaseWriter) -> None:
        writer.put([draft("half")], {})
        raise NotFound("no")

    outcomes = await while_the_writer_is_busy(
        store,
        [
            (lambda writer: writer.put([draft("a")], {}).entries,),
            (half,),
            (lambda writer: writer.put([draft("b")], {}).entries,),
        ],
    )
    assert [type(outcome) for outcome in outcomes] == [int, NotFound, int]
    assert [entry.id for entry in await store.read(lambda reader: reader.page("", 9))] == ["a", "b"]
    assert (await store.read(DatabaseReader.state)).count == 2


async def test_a_commit_that_fails_fails_every_job(store: StoreThreads, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.write(lambda writer: writer.put([draft("a")], {}))

    def broken(writer: DatabaseWriter, jobs):
        raise KnowledgeFailed("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseWriter, "run", broken)
        outcomes = await while_the_writer_is_busy(store, [(lambda writer: 1,), (lambda writer: 2,)])
        assert [str(outcome) for outcome in outcomes] == ["the disk is full"] * 2
    await store.write(lambda writer: writer.put([draft("b")], {}))
    assert [entry.id for entry in await store.read(lambda reader: reader.page("", 9))] == ["a", "b"]


async def test_a_job_that_comes_as_the_store_closes_is_done_or_told_that_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreThreads(tmp_path / FILE, lambda: 0.0)
    submit, closing = store._writing.submit, threading.Thread(target=store.close)

    def just_before(*job):
        if not closing.ident:
            closing.start()
            closing.join(0.1)  # it ends only if it does not wait for the job that is being given
        return submit(*job)

    monkeypatch.setattr(store._writing, "submit", just_before)
    assert await store.write(lambda writer: writer.put([draft("a")], {}).entries) == 1
    await asyncio.to_thread(closing.join)
    with pytest.raises(KnowledgeFailed, match="closed"):
        await store.write(lambda writer: None)


def draft(name: str):
    from quizglass_server.knowledge.content.records import EntryDraft

    return EntryDraft(pictured(name).entry)


async def test_entries_of_concurrent_streams_are_all_there(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    adding = [base.add(stream([pictured(f"s{n}", text=f"Text {n}.")])) for n in range(80)]
    assert [report.added for report in await asyncio.gather(*adding)] == [1] * 80
    assert base.count() == 80
    hits = await base.search_texts(await query_text("s42: Text 42."), 1)
    assert hits[0].entry.id == "s42"
    await base.close()
