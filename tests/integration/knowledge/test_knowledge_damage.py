"""Damaged files, killed processes and unfriendly directories: refused or mended, never silently wrong."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from bench.knowledge import damage
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.repair import swapping
from quizglass_server.knowledge.repair.inspection import inspect
from quizglass_server.knowledge.repair.salvage import salvage
from tests.support.knowledge.fakes import GRAPHS_EARLY, open_base, pictured, query_picture, query_text, stream
from tests.support.knowledge.killing import killed_at

ROOT = Path(__file__).parents[3]


def test_files_damaged_in_every_way_are_refused_or_mended() -> None:
    verdicts = damage.run(8, seed=20)
    assert verdicts.bad == []
    assert verdicts.outcomes["right"] > 10
    assert verdicts.outcomes["refused"] > 5


def test_nothing_acknowledged_to_many_streams_is_lost_under_kill_9(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.knowledge.kill", "--kills", "10", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    report = json.loads(done.stdout)
    assert (done.returncode, report["lost"], report["kills"]) == (0, 0, 10), report
    assert report["under load"] > 0
    assert report["acknowledged"] > 0


async def filled(directory: Path, count: int = 60) -> None:
    base = await open_base(directory, options=GRAPHS_EARLY)
    await base.add(stream(pictured(f"e{n}", text=f"Text {n}.", pictures=[b"%d" % n]) for n in range(count)))
    await base.settle()
    await base.close()


def changed(directory: Path, statement: str) -> None:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        connection.execute(statement)
        connection.commit()


ALTERATIONS = {
    "text": "UPDATE entries SET text = 'Another.' WHERE id = 'e7'",
    "vector": "UPDATE chunks SET vector = zeroblob(64) WHERE label = 8",
    "picture": "UPDATE picture_files SET encoded = x'00' WHERE rowid = 8",
    "row gone": "DELETE FROM chunks WHERE label = 8",
    "id": "UPDATE entries SET id = 'e777' WHERE id = 'e7'",
}


@pytest.mark.parametrize("alteration", ALTERATIONS)
async def test_rows_that_were_altered_are_found_and_mended(tmp_path: Path, alteration: str) -> None:
    await filled(tmp_path)
    assert inspect(tmp_path) == []
    changed(tmp_path, ALTERATIONS[alteration])
    assert [defect.in_database for defect in inspect(tmp_path)] != []
    report = salvage(tmp_path)
    assert (report.kept_as / FILE).exists()
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    await base.settle()
    lost = {"text": ["e7"], "id": ["e7"]}.get(alteration, [])
    assert {entry.id for entry in await base.list("", 100)} == {f"e{n}" for n in range(60)} - set(lost)
    assert len(report.lost) == (alteration in ("text", "id", "picture"))
    if not lost:
        (hit,) = await base.search_texts(await query_text("e7: Text 7."), 1)
        assert (hit.entry.id, hit.text) == ("e7", "Text 7.")
    found = await base.search_crops([await query_picture(b"7")], 1)
    assert (found[0].entry.id == "e7") == (alteration not in ("text", "id", "picture"))
    await base.close()
    assert inspect(tmp_path) == []


async def test_a_log_that_lost_commits_is_refused_until_the_loss_is_accepted(tmp_path: Path) -> None:
    working, crashed = tmp_path / "working", tmp_path / "crashed"
    base = await open_base(working)
    for number in range(5):
        await base.add(stream([pictured(f"e{number}", text="Text.")]))
    shutil.copytree(working, crashed)
    await base.close()
    log = crashed / f"{FILE}-wal"
    content = log.read_bytes()
    log.write_bytes(content[:-100])
    with pytest.raises(KnowledgeFailed, match="last 1 acknowledged commits are missing"):
        await open_base(crashed)
    assert log.read_bytes() == content[:-100], "refusing changes nothing"
    assert salvage(crashed).doubts == ["the last 1 acknowledged commits are missing"]
    base = await open_base(crashed)
    assert [entry.id for entry in await base.list("", 9)] == ["e0", "e1", "e2", "e3"]
    await base.close()


@pytest.mark.parametrize("again", ["repair", "start"])
@pytest.mark.parametrize("step", range(8))
async def test_a_repair_that_is_killed_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, again: str
) -> None:
    working, crashed = tmp_path / "working", tmp_path / "crashed"
    base = await open_base(working)
    await base.add(stream([pictured("a", text="Text.")]))
    await base.compact()
    await base.add(stream([pictured("b", text="Text.")]))  # in the log alone
    shutil.copytree(working, crashed)
    await base.close()
    (crashed / "marker").unlink()  # nothing tells of commits that are missing
    calls = ((os, "link"), (Path, "replace"), (Path, "unlink"), (Path, "rmdir"))
    with monkeypatch.context() as patch:
        patch.setattr(swapping, "_put_back", lambda *_: None)  # which a killed process does not come to
        with killed_at(step, calls, patch):
            salvage(crashed)
    if again == "repair":
        assert salvage(crashed).lost == []
    base = await open_base(crashed)
    assert [entry.id for entry in await base.list("", 9)] == ["a", "b"]
    await base.close()
    assert inspect(crashed) == []


async def test_an_emptied_truth_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    await filled(tmp_path, 3)
    for damaged in (lambda: os.truncate(tmp_path / FILE, 0), (tmp_path / FILE).unlink):
        damaged()
        with pytest.raises(KnowledgeFailed, match="missing or empty"):
            await open_base(tmp_path)
        with pytest.raises(KnowledgeFailed, match="nothing can be repaired"):
            salvage(tmp_path)


async def test_a_log_without_its_database_is_replayed_into_no_other(tmp_path: Path) -> None:
    working, crashed = tmp_path / "working", tmp_path / "crashed"
    base = await open_base(working)
    await base.add(stream(pictured(f"e{number}", text="Text. " * 200) for number in range(50)))
    await base.compact()  # the log is empty now
    await base.add(stream([pictured("later", text="Text.")]))
    shutil.copytree(working, crashed)
    await base.close()
    (crashed / FILE).unlink()
    with pytest.raises(KnowledgeFailed, match=f"held 2 commits; .* delete marker and {FILE}-wal"):
        await open_base(crashed)
    (crashed / "marker").unlink()
    with pytest.raises(KnowledgeFailed, match=f"its write-ahead log is there; .* delete {FILE}-wal"):
        await open_base(crashed)
    (crashed / f"{FILE}-wal").unlink()
    base = await open_base(crashed)
    assert (base.count(), await base.list("", 9)) == (0, [])
    await base.close()
    assert inspect(crashed) == []


async def test_a_table_that_lacks_rows_of_its_index_is_refused_at_the_start(tmp_path: Path) -> None:
    await filled(tmp_path, 3)
    hidden = "WHERE type = 'index' AND tbl_name = 'chunks'"
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        indexes = connection.execute(f"SELECT * FROM sqlite_master {hidden}").fetchall()
        connection.execute(f"DELETE FROM sqlite_master {hidden}")
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("DELETE FROM chunks")
        connection.execute("PRAGMA writable_schema = ON")
        connection.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", indexes)
    with pytest.raises(KnowledgeFailed, match="table chunks lacks rows; it is damaged"):
        await open_base(tmp_path)


def test_a_directory_that_may_not_be_written_is_refused_and_named() -> None:
    """In a process of its own, which gives up the right to write everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "knowledge"
        directory.mkdir()
        for path, mode in ((Path(folder), 0o755), (directory, 0o555)):
            path.chmod(mode)
        command = [
            sys.executable,
            "-m",
            "tests.support.knowledge.process",
            "open-unprivileged",
            str(directory),
            "0",
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
        directory.chmod(0o755)
    assert done.stdout.startswith("failed directory"), done.stderr
    assert "make the directory writable" in done.stdout


async def test_a_picture_that_its_index_has_lost_is_damage_and_not_unknown(tmp_path: Path) -> None:
    await filled(tmp_path, 9)
    path = tmp_path / FILE
    with closing(sqlite3.connect(path)) as connection:
        (key,) = connection.execute("SELECT sha256 FROM picture_files WHERE rowid = 8").fetchone()
    content = bytearray(path.read_bytes())
    at = [place for place in range(len(content)) if content.startswith(key, place)]
    outcomes = []
    for place in at:  # in the table, in indexes, in an entry's row
        content[place + 20] ^= 1
        path.write_bytes(content)
        content[place + 20] ^= 1
        try:
            base = await open_base(tmp_path, options=GRAPHS_EARLY)
        except KnowledgeFailed:
            outcomes.append("refused")
            continue
        try:
            outcomes.append((await base.picture(key)).decode())
        except KnowledgeFailed:
            outcomes.append("refused")
        finally:
            await base.close()
        (path.with_name("marker")).unlink()
    assert len(at) > 3
    assert set(outcomes) == {"7", "refused"}
