"""Snapshots of indexes on disk: where one cannot be written, the one before stays, and nothing else takes room."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.index.search_indexes import SearchIndexes
from quizglass_server.knowledge.repair.inspection import inspect
from tests.support.knowledge.fakes import GRAPHS_EARLY, open_base, pictured, query_text, stream


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writes beyond so many bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def saved(directory: Path) -> set[str]:
    return {path.name for path in (directory / "graphs").iterdir()}


@pytest.fixture
async def grown(tmp_path: Path):
    """A store whose snapshots are of 80 entries, and which has 16 more."""
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    for start, end in ((0, 80), (80, 96)):
        names = [str(number) for number in range(start, end)]
        await base.add(stream(pictured(name, text=f"Text {name}.", pictures=[name.encode()]) for name in names))
        await base.settle()
        if start == 0:
            await asyncio.to_thread(save, base._indexes)
    yield base
    await base.close()


def save(indexes: SearchIndexes) -> None:
    for indexer in indexes._indexers.values():
        indexer.save()
    indexes._catalog_sync.save()


async def test_of_a_snapshot_that_finds_no_room_nothing_stays(tmp_path: Path, grown, caplog) -> None:
    before = saved(tmp_path)
    assert len(before) == 3
    with files_of_at_most(2000):
        await asyncio.to_thread(save, grown._indexes)
    assert saved(tmp_path) == before
    assert caplog.text.count("could not be written") == 3
    assert inspect(tmp_path) == []
    await asyncio.to_thread(save, grown._indexes)
    assert len(saved(tmp_path) - before) == 3
    assert inspect(tmp_path) == []


async def test_nor_of_one_that_the_database_does_not_learn_of(tmp_path: Path, grown, monkeypatch) -> None:
    def full(*_):
        raise KnowledgeFailed("the disk is full")

    before = saved(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(grown._store, "write_and_wait", full)
        await asyncio.to_thread(save, grown._indexes)
    assert saved(tmp_path) == before
    await grown.close()
    again = await open_base(tmp_path, options=GRAPHS_EARLY)
    assert [hit.entry.id for hit in await again.search_texts(await query_text("95: Text 95."), 1)] == ["95"]
    await again.close()
