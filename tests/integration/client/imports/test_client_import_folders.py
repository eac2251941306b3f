"""`quizglass knowledge import` of folders as people have them: what arrives, what is said, and the exit status."""

from functools import partial
from pathlib import Path

import pytest

from quizglass_client.cli import main
from tests.support.client_runs import knowledge_command
from tests.support.rpc_fakes import png


@pytest.fixture
def imported(stage, capsys):
    return partial(knowledge_command(stage.target, capsys), "import")


def titles(stage) -> dict[str, str]:
    return {id_: entry.title for id_, entry in stage.knowledge.entries.items()}


def test_front_matter_becomes_title_and_attributes(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "Velmira.md").write_text(
        "---\ntitle: Velmira\naliases: [the red kettle]\n---\n\nThe Velmira costs 45 crowns.\n"
    )
    (tmp_path / "Korbane.md").write_bytes(
        b'---\r\ntitle: "The shop"\r\n---\r\n# Korbane\r\n\r\nIt costs 71 crowns.\r\n'
    )
    (tmp_path / "long.md").write_text(f"---\nabout: {'word ' * 200}\n---\nText.\n")
    (tmp_path / "bad.md").write_text("---\ntitle: [no YAML\n---\nText.\n")
    status, report, _ = imported(tmp_path)
    assert (status, report["added"]) == (0, 4)
    entries = stage.knowledge.entries
    assert titles(stage) == {"Velmira.md": "Velmira", "Korbane.md": "Korbane", "long.md": "Long", "bad.md": "Bad"}
    assert entries["Velmira.md"].attributes == {"aliases": "the red kettle"}
    assert entries["Velmira.md"].text.strip() == "The Velmira costs 45 crowns."
    assert entries["Korbane.md"].attributes == {"title": "The shop"}
    assert entries["long.md"].text.startswith("Text.\n\n\nabout: word word")
    assert entries["bad.md"].text.startswith("---\n")
    assert [note["name"] for note in report["noted"]] == ["bad.md"]


def test_encodings_are_read_as_declared_and_guesses_are_named(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes("<meta charset=Shift_JIS><h1>がっこう</h1><p>いく".encode("shift_jis"))
    (tmp_path / "b.xhtml").write_bytes("<?xml version='1.0' encoding='koi8-r'?><h1>Коала</h1><p>Лист".encode("koi8-r"))
    (tmp_path / "c.txt").write_text("Zürich", encoding="utf-16")
    (tmp_path / "d.md").write_text("# Zürich\n\nDas kostet 5 €.\n", encoding="cp1252")
    (tmp_path / "e.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\xff")
    status, report, _ = imported(tmp_path)
    assert (status, report["added"], [item["line"] for item in report["refused"]]) == (1, 4, [5])
    assert titles(stage) == {"a.html": "がっこう", "b.xhtml": "Коала", "c.txt": "C", "d.md": "Zürich"}
    assert stage.knowledge.entries["c.txt"].text == "Zürich"
    assert "5 €" in stage.knowledge.entries["d.md"].text
    assert [(note["name"], "Windows-1252" in note["message"]) for note in report["guessed"]] == [("d.md", True)]


def test_what_is_passed_over_is_named_and_the_status_tells(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "koala.md").write_text("# Koala\n\nIt eats leaves.\n")
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "script.html").write_text("<title>App</title><script>run()</script>")
    for name in ("Mu.pdf", "Nu.docx", "Xi"):
        (tmp_path / name).write_bytes(b"x")
    report_file = tmp_path.parent / "report.jsonl"
    status, report, _ = imported(tmp_path, "--report", report_file)
    assert (status, report["added"], report["refused"]) == (1, 1, [])
    assert [note["name"] for note in report["passed_over"]] == ["Mu.pdf", "Nu.docx", "Xi", "empty.md", "script.html"]
    assert report["counts"] == {"passed_over": 5}
    assert report_file.read_text().count('"kind": "passed over"') == 5


