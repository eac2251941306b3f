"""`quizglass knowledge import` of every kind of file, its resuming and reports; and `export`, which loses nothing."""

import bz2
import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from pillow_heif import register_heif_opener

from quizglass_client.cli import main
from quizglass_server import errors
from tests.support.client_runs import WIKI, knowledge_command
from tests.support.rpc_fakes import png


@pytest.fixture
def quizglass(stage, capsys):
    return knowledge_command(stage.target, capsys)


def test_csv(stage, quizglass, tmp_path: Path) -> None:
    (tmp_path / "front.png").write_bytes(png())
    with (tmp_path / "cars.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "title", "kind", "price", "pictures", "time"])
        rows.writerow(["a", "Velmora, the", "car", "45 crowns", "front.png", "5"])
        rows.writerow(["b", "Line\nbreak", "", "", "", ""])
        rows.writerow(["c", "short row"])
        rows.writerow(["d", "time", "", "", "", "soon"])
    status, report, _ = quizglass("import", tmp_path / "cars.csv")
    assert (status, report["added"]) == (1, 2)
    assert [(item["line"], item["message"]) for item in report["refused"]] == [
        (5, "has more or fewer cells than the header"),
        (6, "time: must be seconds since 1970, or a date and time as 2024-05-01 12:00:00"),
    ]
    first = stage.knowledge.entries["a"]
    assert (first.title, first.kind, first.attributes, first.time) == ("Velmora, the", "car", {"price": "45 crowns"}, 5)
    assert stage.knowledge.pictures["a"] == (png(),)
    assert stage.knowledge.entries["b"].attributes == {}


def test_a_csv_file_without_ids_is_refused_as_a_whole(quizglass, tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("name,title\nx,y\n")
    status, _, err = quizglass("import", tmp_path / "some.csv")
    assert (status, "no column 'id'" in err) == (2, True)


def test_parquet(stage, quizglass, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table(
        {
            "id": ["a", "b"],
            "title": ["A", "B"],
            "doors": [4, None],
            "attributes": pyarrow.array([[("colour", "red")], None], pyarrow.map_(pyarrow.string(), pyarrow.string())),
            "pictures": [[png(), png(32)], None],
        }
    )
    parquet.write_table(table, tmp_path / "cars.parquet")
    assert quizglass("import", tmp_path / "cars.parquet")[:2] == (
        0,
        {"file": str(tmp_path / "cars.parquet"), "added": 2, "refused": [], "new": 2, "changed": 0, "unchanged": 0},
    )
    assert stage.knowledge.entries["a"].attributes == {"doors": "4", "colour": "red"}
    assert stage.knowledge.pictures["a"] == (png(), png(32))
    (tmp_path / "bad.parquet").write_bytes(b"not parquet")
    assert main(["knowledge", "import", str(tmp_path / "bad.parquet")]) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_a_wiki(stage, quizglass, tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("mwparserfromhell")
    path = tmp_path / ("dump.xml.bz2" if packed else "dump.xml")
    path.write_bytes(bz2.compress(WIKI.encode()) if packed else WIKI.encode())
    status, report, _ = quizglass("import", path)
    assert (status, report["added"]) == (0, 1)
    entry = stage.knowledge.entries["wiki/en.example.org/12"]
    assert (entry.title, entry.kind, entry.language, entry.time) == ("Velmora", "automobile", "en", 1_000_000_000)
    assert entry.attributes == {"name": "Velmora", "maker": "Tandex", "price": "45 crowns"}
    assert entry.source == "https://en.example.org/wiki/Velmora"
    assert entry.text == "The Velmora is a car.\n\nHistory\n\nBegun in c. 1974 & sold."


def test_a_wiki_that_breaks_off_is_read_as_far_as_it_goes(stage, quizglass, tmp_path: Path) -> None:
    pytest.importorskip("mwparserfromhell")
    (tmp_path / "dump.xml").write_text(WIKI[: WIKI.index("<page><title>Talk")])
    status, report, _ = quizglass("import", tmp_path / "dump.xml")
    assert (status, report["added"], report["refused"][0]["line"]) == (1, 1, 3)
    assert "cannot be read further" in report["refused"][0]["message"]


def test_a_folder_of_documents(stage, quizglass, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "cars").mkdir(parents=True)
    (folder / "cars" / "velmora one.md").write_text("# The *Velmora*\n\nA car.\n")
    (folder / "cars" / "velmora one.png").write_bytes(png())
    (folder / "page.html").write_text("<html><title>A &amp; B</title><p>Text</p></html>")
    (folder / "some_notes.txt").write_text("Just words.")
    (folder / "bad.txt").write_bytes(b"\xff\xfe\xff")
    status, report, _ = quizglass("import", folder)
    assert (status, report["added"]) == (1, 3)
    assert (
        report["refused"][0]["message"]
        == "bad.txt: is not UTF-8, nor the UTF-16 that its first bytes announce; save it as UTF-8"
    )
    entries = stage.knowledge.entries
    assert {id: (e.title, e.text_format) for id, e in entries.items()} == {
        "cars/velmora-one.md-590e7ffa34a4": ("The Velmora", "markdown"),
        "page.html": ("A & B", "html"),
        "some_notes.txt": ("Some notes", ""),
    }
    assert stage.knowledge.pictures["cars/velmora-one.md-590e7ffa34a4"] == (png(),)


def test_a_folder_from_a_phone(stage, quizglass, tmp_path: Path) -> None:
    register_heif_opener()
    (tmp_path / "koala.md").write_text("# Koala\n\nIt eats leaves.\n")
    Image.new("RGB", (64, 48), "grey").save(tmp_path / "koala.heic")
    (tmp_path / "koala 2.png").write_bytes(png())
    (tmp_path / "panda.png").write_bytes(png(20))
    (tmp_path / "Camera").mkdir()
    (tmp_path / "Camera" / "IMG_2041.png").write_bytes(png())
    status, report, _ = quizglass("import", tmp_path)
    assert (status, report["added"], len(report["refused"])) == (1, 2, 1)
    assert "IMG_2041.md" in report["refused"][0]["message"]
    titles = {id: (entry.title, len(stage.knowledge.pictures[id])) for id, entry in stage.knowledge.entries.items()}
    assert titles == {"koala.md": ("Koala", 2), "panda.png": ("Panda", 1)}
    assert all(picture.startswith(b"\xff\xd8\xff") for picture in stage.knowledge.pictures["koala.md"][:1])


def test_pictures_that_cannot_be_distinguished_are_named(stage, quizglass, tmp_path: Path) -> None:
    (tmp_path / "koala.png").write_bytes(png(20))
    (tmp_path / "koala.md").write_text("An animal.")
    (tmp_path / "words.md").write_text("No picture.")
    status, report, _ = quizglass("import", tmp_path)  # of a server that always finds the Velmora
    assert status == 0
    assert [(pair["one"], pair["other"]) for pair in report["alike"]] == [("Koala", "Velmora")]
    assert "alike" not in quizglass("import", tmp_path, "--no-compare")[1]


def test_a_picture_of_an_entry_that_was_refused_is_like_no_other(stage, quizglass, tmp_path: Path) -> None:
    (tmp_path / "koala.png").write_bytes(png(20))
    (tmp_path / "koala 2.png").write_bytes(b"no picture")
    (tmp_path / "panda.png").write_bytes(png(40))
    status, report, _ = quizglass("import", tmp_path)  # of a server that always finds the Velmora
    assert (status, len(report["refused"])) == (1, 1)
    assert [pair["one"] for pair in report["alike"]] == ["Panda"]


def test_an_import_that_was_interrupted_goes_on(stage, quizglass, tmp_path: Path) -> None:
    path, memory = tmp_path / "many.jsonl", tmp_path / "memory.json"
    lines = [json.dumps({"id": f"e{n}", "title": "" if n == 3 else "t"}) for n in range(200)]
    lines.insert(70, "{")
    path.write_text("\n".join(lines))
    add, calls = stage.knowledge.add, []

    async def failing(entries):
        calls.append(1)
        if len(calls) == 3:
            raise errors.DiskFull("the disk is full")
        return await add(entries)

    stage.knowledge.add = failing
    assert main(["--server", stage.target, "knowledge", "import", str(path), "--resume", str(memory)]) == 1
    told = json.loads(memory.read_text())
    assert told["done"] == len(stage.knowledge.entries) + 2 == 129
    assert [item["line"] for item in told["refused"]] == [4, 71]
    report_file = tmp_path / "refused.jsonl"
    status, report, _ = quizglass("import", path, "--resume", memory, "--report", report_file)
    assert (status, report["added"], len(stage.knowledge.entries)) == (1, 72, 199)
    assert [item["line"] for item in report["refused"]] == [4, 71]
    assert [json.loads(line)["line"] for line in report_file.read_text().splitlines()] == [4, 71]
    assert json.loads(memory.read_text())["done"] == 201
    assert quizglass("import", path, "--resume", memory)[1]["added"] == 0
    path.write_text("\n".join(lines[:5]))
    status, _, err = quizglass("import", path, "--resume", memory)
    assert (status, "of another import" in err) == (2, True)


def test_an_import_that_could_not_remember_adds_nothing(stage, quizglass, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"id": "a", "title": "A"}')
    for option in ("--resume", "--report"):
        assert (
            main(["--server", stage.target, "knowledge", "import", str(path), option, str(tmp_path / "no" / "file")])
            == 1
        )
        assert stage.knowledge.entries == {}


def test_what_is_exported_can_be_imported_without_loss(stage, quizglass, tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(png())
    full = {
        "id": "a/b",
        "title": "Ä title",
        "kind": "car",
        "caption": "c",
        "text": "# Head\n\nLine\u2028two",
        "text_format": "markdown",
        "language": "de",
        "attributes": {"price": "45", "wide key": "ü"},
        "pictures": ["p.png"],
        "source": "s",
        "time": 7,
        "expires_after": 60,
    }
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (full, {"id": "z", "title": "Z"})))
    assert quizglass("import", tmp_path / "all.jsonl")[0] == 0
    before, pictures = dict(stage.knowledge.entries), dict(stage.knowledge.pictures)
    status, report, _ = quizglass("export", tmp_path / "out")
    assert (status, report["entries"], report["pictures"]) == (0, 2, 1)
    stage.knowledge.entries.clear()
    assert quizglass("import", tmp_path / "out")[0] == 0
    assert (stage.knowledge.entries, stage.knowledge.pictures) == (before, pictures)
    status, _, err = quizglass("export", tmp_path / "out")
    assert (status, "not empty" in err) == (2, True)


def test_an_export_goes_on_when_entries_are_deleted_or_replaced_meanwhile(stage, quizglass, tmp_path: Path) -> None:
    rows = [{"id": name, "title": name, "pictures": [f"{name}.png"]} for name in ("a", "b", "c")]
    for side, row in enumerate(rows, 16):
        (tmp_path / row["pictures"][0]).write_bytes(png(side))
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert quizglass("import", tmp_path / "e.jsonl")[0] == 0
    knowledge, read = stage.knowledge, stage.knowledge.picture

    async def changing(sha256):
        if sha256 in knowledge.entries["b"].picture_sha256:
            knowledge.entries["b"] = replace(knowledge.entries["b"], title="new", picture_sha256=())
            raise errors.NotFound("it is gone")
        if "c" in knowledge.entries and sha256 in knowledge.entries["c"].picture_sha256:
            del knowledge.entries["c"]
            raise errors.NotFound("it is gone")
        return await read(sha256)

    knowledge.picture = changing
    status, report, _ = quizglass("export", tmp_path / "out")
    assert (status, report["entries"], report["pictures"]) == (0, 2, 1)
    written = [json.loads(line) for line in (tmp_path / "out" / "entries.jsonl").read_text().splitlines()]
    assert [(row["id"], row["title"]) for row in written] == [("a", "a"), ("b", "new")]
