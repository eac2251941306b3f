"""Who may write a store's files, and the error where none can: locks, full disks, permissions."""

import asyncio
import errno
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from quizglass.values import SearchMode
from quizglass_server.config.settings import MemoryOptions
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked
from quizglass_server.knowledge.database import lock as locks
from quizglass_server.knowledge.database.lock import DirectoryLock
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.database.writer import DatabaseWriter
from quizglass_server.knowledge.memory import SightingMemory
from quizglass_server.knowledge.repair import salvage as salvages
from quizglass_server.knowledge.repair.inspection import inspect
from quizglass_server.knowledge.repair.salvage import salvage
from tests.support.knowledge.fakes import open_base, pictured, stream
from tests.support.knowledge.stores import add, another, on_small_disk

KEYWORDS = SearchOptions(mode=SearchMode.KEYWORDS)


async def test_a_lock_file_that_was_removed_lets_no_second_server_in(tmp_path: Path) -> None:
    with another("write", tmp_path, 0) as child:
        assert await asyncio.to_thread(child.stdout.readline) == "open\n"
        (tmp_path / "lock").unlink()
        with pytest.raises(KnowledgeLocked, match=str(tmp_path)):
            await open_base(tmp_path)
        assert (await asyncio.to_thread(child.stdout.readline)).startswith("add ")
    assert inspect(tmp_path) == []
    await add(tmp_path, "after")


async def test_nor_into_a_visual_memory(tmp_path: Path) -> None:
    with another("forget", tmp_path, module="memory_process") as child:
        assert await asyncio.to_thread(child.stdout.readline)
        (tmp_path / "lock").unlink()
        with pytest.raises(KnowledgeLocked):
            await SightingMemory.open(tmp_path, MemoryOptions(), text_encoder=None, image_encoder=None)


async def test_a_server_of_an_older_version_that_locks_the_file_alone_is_seen(tmp_path: Path) -> None:
    held = DirectoryLock(tmp_path)
    os.close(held._descriptors.pop(0))  # the directory's
    with pytest.raises(KnowledgeLocked, match=f"process {os.getpid()}"):
        DirectoryLock(tmp_path)
    held.close()
    DirectoryLock(tmp_path).close()


def test_where_no_directory_can_be_locked_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, directory = locks.fcntl.flock, tmp_path.stat().st_ino

    def unknown(descriptor, how):
        if os.fstat(descriptor).st_ino == directory:
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(descriptor, how)

    monkeypatch.setattr(locks.fcntl, "flock", unknown)
    held = DirectoryLock(tmp_path)
    with pytest.raises(KnowledgeLocked):
        DirectoryLock(tmp_path)
    held.close()


async def test_a_writer_that_is_not_alone_stops_instead_of_damaging_the_tables(tmp_path: Path) -> None:
    await add(tmp_path, "a")
    base = await open_base(tmp_path)
    other = DatabaseWriter(tmp_path / FILE)
    other.run([lambda writer: writer.delete(["a"])])
    with pytest.raises(KnowledgeFailed, match="another process has written it"):
        await base.add(stream([pictured("b", text="Text.")]))
    other.close()
    await base.close()
    assert inspect(tmp_path) == []
    await add(tmp_path, "c")


@contextmanager
def full_disk(tmp_path, *words):
    """A process whose directory is on a disk of its own, of 2 MiB."""
    with another("full", words[0], tmp_path, start=on_small_disk(tmp_path)) as child:
        yield child


@pytest.mark.parametrize("task", ["new", "existing", "repair"])
def test_a_full_disk_is_named(tmp_path: Path, task: str) -> None:
    with full_disk(tmp_path, task) as child:
        said = child.communicate(timeout=120)[0].splitlines()
    assert said[0].startswith("failed "), said
    assert "the disk is full" in said[0]
    assert said[1] == "left []"
    assert said[2] == "then 1"


def test_a_lock_file_that_cannot_hold_a_number_is_a_lock_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("/dev/full")
    held = DirectoryLock(tmp_path)
    with pytest.raises(KnowledgeLocked):
        DirectoryLock(tmp_path)
    held.close()


def test_a_repair_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch) -> None:
    asyncio.run(add(tmp_path, "a", "b"))
    before = [(tmp_path / name).read_bytes() for name in (FILE, "marker")]

    def failing(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for module, name in ((salvages, "_write"), (salvages, "swap"), (os, "link"), (Path, "replace")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, failing)
            with pytest.raises((KnowledgeFailed, OSError)):
                salvage(tmp_path)
        assert [(tmp_path / name).read_bytes() for name in (FILE, "marker")] == before
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(("salvage", "before"))]
    assert salvage(tmp_path).entries == 2


def test_a_store_that_may_not_be_written_says_so_at_once() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        asyncio.run(add(store, "a"))
        for path in (Path(folder), store, *store.rglob("*")):
            path.chmod(0o444 if path.name == FILE else 0o777)
        with another("read-only", store, 0) as child:
            said = child.communicate(timeout=60)[0].splitlines()
    assert said == [
        "WARNING the knowledge store can be searched and not written",
        "writable False",
        "found a",
        *[f"failed {FILE}: it is read-only; make it writable and restart the server"] * 3,
    ]


async def test_new_files_are_private_and_those_of_others_stay_as_they_are(tmp_path: Path) -> None:
    await add(tmp_path / "store", "a")
    store = tmp_path / "store"
    assert store.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in store.iterdir()} == {0}
    base = await open_base(store)
    assert {path.stat().st_mode & 0o077 for path in store.glob(f"{FILE}*")} == {0}
    await base.close()
    for path in (store, store / FILE):
        path.chmod(path.stat().st_mode | 0o044)
    await add(store, "b")
    salvage(store)
    assert (store.stat().st_mode & 0o777, (store / FILE).stat().st_mode & 0o777) == (0o744, 0o644)


async def test_a_refused_picture_is_numbered_as_it_was_sent(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    report = await base.add(stream([pictured("a", pictures=[b"same"] * 8 + [b"bad"])]))
    await base.close()
    assert [refused.field for refused in report.refused] == ["pictures[8]"]


async def test_long_markup_comes_through_the_import_and_is_found(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    text = "# Velmora\n\n" + "A sentence about it.\n\n" * 300
    report = await base.add(stream([pictured("a", text=text, text_format="markdown"), pictured("b", text="B.")]))
    assert (report.added, report.refused) == (2, [])
    assert (await base.search_texts(None, 1, "sentence about Velmora", KEYWORDS))[0].text.startswith(
        "Velmora:\nA sentence"
    )
    await base.close()
