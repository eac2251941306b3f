"""`quizglass knowledge verify, repair, snapshot, restore` on files, some of them while a server writes on."""

import asyncio
import errno
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from quizglass_client.cli import main
from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked
from quizglass_server.knowledge import __main__ as command
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.repair import backup
from quizglass_server.knowledge.repair.backup import restore, snapshot
from quizglass_server.knowledge.repair.inspection import inspect
from tests.support.knowledge.fakes import GRAPHS_EARLY, open_base, pictured, query_text, stream
from tests.support.knowledge.killing import killed_at


async def filled(directory: Path, count: int = 60) -> None:
    base = await open_base(directory, options=GRAPHS_EARLY)
    await base.add(stream(pictured(f"e{n}", text=f"Text {n}.", pictures=[b"%d" % n]) for n in range(count)))
    await base.settle()
    await base.close()


def files(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


async def ids(directory: Path) -> set[str]:
    base = await open_base(directory, options=GRAPHS_EARLY)
    found = {entry.id for entry in await base.list("", 10_000)}
    await base.close()
    return found


def flip(path: Path, words: bytes) -> None:
    """Flip one stored bit."""
    content = bytearray(path.read_bytes())
    content[content.index(words)] ^= 1
    path.write_bytes(content)


async def test_a_snapshot_taken_while_writing_is_of_one_moment(tmp_path: Path) -> None:
    base = await open_base(tmp_path / "store", options=GRAPHS_EARLY)
    await base.add(stream([pictured("e0", text="Text 0.")]))
    stop = asyncio.Event()

    async def write() -> int:
        number = 1
        while not stop.is_set():
            await base.add(stream(pictured(f"e{n}", text=f"Text {n}.") for n in (number, number + 1)))
            number += 2
        return number

    writing = asyncio.create_task(write())
    states = [await asyncio.to_thread(snapshot, tmp_path / "store", tmp_path / f"copy{n}") for n in range(3)]
    stop.set()
    await writing
    await base.close()
    assert [state.count % 2 for state in states] == [1, 1, 1], "entries come two a commit"
    for number, state in enumerate(states):
        assert inspect(tmp_path / f"copy{number}") == []
        assert await ids(tmp_path / f"copy{number}") == {f"e{n}" for n in range(state.count)}


async def test_a_snapshot_is_restored_and_the_store_before_kept(tmp_path: Path) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    await filled(store)
    snapshot(store, copy)
    graphs = sorted(path.name for path in (copy / "graphs").iterdir())
    assert graphs == sorted(path.name for path in (store / "graphs").iterdir())
    base = await open_base(store, options=GRAPHS_EARLY)
    await base.add(stream([pictured("later", text="Later.")]))
    with pytest.raises(KnowledgeLocked):
        restore(copy, store)
    await base.close()
    kept = restore(copy, store)
    assert kept == store / "before-restore-1"
    assert await ids(store) == {f"e{n}" for n in range(60)}
    assert "later" in await ids(kept)
    assert restore(copy, tmp_path / "new") is None
    assert len(await ids(tmp_path / "new")) == 60


async def test_what_only_the_servers_user_could_read_is_so_when_it_is_restored(tmp_path: Path) -> None:
    store, put_back = tmp_path / "store", tmp_path / "put back"
    for directory in (store, put_back):  # whose own permissions are the operator's, and the files' those of the server
        directory.mkdir(mode=0o755)
    await filled(store)
    snapshot(store, tmp_path / "copy")
    (tmp_path / "copy" / FILE).chmod(0o644)  # as snapshots once were
    restore(tmp_path / "copy", put_back)
    for directory in (store, put_back, tmp_path / "copy" / "graphs"):
        assert [path.name for path in directory.iterdir() if path.stat().st_mode & 0o077] == []


def test_a_directory_that_is_no_store_is_not_repaired_and_nothing_is_left_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    assert command.main(["repair", str(tmp_path)]) == 4
    told = f"{tmp_path}: {FILE} is missing or empty: nothing can be repaired; name the directory of a knowledge store"
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("step", range(20))
async def test_a_restoration_that_is_killed_leaves_no_empty_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    await filled(store, 9)
    snapshot(store, copy)
    await filled(store, 11)
    calls = ((Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (shutil, "copyfile"))
    with killed_at(step, calls, monkeypatch):
        restore(copy, store)
    if any("restore a snapshot" in defect.message for defect in inspect(store)):
        restore(copy, store)
    assert len(await ids(store)) in (9, 11)


async def test_a_damaged_snapshot_is_not_restored(tmp_path: Path) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    await filled(store)
    snapshot(store, copy)
    flip(copy / FILE, b"Text 30.")
    with pytest.raises(KnowledgeFailed, match="not whole, nothing was changed"):
        restore(copy, store)
    with pytest.raises(KnowledgeFailed, match="not empty"):
        snapshot(store, copy)
    with pytest.raises(KnowledgeFailed, match="has no knowledge"):
        snapshot(tmp_path / "nowhere", tmp_path / "copy2")
    assert len(await ids(store)) == 60


async def test_what_was_copied_is_what_has_to_be_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    await filled(store)
    snapshot(store, copy)
    copied = shutil.copyfile

    def while_it_changes(source: Path, target: Path) -> None:  # as a server that runs on the source might
        copied(source, target)
        if target.name == FILE:
            flip(target, b"Text 30.")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", while_it_changes)
        with pytest.raises(KnowledgeFailed, match=f"{copy} is not whole, nothing was changed"):
            restore(copy, store)
    assert len(await ids(store)) == 60


async def test_a_snapshot_that_may_only_be_read_becomes_a_store_that_can_be_written(tmp_path: Path) -> None:
    await filled(tmp_path / "store")
    snapshot(tmp_path / "store", tmp_path / "copy")
    (tmp_path / "copy" / "more").mkdir()
    for path in [*(tmp_path / "copy").rglob("*"), tmp_path / "copy"]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    restore(tmp_path / "copy", tmp_path / "new")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()}
    assert modes == {FILE: 0o600, "marker": 0o600, "lock": 0o600, "graphs": 0o700} | dict.fromkeys(
        modes.keys() & {f"{FILE}-wal"}, 0o600
    )
    assert len(await ids(tmp_path / "new")) == 60


def test_a_directory_that_is_none_is_not_called_read_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for place in ("nowhere", "file"):
        assert command.main(["repair", str(tmp_path / place)]) == 4
        assert f"{tmp_path / place}: it is no directory, or does not exist" in capsys.readouterr().err


async def test_a_snapshot_takes_no_files_from_elsewhere(tmp_path: Path) -> None:
    store = tmp_path / "store"
    await filled(store)
    (store / "private").write_text("not the store's")
    with closing(sqlite3.connect(store / FILE)) as connection, connection:
        connection.execute("UPDATE graphs SET file = '../private' WHERE kind = 'catalog'")
    snapshot(store, tmp_path / "copy")
    assert not (tmp_path / "copy" / "private").exists()
    assert {path.name.split("-")[0] for path in (tmp_path / "copy" / "graphs").iterdir()} == {"chunks", "pictures"}
    assert len(await ids(store)) == len(await ids(tmp_path / "copy")) == 60


async def test_no_snapshot_replaces_a_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    await filled(tmp_path / "store")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert command.main(["snapshot", str(tmp_path / "store"), "."]) == 4
    assert "give a directory that does not exist yet" in capsys.readouterr().err


async def test_a_copy_that_fails_leaves_nothing_that_takes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    await filled(store)
    snapshot(store, copy)
    before = files(tmp_path)

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(backup, "sync", full)
        with pytest.raises(KnowledgeFailed, match="the disk is full"):
            snapshot(store, tmp_path / "other")
        with pytest.raises(KnowledgeFailed, match="the disk is full"):
            restore(copy, store)
    assert files(tmp_path) == before
    assert len(await ids(store)) == 60


async def test_the_commands_say_what_they_did(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store, copy = str(tmp_path / "store"), str(tmp_path / "copy")
    await filled(tmp_path / "store")

    def said(*arguments: str) -> tuple[int, dict]:
        status = command.main([*arguments, "--json"])
        return status, json.loads(capfd.readouterr().out)

    assert said("verify", store) == (0, {"directory": store, "damaged": [], "rebuilt by itself": []})
    assert said("snapshot", store, copy)[1]["entries"] == 60
    os.truncate(tmp_path / "store" / FILE, (tmp_path / "store" / FILE).stat().st_size - 4096)
    status, report = said("verify", store)
    assert (status, len(report["damaged"])) == (1, 1)
    status, report = said("repair", store)
    assert status == 1
    assert 0 < report["entries kept"] < 60
    assert report["entries kept"] + len(report["lost"]) + report["lost without a name"] >= 60
    assert said("verify", store)[0] == 0
    assert said("restore", copy, store) == (0, {"directory": store, "the files before": f"{store}/before-restore-1"})
    assert len(await ids(tmp_path / "store")) == 60
    assert command.main(["snapshot", store, copy]) == 4
    assert "not empty" in capfd.readouterr().err


async def test_paths_of_something_else_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    await filled(tmp_path / "store", 3)
    file, odd = tmp_path / "file", tmp_path / "odd"
    file.write_text("no folder")
    (odd / FILE).mkdir(parents=True)
    for words in (["snapshot", tmp_path / "store", file], ["repair", odd], ["restore", tmp_path / "store", file]):
        assert command.main(list(map(str, words))) == 4
        assert capfd.readouterr().err.startswith("quizglass knowledge: ")
    assert command.main(["verify", str(odd)]) == 1


@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            4,
            "quizglass knowledge: snapshot: No space left on device\n",
        ),
    ],
)
def test_an_interruption_has_no_traceback_and_a_failure_without_a_file_names_the_command(
    failure: BaseException, status: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise failure

    monkeypatch.setattr(command, "snapshot", fails)
    assert command.main(["snapshot", "store", "copy"]) == status
    assert capsys.readouterr().err == said


def test_what_is_copied_and_put_back_is_logged_with_its_user(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "store", 2))
    done = []
    for words in (
        ["snapshot", tmp_path / "store", tmp_path / "copy"],
        ["restore", tmp_path / "copy", tmp_path / "new"],
    ):
        run = [sys.executable, "-m", "quizglass_server.knowledge", *map(str, words), "--json"]
        done.append(json.loads(subprocess.run(run, capture_output=True, check=True, text=True).stderr))
    assert [(line["message"], line["user"], line.get("count")) for line in done] == [
        ("snapshot made", pwd.getpwuid(os.geteuid()).pw_name, 2),
        ("snapshot restored", pwd.getpwuid(os.geteuid()).pw_name, None),
    ]


