"""`quizglass knowledge import` asks before it guesses and before it deletes; `--sync` deletes what has gone alone."""

import asyncio
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quizglass_client import Client
from quizglass_client.cli import main
from quizglass_client.cli.intake.origins import FolderOrigin
from quizglass_client.cli.intake.syncing import Present, gone
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.errors import NotPermitted
from quizglass_server.knowledge.content.validation import checked_entry
from tests.support.client_runs import knowledge_command
from tests.support.rpc_fakes import FOUND, png


@pytest.fixture
def imported(stage, capsys):
    return partial(knowledge_command(stage.target, capsys), "import", "--no-compare")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "things"
    made.mkdir()
    for name, text in (("kettle.md", "It whistles."), ("pan.md", "It is black."), ("wok.md", "It is new.")):
        (made / name).write_text(text)
    return made


def typed(stage, answer: str, *words: object) -> tuple[int, str]:
    """The command in a process of its own on a terminal where a person types; its status, and all that is shown."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, "knowledge", "import", *words]
    with subprocess.Popen(list(map(str, command)), stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        shown = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        return process.wait(60), shown.decode()


def test_a_program_is_told_what_to_type_where_it_is_doubtful_what_pictures_show(stage, imported, folder: Path) -> None:
    (folder / "pan.md").unlink()
    (folder / "wok.md").unlink()
    for number in (2041, 2042):
        (folder / f"IMG_{number}.png").write_bytes(png(number % 100))
    status, told, err = imported(folder)
    err = err.replace("\n", " ")
    assert (status, told, stage.knowledge.entries) == (2, {}, {})
    assert "kettle.md takes IMG_2041.png and IMG_2042.png" in err
    assert f"quizglass knowledge import --yes {folder}" in err
    assert imported(folder, "--yes")[0] == 0
    assert len(stage.knowledge.pictures["kettle.md"]) == 2
    status, told, _ = imported(folder, "--no")
    assert (status, told["added"], len(told["refused"])) == (1, 1, 2)
    assert len(stage.knowledge.pictures["kettle.md"]) == 0


@pytest.mark.parametrize(("answer", "pictures", "status"), [("y", 2, 0), ("n", 0, 1), ("", 0, 1)])
def test_a_person_is_asked_what_pictures_show(stage, tmp_path: Path, answer: str, pictures: int, status: int) -> None:
    (tmp_path / "kettle.md").write_text("It whistles.")
    for number in (2041, 2042):
        (tmp_path / f"IMG_{number}.png").write_bytes(png(number % 100))
    ended, shown = typed(stage, answer, "--no-compare", tmp_path)
    assert "Is that right?" in shown
    assert (ended, len(stage.knowledge.pictures["kettle.md"])) == (status, pictures)


def test_what_has_gone_from_a_folder_is_deleted(stage, imported, folder: Path) -> None:
    assert imported(folder)[1]["added"] == 3
    (folder / "pan.md").unlink()
    (folder / "kettle.md").rename(folder / "red kettle.md")
    status, told, err = imported(folder, "--sync")
    assert (status, told["deleted"], len(stage.knowledge.entries)) == (1, [], 4)
    assert "Pan (pan.md) is not in " in err.replace("\n", " ")
    assert f"quizglass knowledge import --sync --yes {folder}" in err.replace("\n", " ")
    status, told, _ = imported(folder, "--sync", "--yes")
    assert (status, sorted(told["deleted"])) == (0, ["kettle.md", "pan.md"])
    assert (
        sorted(stage.knowledge.entries) == ["red-kettle.md-9ab1c8b7ce8c", "wok.md"] or len(stage.knowledge.entries) == 2
    )
    assert imported(folder, "--sync")[1]["deleted"] == []


@pytest.mark.parametrize(("answer", "left", "status"), [("y", 2, 0), ("no", 3, 1)])
def test_a_person_is_asked_before_anything_is_deleted(stage, folder: Path, answer: str, left: int, status: int) -> None:
    assert typed(stage, "", "--no-compare", folder)[0] == 0
    (folder / "pan.md").unlink()
    ended, shown = typed(stage, answer, "--no-compare", "--sync", folder)
    assert "Pan (pan.md) is not in" in shown
    assert "Delete 1 entry?" in shown
    assert (ended, len(stage.knowledge.entries)) == (status, left)


def test_nothing_is_deleted_that_did_not_come_from_this_folder(
    stage, imported, folder: Path, tmp_path: Path, capsys
) -> None:
    other = tmp_path / "others"
    other.mkdir()
    (other / "spoon.md").write_text("It is bent.")
    assert (imported(other)[0], imported(folder)[0]) == (0, 0)
    assert main(["--server", stage.target, "knowledge", "add", "--id", "own", "--title", "Own"]) == 0
    assert (
        main(["--server", stage.target, "knowledge", "add", "--id", "pan.md", "--title", "Mine", "--source", "me"]) == 0
    )
    capsys.readouterr()
    for name in ("pan.md", "wok.md"):
        (folder / name).unlink()
    assert imported(folder, "--sync", "--yes")[1]["deleted"] == ["wok.md"]
    assert sorted(stage.knowledge.entries) == ["kettle.md", "own", "pan.md", "spoon.md"]


def test_a_folder_that_is_empty_may_not_be_mounted(stage, imported, folder: Path) -> None:
    imported(folder)
    for path in folder.iterdir():
        path.unlink()
    status, told, err = imported(folder, "--sync")
    assert (status, told["deleted"], len(stage.knowledge.entries)) == (1, [], 3)
    assert "is empty: if it is a disk or a share, it may not be mounted" in err.replace("\n", " ")
    assert imported(folder, "--sync", "--yes")[0] == 0
    assert stage.knowledge.entries == {}
    folder.rmdir()
    assert imported(folder, "--sync", "--yes")[0] == 2


def test_a_first_import_says_that_it_cannot_know_what_has_gone(imported, folder: Path) -> None:
    status, told, _ = imported(folder, "--sync")
    assert (status, told["deleted"], "is not known" in told["noted"][0]["message"]) == (0, [], True)
    assert "noted" not in imported(folder, "--sync")[1]


def test_what_lies_in_a_folder_that_cannot_be_read_has_not_gone(stage, folder: Path) -> None:
    (folder / "kitchen").mkdir()
    (folder / "kitchen" / "cup.md").write_text("It is chipped.")
    (folder / "kitchenware.md").write_text("All of it.")
    assert main(["--server", stage.target, "knowledge", "import", "--no-compare", str(folder)]) == 0
    origin = FolderOrigin.of(folder, stage.target)
    with Client(stage.target) as client:
        missing = gone(client, origin, Present({"pan.md"}), ["kitchen"])
    assert sorted(entry.id for entry in missing) == ["kettle.md", "kitchenware.md", "wok.md"]


def test_what_is_remembered_of_a_folder_may_be_anything(stage, imported, folder: Path) -> None:
    imported(folder)
    (folder / "pan.md").unlink()
    file = FolderOrigin.of(folder, stage.target).file
    assert file is not None
    for content in (b"", b"[]", b'{"entries": 5}', b"\xff"):
        file.write_bytes(content)
        status, told, _ = imported(folder, "--sync", "--yes")
        assert (status, told["deleted"]) == (0, [])


def test_a_text_that_is_refused_has_not_gone(stage, imported, folder: Path) -> None:
    imported(folder)
    (folder / "pan.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\xff")
    status, told, _ = imported(folder, "--sync", "--yes")
    assert (status, told["deleted"], len(told["refused"]), len(stage.knowledge.entries)) == (1, [], 1, 3)


def test_a_folder_of_entries_is_synced_by_its_lines(stage, imported, folder: Path) -> None:
    lines = ['{"id": "a", "title": "A"}\n', '{"id": "b", "title": "B", "source": "s"}\n']
    (folder / "entries.jsonl").write_text("".join(lines))
    imported(folder)
    (folder / "entries.jsonl").write_text(lines[0] + "{\n")
    assert imported(folder, "--sync", "--yes")[1]["deleted"] == []  # the bad line may be that entry
    (folder / "entries.jsonl").write_text(lines[0])
    assert imported(folder, "--sync", "--yes")[1]["deleted"] == ["b"]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(stage, imported, folder: Path, capsys) -> None:
    imported(folder)
    (folder / "pan.md").unlink()
    (folder / "IMG_2041.png").write_bytes(png())
    (folder / "cup.png").write_bytes(png(20))
    status, told, _ = imported(folder, "--sync", "--dry-run")
    assert status == 1
    assert {item["id"]: item["pictures"] for item in told["would_add"]}["cup.png"] == ["cup.png"]
    assert (told["would_delete"], "IMG_2041.png" in told["refused"][0]["message"]) == (["pan.md"], True)
    assert len(stage.knowledge.entries) == 3
    assert main(["--server", stage.target, "knowledge", "import", "--sync", "--dry-run", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "would add  Cup (cup.png)  cup.png\n" in out
    assert "would delete  Pan (pan.md)\n" in out


def test_only_folders_are_synced(imported, folder: Path) -> None:
    status, _, err = imported("--sync", folder / "pan.md")
    assert status == 2
    assert "--sync is for folders" in err


def test_several_files_are_imported_as_their_folder_has_them(stage, imported, tmp_path: Path) -> None:
    for name in ("kettle.png", "kettle 2.png", "cup.png", "cup-2.png", "IMG_2041.png"):
        (tmp_path / name).write_bytes(png())
    (tmp_path / "kettle.md").write_text("It whistles.")
    (tmp_path / "more.jsonl").write_text('{"id": "a", "title": "A"}\n')
    names = ("kettle.md", "kettle.png", "cup.png", "cup-2.png")
    assert imported(*(tmp_path / name for name in names))[0] == 0
    assert {id_: len(shown) for id_, shown in stage.knowledge.pictures.items()} == {"kettle.md": 2, "cup.png": 2}
    assert main(["--server", "127.0.0.1:1", "knowledge", "import", str(tmp_path / "IMG_2041.png")]) in (1, 3)


def test_a_hidden_file_that_is_named_is_imported(stage, imported, tmp_path: Path) -> None:
    for name in (".kettle.md", "pan.md"):
        (tmp_path / name).write_text("# A thing\n\nIt is hot.")
    assert imported(tmp_path / ".kettle.md")[0] == 0
    assert {id_: entry.title for id_, entry in stage.knowledge.entries.items()} == {".kettle.md": "A thing"}


def test_files_and_folders_are_imported_one_after_the_other(stage, folder: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "more.jsonl").write_text('{"id": "a", "title": "A"}\n{\n')
    report = tmp_path / "report.jsonl"
    words = [folder, "--no-compare", tmp_path / "more.jsonl", "--report", report]
    assert main(["--server", stage.target, "knowledge", "import", *map(str, words)]) == 1
    assert capsys.readouterr().out == "3 entries added, 0 refused\n1 entry added, 1 refused\n"
    assert "is not JSON" in report.read_text()
    assert main(["--server", stage.target, "knowledge", "import", *map(str, words), "--resume", str(report)]) == 2


def other_kettle(tmp_path: Path) -> Path:
    """A folder that has another "kettle.md"."""
    made = tmp_path / "others"
    made.mkdir()
    (made / "kettle.md").write_text("It is electric.")
    return made


def replaced(told: dict[str, Any]) -> list[tuple[str, str]]:
    return [(note["name"], note["message"]) for note in told.get("passed_over", [])]


def test_of_two_folders_with_a_file_of_one_name_the_entry_that_is_replaced_is_named(
    stage, imported, folder: Path, tmp_path: Path, capsys
) -> None:
    other = other_kettle(tmp_path)
    twice = "this id is there more than once: the entry from {} replaced that from {}"
    assert imported(folder)[0] == 0
    status, told, _ = imported(other)
    assert (status, replaced(told)) == (1, [("kettle.md", twice.format(other, folder))])
    assert "electric" in stage.knowledge.entries["kettle.md"].text
    words = ["import", "--no-compare", str(folder), str(other)]
    assert main(["--server", stage.target, "knowledge", *words]) == 1
    shown = capsys.readouterr().err.replace("\n", " ")
    assert shown.count(f"kettle.md: passed over: {twice.format(other, folder)}") == 1
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("id,title\nx,X\n")
    assert main(["--server", stage.target, "knowledge", "import", *map(str, files)]) == 1
    assert f"x: passed over: {twice.format(files[1], files[0])}" in capsys.readouterr().err.replace("\n", " ")


def test_what_another_folder_has_brought_since_is_not_deleted(stage, imported, folder: Path, tmp_path: Path) -> None:
    other = other_kettle(tmp_path)
    for each in (other, folder):
        imported(each)
    (other / "kettle.md").unlink()
    assert imported(other, "--sync", "--yes")[1]["deleted"] == []
    assert stage.knowledge.entries["kettle.md"].text == "It whistles."
    (folder / "kettle.md").unlink()
    assert imported(folder, "--sync", "--yes")[1]["deleted"] == ["kettle.md"]


def test_a_folder_that_was_moved_or_copied_replaces_its_own_entries(stage, imported, folder: Path) -> None:
    imported(folder)
    moved = folder.rename(folder.with_name("moved"))
    (moved / "kettle.md").write_text("It is electric.")
    assert imported(moved)[0] == 0
    shutil.copytree(moved, folder)
    assert imported(folder)[0] == 0
    assert len(stage.knowledge.entries) == 3


def test_lines_with_ids_of_their_own_replace_those_of_another_folder(stage, imported, tmp_path: Path) -> None:
    for name in ("before", "edited"):
        (tmp_path / name).mkdir()
        lines = ({"id": "a", "title": name}, {"id": "b", "title": name, "source": "https://example.org/b"})
        (tmp_path / name / "entries.jsonl").write_text("\n".join(map(json.dumps, lines)))
        assert imported(tmp_path / name)[:1] == (0,)
    assert [entry.title for entry in stage.knowledge.entries.values()] == ["edited", "edited"]


@pytest.mark.parametrize("name", ["red  kettle.md", "red\tkettle.md", "red\x7fkettle.md"])
def test_what_has_gone_is_deleted_whatever_its_name_was(stage, imported, folder: Path, name: str) -> None:
    (folder / name).write_text("It whistles.")
    assert imported(folder)[1]["added"] == 4
    entries = stage.knowledge.entries
    for entry in list(entries.values()):  # as a store keeps them
        entries[entry.id] = checked_entry(PicturedEntry(entry)).entry
    (folder / name).unlink()
    status, told, _ = imported(folder, "--sync", "--yes")
    assert (status, len(told["deleted"]), sorted(entries)) == (0, 1, ["kettle.md", "pan.md", "wok.md"])


@pytest.mark.parametrize(
    ("name", "pair"), [("balu 2024", ("'balu'", "'balu 2024'")), ("more/balu", ("(balu.md)", "(more/balu.md)"))]
)
def test_pictures_are_not_compared_with_those_that_go_in_the_same_sync(
    stage, folder: Path, capsys, name: str, pair: tuple[str, str]
) -> None:
    (folder / "balu.md").write_text("Balu is a dog.")
    (folder / "balu.png").write_bytes(png())

    async def search(text, picture, limit, options, more):
        """Every entry with a picture looks the same."""
        alike = [entry for entry in stage.knowledge.entries.values() if entry.picture_sha256]
        return [replace(FOUND, entry_id=entry.id, title=entry.title, search_score=0.9) for entry in alike]

    stage.assistant.search = search
    command = ["--server", stage.target, "knowledge", "import", str(folder)]
    assert main(command) == 0
    for ending in ("md", "png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"balu.{ending}").rename(folder / f"{name}.{ending}")
    assert main([*command, "--sync", "--no"]) == 1
    err = capsys.readouterr().err  # it stays
    assert "look alike" in err
    assert all(each.casefold() in err.casefold() for each in pair)
    assert main([*command, "--sync", "--yes"]) == 0
    out, err = capsys.readouterr()
    assert "1 entry deleted" in out
    assert "look alike" not in err


@pytest.mark.parametrize("resume", [False, True])
def test_an_import_that_is_interrupted_says_what_is_stored(stage, tmp_path: Path, resume: bool) -> None:
    lines, reached = tmp_path / "many.jsonl", threading.Event()
    lines.write_text("".join(json.dumps({"id": f"e{number}", "title": "t"}) + "\n" for number in range(150)))

    async def hold() -> None:
        if len(stage.knowledge.entries) == 100:
            reached.set()
            await asyncio.Event().wait()  # until the client has gone

    stage.knowledge.before = hold
    words = ["knowledge", "import", str(lines), *(["--resume", str(tmp_path / "memory")] if resume else [])]
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert reached.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    again = "after these" if resume else "and takes these again; with --resume FILE after them"
    assert f"interrupted: at least 64 of 150 entries are stored; the same command goes on {again}" in err
    assert "Traceback" not in err
    stage.knowledge.before = None
    assert main(["--server", stage.target, *words]) == 0
    assert len(stage.knowledge.entries) == 150


def test_what_the_server_has_just_so_is_not_sent_again(stage, imported, tmp_path: Path) -> None:
    things = tmp_path / "things"
    things.mkdir()
    for side, name in enumerate(("kettle", "pan", "pot"), 20):
        (things / f"{name}.md").write_text(f"---\nbought: 2018\n---\n# {name}\n\n\tIt is a {name}. \r\n\n")
        (things / f"{name}.png").write_bytes(png(side))
    assert imported(things, "--compare")[1]["new"] == 3
    before, searched = list(stage.knowledge.batches), len(stage.assistant.searches)
    status, told, _ = imported(things, "--compare")
    assert (status, told["added"], told["unchanged"]) == (0, 3, 3)
    assert (stage.knowledge.batches, len(stage.assistant.searches)) == (before, searched), "nothing is sent"
    (things / "pan.png").write_bytes(png(30))
    (things / "pot.md").write_text("# pot\n\nIt is large.\n")
    status, told, _ = imported(things)
    assert (status, told["new"], told["changed"], told["unchanged"]) == (0, 0, 2, 1)
    assert stage.knowledge.batches == [*before, 2]
    status, told, _ = imported(things, "--send-all")
    assert (status, told["unchanged"], stage.knowledge.batches[-1]) == (0, 3, 3)


def test_an_entry_that_was_replaced_on_the_way_is_sent(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(20))
    lines = [{"id": "a", "title": "A", "text": text, "pictures": ["a.png"]} for text in ("One.", "Two.")]
    (tmp_path / "entries.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for _ in range(2):
        imported(tmp_path)
        assert stage.knowledge.entries["a"].text == "Two."


def test_a_token_that_may_not_list_sends_all(stage, imported, folder: Path, monkeypatch) -> None:
    imported(folder)

    async def refuse(after: str, limit: int) -> None:
        raise NotPermitted("phone", ["read"])

    monkeypatch.setattr(stage.knowledge, "list", refuse)
    status, told, _ = imported(folder)
    assert (status, told["unchanged"]) == (0, 3)


def test_what_an_import_changed_is_counted(stage, imported, folder: Path, capsys) -> None:
    status, told, _ = imported(folder)
    assert (status, told["added"], told["new"], told["changed"], told["unchanged"]) == (0, 3, 3, 0, 0)
    (folder / "pan.md").write_text("It is blue.")
    (folder / "pot.md").write_text("It is large.")
    status, told, _ = imported(folder, "--sync")
    assert (status, told["added"], told["new"], told["changed"], told["unchanged"]) == (0, 4, 1, 1, 2)
    command = ["--server", stage.target, "knowledge", "import", "--no-compare", str(folder)]
    assert main(command) == 0
    assert capsys.readouterr().out == "0 entries added, 0 changed, 4 unchanged, 0 refused\n"
    for text, says in (("It is a car.", "added a"), ("It is red.", "changed a"), ("It is red.", "unchanged: a")):
        assert main([*command[:3], "add", "--id", "a", "--title", "A", "--text", text]) == 0
        assert capsys.readouterr().out == f"{says}\n"