def test_templates_of_a_vault_are_passed_over_by_its_settings_and_by_their_places(stage, imported, tmp_path) -> None:
    vault = tmp_path / "vault"
    for folder in (".obsidian/plugins/templater-obsidian", "Blank/daily", "Forms", "Notes"):
        (vault / folder).mkdir(parents=True)
    (vault / ".obsidian/templates.json").write_text('{"folder": "Blank/"}')
    (vault / ".obsidian/plugins/templater-obsidian/data.json").write_text('{"templates_folder": "Forms"}')
    (vault / ".obsidian/daily-notes.json").write_text('{"template": "Notes/Day"}')
    for name in ("Blank/daily/Day.md", "Forms/Visit.md", "Notes/Day.md", "Notes/Forms.md"):
        (vault / name).write_text("# Visit\n\nWho came?\n")
    (vault / "Notes/Trip.md").write_text("---\ncreated: {{date:YYYY-MM-DD}}\n---\n# {{title}}\n\nPacked: \n")
    (vault / "Notes/Call.md").write_text('# <% tp.file.title %>\n\nSaid on <% tp.date.now("DD") %>:\n')
    (vault / "Notes/How.md").write_text("# How to\n\nWrite `{{date}}` where the day goes.\n\n```\n{{title}}\n```\n")
    status, report, _ = imported(tmp_path)
    assert (status, [*titles(stage)]) == (1, ["vault/Notes/Forms.md", "vault/Notes/How.md"])
    told = {note["name"]: "is a template" in note["message"] for note in report["passed_over"]}
    assert told == dict.fromkeys(
        (
            *("vault/Blank/daily/Day.md", "vault/Forms/Visit.md", "vault/Notes/Day.md"),
            *("vault/Notes/Call.md", "vault/Notes/Trip.md"),
        ),
        True,
    )


def test_settings_that_cannot_be_read_name_no_templates(stage, imported, tmp_path: Path) -> None:
    for number, settings in enumerate(("[1]", '{"folder": 3}', "{", "[" * 100_000, '{"folder": "/"}')):
        (tmp_path / f"v{number}/.obsidian").mkdir(parents=True)
        (tmp_path / f"v{number}/.obsidian/templates.json").write_text(settings)
        (tmp_path / f"v{number}/Kettle.md").write_text("It is red.\n")
    status, report, _ = imported(tmp_path)
    assert (status, report["added"]) == (0, 5)