def test_what_is_copied_put_back_and_repaired_is_in_the_audit_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(filled(tmp_path / "store", 2))
    store, copy, audit = str(tmp_path / "store"), str(tmp_path / "copy"), tmp_path / "audit.jsonl"
    monkeypatch.setenv("QUIZGLASS_AUDIT_LOG", str(audit))
    assert main(["knowledge", "snapshot", store, copy]) == 0
    assert main(["knowledge", "snapshot", store, copy]) == 1, "it is there"
    assert main(["knowledge", "restore", copy, store]) == 0
    assert main(["knowledge", "repair", store]) == 0
    assert main(["knowledge", "verify", store]) == 0
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert {(line["peer"], line["user"]) for line in lines} == {("command line", user)}
    assert [(line["command"], line["message"], line.get("count"), line.get("code")) for line in lines] == [
        ("knowledge snapshot", "snapshot made", 2, None),
        ("knowledge snapshot", "change failed", None, "KNOWLEDGE_FAILED"),
        ("knowledge restore", "snapshot restored", None, None),
        ("knowledge repair", "store repaired", 2, None),
    ]
    assert "Text" not in audit.read_text()


def test_a_command_on_files_finds_the_audit_log_by_the_servers_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(filled(tmp_path / "store", 2))
    config = tmp_path / "quizglass.toml"
    config.write_text(f'audit_log = "{tmp_path / "audit.jsonl"}"\n')
    snapshot = ["snapshot", str(tmp_path / "store"), str(tmp_path / "copy")]
    assert command.main([*snapshot, "--config", str(config), "--audit-log", str(tmp_path / "no" / "file")]) == 4
    assert "audit_log:" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()
    assert command.main([*snapshot, "--config", str(config)]) == 0
    assert json.loads((tmp_path / "audit.jsonl").read_text())["message"] == "snapshot made"


async def test_the_client_command_runs_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tmp_path / "store", 3)
    monkeypatch.setenv("QUIZGLASS_SERVER", "http://no-address")  # no server is called
    assert await asyncio.to_thread(main, ["knowledge", "verify", str(tmp_path / "store")]) == 0
    assert "damaged: nothing" in capfd.readouterr().out
    flip(tmp_path / "store" / FILE, b"Text 1.")
    assert await asyncio.to_thread(main, ["knowledge", "verify", str(tmp_path / "store"), "--json"]) == 1
    assert json.loads(capfd.readouterr().out)["damaged"]


async def test_a_search_after_restoring_is_answered_from_the_snapshots_indexes(tmp_path: Path, caplog) -> None:
    await filled(tmp_path / "store")
    snapshot(tmp_path / "store", tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "new")
    base = await open_base(tmp_path / "new", options=GRAPHS_EARLY)
    assert "not used" not in caplog.text
    assert (await base.search_texts(await query_text("e7: Text 7."), 1))[0].entry.id == "e7"
    await base.close()
