"""`quizglass knowledge import` of notes that embed other notes: which text comes along, and what is left out."""

from functools import partial
from pathlib import Path

import pytest

from tests.support.client_runs import knowledge_command


@pytest.fixture
def imported(stage, capsys):
    return partial(knowledge_command(stage.target, capsys), "import")


def written(folder: Path, **notes: str) -> None:
    for name, text in notes.items():
        (folder / f"{name}.md").write_text(text)


LIST = """---
tags: [trips]
---
# List

## Camera

Two rolls of film.

### Bag

The grey one.

## Tent

Eight pegs. ^pegs

A mallet.
"""


@pytest.mark.parametrize(
    ("embed", "told", "left"),
    [
        ("![[List]]", ["Camera:", "Two rolls", "Bag:", "Eight pegs", "A mallet"], ["tags", "#"]),
        ("![[List#Camera]]", ["Camera:", "Two rolls", "The grey one"], ["pegs", "#"]),
        ("![[list.md#List#tent|the tent]]", ["Eight pegs", "A mallet"], ["Two rolls"]),
        ("- ![[List#^pegs]]", ["Eight pegs"], ["mallet", "Two rolls"]),
        ("> ![[List#Bag]]", ["The grey one"], ["Two rolls"]),
    ],
)
def test_the_text_of_an_embedded_note_or_part_comes_along(
    stage, imported, tmp_path: Path, embed: str, told: list[str], left: list[str]
) -> None:
    written(tmp_path, List=LIST, Holiday=f"# Holiday\n\nWe leave at 8.\n{embed}\nThe ferry is at 11.\n")
    status, report, _ = imported(tmp_path)
    assert (status, report["added"], "noted" in report) == (0, 2, False)
    text = stage.knowledge.entries["Holiday.md"].text
    _, _, taken = text.partition("We leave at 8.")
    taken, _, behind = taken.partition("The ferry")
    assert behind.strip() == "is at 11."
    assert all(words in taken for words in told)
    assert not any(words in taken for words in left)


def test_what_stands_in_code_or_within_a_line_or_is_no_note_stays(stage, imported, tmp_path: Path) -> None:
    kept = "```\n![[List]]\n```\n\nSee ![[List]] there, `![[List]]`.\n\n![[tour.mp3]]\n\n![[Holiday]]\n"
    written(tmp_path, List=LIST, Holiday=kept)
    status, report, _ = imported(tmp_path)
    assert (status, stage.knowledge.entries["Holiday.md"].text.strip()) == (0, kept.strip())
    assert "noted" not in report


def test_notes_that_embed_each_other_come_along_once(stage, imported, tmp_path: Path) -> None:
    written(tmp_path, A="In A.\n\n![[B]]\n\n![[B]]\n", B="In B.\n\n![[C]]\n", C="In C.\n\n![[A]]\n\n![[B]]\n")
    status, _, _ = imported(tmp_path)
    for name in "ABC":
        text = stage.knowledge.entries[f"{name}.md"].text
        assert [text.count(f"In {each}.") for each in "ABC"] == [1, 1, 1]
    assert status == 0


def test_notes_too_deep_or_too_long_are_named_and_so_are_those_that_are_missing(stage, imported, tmp_path) -> None:
    written(tmp_path, **{f"n{at}": f"Level {at}.\n\n![[n{at + 1}]]\n" for at in range(5)}, n5="Level 5.\n")
    written(tmp_path, Long="word " * 12_000, Host="Short.\n\n![[Long]]\n\n![[Gone]]\n\n![[n5#Nowhere]]\n")
    status, report, _ = imported(tmp_path)
    text = stage.knowledge.entries["n0.md"].text
    assert [f"Level {at}." in text for at in range(6)] == [True, True, True, True, False, False]
    assert stage.knowledge.entries["Host.md"].text.startswith("Short.\n\n![[Long]]")
    cut = {note["name"]: note["message"] for note in report["cut"]}
    assert status == 1
    assert {name: message.partition(",")[0] for name, message in cut.items()} == {
        "Host.md": "embeds Long",
        "n0.md": "embeds n4",
        "n1.md": "embeds n5",
    }
    assert [(note["name"], note["message"]) for note in report["noted"]] == [
        ("Host.md", "embeds Gone and n5#Nowhere, which are not in the folder")
    ]


def test_no_embedded_note_leads_out_of_the_folder(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("A secret.")
    (tmp_path / "notes").mkdir()
    written(tmp_path / "notes", Host="Mine.\n\n![[../secret]]\n\n![[link]]\n")
    (tmp_path / "notes/link.md").symlink_to("../secret.md")
    status, _, _ = imported(tmp_path / "notes")
    assert (status, "secret." in stage.knowledge.entries["Host.md"].text) == (1, False)


def test_a_note_of_nothing_but_an_embedded_one_is_an_entry(stage, imported, tmp_path: Path) -> None:
    written(tmp_path, List=LIST, Trip="# Trip\n\n![[List#Tent]]\n")
    status, report, _ = imported(tmp_path / "Trip.md")
    assert (status, report["added"], stage.knowledge.entries["Trip.md"].title) == (0, 1, "Trip")
    assert "A mallet." in stage.knowledge.entries["Trip.md"].text
