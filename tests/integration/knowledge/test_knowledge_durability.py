"""What was acknowledged is there after `kill -9`; one process a directory; a write that fails was not acknowledged."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quizglass_server.errors import KnowledgeLocked, NotFound
from quizglass_server.knowledge.repair.backup import snapshot
from tests.support.knowledge.fakes import GRAPHS_EARLY, open_base, query_picture, query_text

ROOT = Path(__file__).parents[3]


@contextmanager
def process(task: str, directory: Path, number: int) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.support.knowledge.process", task, str(directory), str(number)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def acknowledged(lines: list[str]) -> tuple[int, set[str]]:
    """Entries that were added (by count) and those of them that were deleted."""
    added = max((int(line.split()[1]) for line in lines if line.startswith("add")), default=0)
    return added, {line.split()[1] for line in lines if line.startswith("delete")}


async def check(directory: Path, added: int, deleted: set[str]) -> int:
    """Everything acknowledged is in the store and found; how many entries of the stream the store got."""
    base = await open_base(directory, options=GRAPHS_EARLY)
    try:
        ids = {entry.id for entry in await base.list("", 100_000)}
        assert base.count() == len(ids)
        expected = {f"e{n}" for n in range(added)} - deleted
        # What came after the last acknowledgement may have been done too: more entries, or the delete of the last.
        assert expected - ids <= ({f"e{added - 1}"} if added % 5 == 0 else set())
        assert not ids & deleted
        for name in sorted(expected & ids)[::5]:
            hits = await base.search_texts(await query_text(f"{name}: Text of {name}."), 1)
            assert (hits[0].entry.id, hits[0].text) == (name, f"Text of {name}.")
            found = await base.search_crops([await query_picture(name[1:].encode())], 1)
            assert found[0].entry.id == name
        return max((int(name[1:]) for name in ids), default=0) + 1
    finally:
        await base.close()


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    added, deleted = 0, set[str]()
    for round_, kill_after in enumerate((1, 2, 9, 17, 40)):
        with process("write", tmp_path, added) as child:
            assert child.stdout is not None
            lines = [child.stdout.readline().strip() for _ in range(kill_after)]
            child.kill()
            lines += [line.strip() for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        assert lines[0] == "open", f"round {round_}: {lines}"
        now_added, now_deleted = acknowledged(lines)
        added, deleted = max(added, now_added), deleted | now_deleted
        added = max(added, asyncio.run(check(tmp_path, added, deleted)))
        # An unacknowledged delete of the last entry may have happened: count it as what it is.
        deleted |= asyncio.run(_absent(tmp_path, added))


async def _absent(directory: Path, added: int) -> set[str]:
    base = await open_base(directory, options=GRAPHS_EARLY)
    try:
        ids = {entry.id for entry in await base.list("", 100_000)}
        return {f"e{n}" for n in range(added)} - ids
    finally:
        await base.close()


async def test_a_second_process_is_refused_and_let_in_after_the_first_was_killed(tmp_path: Path) -> None:
    with process("write", tmp_path, 0) as child:
        assert child.stdout is not None
        assert await asyncio.to_thread(child.stdout.readline) == "open\n"
        with pytest.raises(KnowledgeLocked, match=re.escape(str(tmp_path))) as caught:
            await open_base(tmp_path)
        assert f"process {child.pid}" in caught.value.message
        child.kill()
        await asyncio.to_thread(child.wait)
        base = await open_base(tmp_path)
        with pytest.raises(NotFound):
            await base.get("never")
        await base.close()


def test_a_write_that_fails_is_not_acknowledged_and_the_store_goes_on(tmp_path: Path) -> None:
    with process("write-until-refused", tmp_path, 200_000) as child:
        output, _ = child.communicate(timeout=60)
    failed, found, added = output.splitlines()
    assert "knowledge.sqlite3" in failed
    match = re.fullmatch(r"found e0 of (\d+), acknowledged (\d+)", found)
    assert match is not None
    assert match[1] == match[2] != "0"
    assert added == f"add {int(match[2]) + 1}"
    assert asyncio.run(check(tmp_path, int(match[2]) + 1, set())) == int(match[2]) + 1


async def test_the_directories_of_a_new_store_are_on_the_disk_before_anything_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = set[Path]()

    def fsync(descriptor: int) -> None:
        synced.add(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    base = await open_base(tmp_path / "a" / "b" / "store")
    await base.close()
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "store"} <= synced
    synced.clear()
    await asyncio.to_thread(snapshot, tmp_path / "a" / "b" / "store", tmp_path / "copies" / "first")
    assert {tmp_path, tmp_path / "copies"} <= synced
