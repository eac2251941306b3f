"""What is said of a store's files before it is opened: of real files, and of processes that hold them."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked
from quizglass_server.knowledge.content.records import VectorKind
from quizglass_server.knowledge.database.lock import DirectoryLock
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.survey import StoreSurvey, check_openable, survey, vectors_of_others
from tests.support.knowledge.fakes import FakeImageEncoder, FakeTextEncoder, open_base, pictured, stream
from tests.support.knowledge.stores import add, another


def contents(directory: Path) -> dict[str, bytes]:
    """Of all files but the one that whoever reads a log that a process left has to write."""
    files = (path for path in directory.rglob("*") if path.is_file() and not path.name.endswith("-shm"))
    return {str(path): path.read_bytes() for path in files}


async def test_a_store_that_another_process_has_open_is_told_with_its_number_and_not_touched(tmp_path: Path) -> None:
    with another("write", tmp_path, 0) as child:
        assert await asyncio.to_thread(child.stdout.readline) == "open\n"
        for look in (survey, check_openable):
            with pytest.raises(KnowledgeLocked, match=f"{tmp_path} is in use by another server .process {child.pid}"):
                look(tmp_path)
        (tmp_path / "lock").unlink()
        with pytest.raises(KnowledgeLocked):
            survey(tmp_path)
        assert not (tmp_path / "lock").exists()
        while (await asyncio.to_thread(child.stdout.readline)) != "delete e14\n":
            pass
    before = contents(tmp_path)  # of a process that was killed: with its write-ahead log
    assert survey(tmp_path).entries > 0
    assert contents(tmp_path) == before


async def test_looking_makes_nothing_and_leaves_nothing_locked(tmp_path: Path) -> None:
    assert survey(tmp_path / "none") == StoreSurvey(0)
    assert not (tmp_path / "none").exists()
    await add(tmp_path / "store", "a", "b")
    before = contents(tmp_path / "store")
    assert survey(tmp_path / "store") == StoreSurvey(2)
    assert vectors_of_others(tmp_path / "store", FakeTextEncoder(), None) == {}
    assert contents(tmp_path / "store") == before
    assert not list((tmp_path / "store").glob("*-shm"))
    check_openable(tmp_path / "store")
    DirectoryLock(tmp_path / "store").close()


DAMAGE = {
    "half copied": (lambda path: os.truncate(path, path.stat().st_size // 2), "damaged"),
    "emptied": (lambda path: os.truncate(path, 0), "is missing or empty, but held 1 commits; restore a snapshot"),
    "gone": (Path.unlink, "is missing or empty, but held 1 commits; restore a snapshot"),
    "another file": (lambda path: path.write_bytes(b"no database " * 999), "it is not a knowledge store, or"),
    "of an earlier version": (lambda path: altered(path, "PRAGMA user_version = 1"), "use the server that wrote it"),
    "of a newer version": (lambda path: altered(path, "PRAGMA user_version = 3"), "use the server that wrote it"),
    "a row gone": (lambda path: altered(path, "DELETE FROM chunks WHERE label = 1"), "table chunks is damaged"),
}


def altered(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize("how", DAMAGE)
async def test_a_store_that_no_server_would_open_is_named_with_its_directory(tmp_path: Path, how: str) -> None:
    await add(tmp_path, "a", "b")
    damage, told = DAMAGE[how]
    damage(tmp_path / FILE)
    for look in (survey, check_openable):
        with pytest.raises(KnowledgeFailed, match=told) as refused:
            look(tmp_path)
        assert refused.value.message.startswith(f"directory {tmp_path}: {FILE}")
    with pytest.raises(KnowledgeFailed, match=f"^directory {tmp_path}: {FILE}"):
        await open_base(tmp_path)


async def test_a_repair_that_was_killed_is_not_taken_for_damage(tmp_path: Path) -> None:
    working, store = tmp_path / "working", tmp_path / "store"
    base = await open_base(working)
    await base.add(stream([pictured("a", text="Text.")]))
    shutil.copytree(working, store)  # as of a server that was killed: with commits in the log alone
    await base.close()
    kept = store / "before-repair-1"
    kept.mkdir()
    os.link(store / FILE, kept / FILE)
    (store / f"{FILE}-wal").rename(kept / f"{FILE}-wal")
    assert "repair was interrupted" in survey(store).mended
    check_openable(store)
    assert survey(store) == StoreSurvey(1)


async def test_vectors_of_other_encoders_are_counted(tmp_path: Path) -> None:
    text, image = FakeTextEncoder(), FakeImageEncoder()
    assert vectors_of_others(tmp_path, text, image) == {}
    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", text="Text.", pictures=[b"1", b"2"]), pictured("b", text="Text.")]))
    await base.close()
    assert vectors_of_others(tmp_path, text, image) == {}
    assert vectors_of_others(tmp_path, FakeTextEncoder("text-2"), image) == {VectorKind.CHUNKS: 2}
    assert vectors_of_others(tmp_path, text, FakeImageEncoder("image-2")) == {VectorKind.PICTURES: 2}
    assert vectors_of_others(tmp_path, None, None) == {VectorKind.CHUNKS: 2, VectorKind.PICTURES: 2}


def test_a_file_in_the_place_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "knowledge"):
        with pytest.raises(KnowledgeFailed, match=f"^directory {place}: there is a file in its place; name another"):
            check_openable(place)


def test_files_that_another_user_made_are_not_taken_for_a_directory_without_rights() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        asyncio.run(add(store, "a"))
        (store / "lock").chmod(0o400)
        for path in (Path(folder), store):
            path.chmod(0o777)
        with another("open-unprivileged", store, 0) as child:
            said = child.communicate(timeout=60)[0].splitlines()
    refused = f"failed directory {store}: this user may not write lock; chown the files there, which another user made"
    assert said == [refused] * 2