EMPTY = {
    "heading.md": "# Ideas\n\n## Later\n",
    "tags.md": "---\ntags: [todo, garden]\naliases: [Beds]\ncreated: 2025-01-01\n---\n\n#todo\n",
    "boxes.md": "# Shopping\n\n- [ ] \n- \n\n%%later%%\n",
    "missing.md": "![[gone.jpg]]\n",
    "page.html": "<title>App</title><h1>App</h1><script>run()</script>",
    "lines.rst": "Kettle\n======\n",
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_note_with_nothing_but_headings_and_tags_is_no_entry(stage, imported, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(EMPTY[name])
    (tmp_path / "kettle.md").write_text("It is red.\n")
    status, report, _ = imported(tmp_path)
    assert (status, [*titles(stage)]) == (1, ["kettle.md"])
    assert [(note["name"], "no text" in note["message"]) for note in report["passed_over"]] == [(name, True)]


def test_a_note_without_text_is_an_entry_by_its_picture_or_its_properties(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "Koala.md").write_text("# Koala\n")
    (tmp_path / "Koala.png").write_bytes(png(20))
    (tmp_path / "Henrik.md").write_text("---\ntags: [people]\nphone: 0151 223344\n---\n")
    status, report, _ = imported(tmp_path)
    assert (status, titles(stage)) == (0, {"Henrik.md": "Henrik", "Koala.md": "Koala"})
    assert "passed_over" not in report


def test_a_folder_of_nothing_that_is_read_names_what_is_there(imported, tmp_path: Path) -> None:
    (tmp_path / "Mu.pdf").write_bytes(b"%PDF")
    status, report, _ = imported(tmp_path)
    assert (status, report["added"], report["passed_over"][0]["name"]) == (1, 0, "Mu.pdf")


def test_people_read_what_was_taken_and_what_was_not(stage, tmp_path: Path, capsys) -> None:
    (tmp_path / "kettle.md").write_text("# Kettle\n\nIt is red.\n")
    (tmp_path / "IMG_2041.png").write_bytes(png(20))
    (tmp_path / "IMG_2042.png").write_bytes(png(24))
    (tmp_path / "notes.odt").write_bytes(b"PK")
    (tmp_path / "Thumbs.db").write_bytes(b"")
    assert main(["--server", stage.target, "knowledge", "import", "--yes", "--no-compare", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "kettle.md took IMG_2041.png and IMG_2042.png" in err
    assert "notes.odt: passed over: " in err
    assert out.startswith("1 entry added, 0 refused; 1 passed over; left out: 1 ")
    assert len(stage.knowledge.pictures["kettle.md"]) == 2


def test_a_picture_by_itself_is_an_entry_called_as_its_file(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "red_kettle.png").write_bytes(png())
    (tmp_path / "IMG_2041.png").write_bytes(png())
    assert imported(tmp_path / "red_kettle.png", "--no-compare")[:2] == (
        0,
        {"file": str(tmp_path / "red_kettle.png"), "added": 1, "refused": [], "new": 1, "changed": 0, "unchanged": 0},
    )
    assert titles(stage) == {"red_kettle.png": "Red kettle"}
    (tmp_path / "photo.png").write_bytes(png())
    assert imported(tmp_path / "photo.png", "--no-compare")[1]["added"] == 1
    status, report, _ = imported(tmp_path / "IMG_2041.png")
    assert (status, report["added"]) == (1, 0)
    assert "a camera or a program gave it this name; rename it" in report["refused"][0]["message"]


def test_a_document_by_itself_brings_its_pictures(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "koala.md").write_text("# Koala\n\nIt eats leaves.\n")
    (tmp_path / "koala 2.png").write_bytes(png())
    (tmp_path / "panda.md").write_text("# Panda\n")
    assert imported(tmp_path / "koala.md", "--no-compare")[0] == 0
    assert titles(stage) == {"koala.md": "Koala"}
    assert stage.knowledge.pictures["koala.md"] == (png(),)


def test_a_document_that_a_camera_named_is_called_by_its_first_words(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "IMG_2041.md").write_text("A red *kettle*. It is old.\n")
    (tmp_path / "IMG_2041.png").write_bytes(png())
    status, report, _ = imported(tmp_path, "--no-compare")
    assert titles(stage) == {"IMG_2041.md": "A red kettle"}
    assert (status, report["noted"][0]["name"]) == (0, "IMG_2041.md")


def test_pictures_are_found_by_names_whose_accents_are_written_otherwise(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "Cafe\u0301").mkdir()
    (tmp_path / "Cafe\u0301" / "Zu\u0308rich.png").write_bytes(png())
    (tmp_path / "e.csv").write_text("id,title,pictures\na,A,Café/Zürich.png\n")
    assert imported(tmp_path / "e.csv")[1]["added"] == 1
    assert stage.knowledge.pictures["a"] == (png(),)


def test_an_import_of_nothing_says_so(imported, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text("\n\n")
    status, report, _ = imported(tmp_path / "e.jsonl")
    assert (status, report["added"]) == (1, 0)
    assert "no entry" in report["passed_over"][0]["message"]


def test_a_refusal_names_the_files_that_it_takes_with_it(imported, tmp_path: Path) -> None:
    for name in ("koala", "panda"):
        (tmp_path / f"{name}.md").write_bytes(b"# Animal\n\nText.\n" if name == "koala" else b"\0\xff")
        for number in range(1, 3):
            (tmp_path / f"{name} {number}.png").write_bytes(png(20 + number))
    (tmp_path / "koala 2.png").write_bytes(b"no picture")
    status, report, _ = imported(tmp_path, "--no-compare")
    koala, panda = (item["message"] for item in report["refused"])
    assert (status, report["added"]) == (1, 0)
    assert koala.startswith("koala.md: ")
    assert "koala 2.png" in koala
    assert koala.endswith("; with it koala 1.png")
    assert panda.startswith("panda.md: is no text")
    assert panda.endswith("; with it panda 1.png and panda 2.png")


def test_what_lies_beside_a_file_of_entries_is_noted(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    for name in ("one", "other"):
        (tmp_path / "pictures" / f"{name}.png").write_bytes(png())
    (tmp_path / "README.md").write_text("# What this is\n")
    (tmp_path / "entries.jsonl").write_text('{"id": "a", "title": "A", "pictures": ["pictures/one.png"]}\n')
    status, report, _ = imported(tmp_path)
    assert (status, set(stage.knowledge.entries)) == (0, {"a"})
    assert report["noted"][0]["name"] == "entries.jsonl"
    assert "beside it: 2, such as README.md" in report["noted"][0]["message"]


def test_many_pictures_that_are_refused_for_the_same_reason_are_a_few_lines(stage, tmp_path: Path, capsys) -> None:
    for number in range(30):
        (tmp_path / f"IMG_{number:04}.png").write_bytes(png())
    (tmp_path / "bad.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\xff")
    (tmp_path / "other.md").write_text("So that neither is the only text.")
    assert main(["--server", stage.target, "knowledge", "import", "--no-compare", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert (err.count("IMG_00"), err.count("\n")) == (5 * 3, 7)
    assert "and 25 more for the same reason" in err
    assert "bad.md: " in err
    assert out == "1 entry added, 31 refused\n"
