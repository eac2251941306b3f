"""`quizglass knowledge add`: a thing of one's own, from its photographs and a few words."""

import shutil
from functools import partial
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest

from quizglass_client import Client
from quizglass_client.cli import main
from quizglass_client.errors import InvalidRequest
from quizglass_server.errors import NotSupported
from tests.support.client_runs import knowledge_command
from tests.support.rpc_fakes import png

Form = Literal["NFC", "NFD"]
NOTE = "Aunt Gerda's aloe. Water every three weeks."


@pytest.fixture
def added(stage, capsys):
    return partial(knowledge_command(stage.target, capsys), "add")


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "IMG_2041.png"
    path.write_bytes(png())
    return path


def test_a_photograph_and_a_sentence_are_enough(stage, photo: Path, capsys) -> None:
    assert main(["--server", stage.target, "knowledge", "add", str(photo), NOTE]) == 0
    ((id_, entry),) = stage.knowledge.entries.items()
    assert (entry.title, entry.text) == ("Aunt Gerda's aloe", NOTE)
    assert stage.knowledge.pictures[id_] == (png(),)
    assert capsys.readouterr().out == f"added Aunt Gerda's aloe ({id_}), 1 picture\n"


def test_the_same_photograph_again_changes_its_entry_wherever_the_file_lies(stage, added, photo: Path) -> None:
    _, first, _ = added(photo, NOTE, "--kind", "plant", "--attribute", "from=Gerda")
    copy = photo.parent / "copied.png"
    shutil.copy(photo, copy)
    _, second, _ = added(copy, "Water it every two weeks.", "--attribute", "pot=blue")
    assert (first["updated"], second["updated"], second["id"]) == (False, True, first["id"])
    (entry,) = stage.knowledge.entries.values()
    assert (entry.title, entry.text, entry.kind) == ("Aunt Gerda's aloe", "Water it every two weeks.", "plant")
    assert entry.attributes == {"from": "Gerda", "pot": "blue"}
    assert added(photo, "--title", "Aloe")[1]["title"] == "Aloe"
    assert stage.knowledge.entries[first["id"]].text == "Water it every two weeks."


def test_more_photographs_join_those_of_the_entry(stage, added, photo: Path, tmp_path: Path) -> None:
    for number in (2, 3):
        (tmp_path / f"{number}.png").write_bytes(png(20 + number))
    _, first, _ = added(photo, NOTE)
    _, second, _ = added(tmp_path / "2.png", photo)
    _, third, _ = added(tmp_path / "3.png", "--id", first["id"])
    assert [told["pictures"] for told in (first, second, third)] == [1, 2, 3]
    assert {told["id"] for told in (first, second, third)} == {first["id"]}
    assert set(stage.knowledge.pictures[first["id"]]) == {png(), png(22), png(23)}
    assert stage.knowledge.entries[first["id"]].text == NOTE


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("red_kettle.png", "Descale it every month.", "Red kettle"),
        ("kettle-2.png", "", "Kettle"),
        ("IMG_2041.png", "Dr. Fox's umbrella! It is black.", "Dr. Fox's umbrella!"),
        ("photo.png", "The blue mug\nof my brother", "The blue mug"),
    ],
)
def test_a_title_is_of_the_file_if_a_person_named_that_else_of_the_first_sentence(
    stage, added, tmp_path: Path, name: str, text: str, title: str
) -> None:
    (tmp_path / name).write_bytes(png())
    assert added(tmp_path / name, *([text] if text else []))[1]["title"] == title


def test_words_are_taken_in_any_order_and_without_quotes(stage, added, photo: Path, tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(png(20))
    assert added("The", "red", "kettle.", "--kind", "thing", photo, tmp_path / "b.png", "--title", "Kettle")[0] == 0
    (entry,) = stage.knowledge.entries.values()
    assert (entry.text, entry.title, len(entry.picture_sha256)) == ("The red kettle.", "Kettle", 2)


def test_a_file_with_the_text_gives_text_format_and_title(stage, added, photo: Path, tmp_path: Path) -> None:
    (tmp_path / "about.md").write_text("# The aloe\n\nWater it *rarely*.\n")
    assert added(photo, tmp_path / "about.md")[1]["title"] == "The aloe"
    (entry,) = stage.knowledge.entries.values()
    assert (entry.text_format, "*rarely*" in entry.text) == ("markdown", True)


def test_a_text_alone_is_an_entry_too(stage, added) -> None:
    _, first, _ = added("The bin goes out before 6:30.")
    _, again, _ = added("The bin goes out before 6:30.")
    assert (first["title"], first["pictures"]) == ("The bin goes out before 6:30", 0)
    assert (again["id"], again["updated"], len(stage.knowledge.entries)) == (first["id"], True, 1)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ([], 2, "give a picture, a text about it, or both"),
        (["none.jpg", "A kettle."], 2, "none.jpg is no file"),
        (["IMG_2041.png"], 1, "nothing says what it is"),
        (["folder", "A kettle."], 2, "folder is a folder; import it: quizglass knowledge import folder"),
        (["song.mp3", "A kettle."], 2, "song.mp3 is neither a picture nor a text"),
        (["IMG_2041.png", "A.", "--text", "B."], 2, "more than one text"),
        (["IMG_2041.png", "a.md", "A."], 2, "more than one text"),
        (["broken.png", "A kettle."], 1, "broken.png is no picture"),
        (["none.md", "IMG_2041.png"], 2, "none.md is no file"),
    ],
)
def test_what_cannot_be_added_says_what_is_wrong(
    stage, photo: Path, tmp_path: Path, monkeypatch, capsys, words: list[str], status: int, says: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.md").write_text("A.")
    (tmp_path / "song.mp3").write_bytes(b"ID3")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    monkeypatch.chdir(tmp_path)
    assert main(["--server", stage.target, "knowledge", "add", *words]) == status
    assert says in capsys.readouterr().err.replace("\n", " ")
    assert stage.knowledge.entries == {}


def test_an_id_with_a_title_replaces_the_whole_entry(stage, added, photo: Path) -> None:
    added(photo, "--id", "a", "--title", "A", "--text", "t", "--kind", "car")
    assert added("--id", "a", "--title", "B")[0] == 0
    entry = stage.knowledge.entries["a"]
    assert (entry.title, entry.text, entry.kind, entry.picture_sha256) == ("B", "", "", ())


def test_an_entry_is_shown_and_deleted_by_its_photograph(stage, added, photo: Path, tmp_path: Path, capsys) -> None:
    knowledge = knowledge_command(stage.target, capsys)
    _, told, _ = added(photo, NOTE)
    assert knowledge("get", photo)[1]["id"] == told["id"]
    assert knowledge("delete", photo)[1]["deleted"] == told["id"]
    assert stage.knowledge.entries == {}


def test_a_name_that_is_no_id_is_answered_with_those_that_are_meant(stage, added, photo: Path, capsys) -> None:
    knowledge = knowledge_command(stage.target, capsys)
    _, told, _ = added(photo, NOTE)
    status, _, err = knowledge("delete", "aloe", told["id"])
    assert status == 1
    assert f"did you mean {told['id']} (Aunt Gerda's aloe)?" in err.replace("\n", " ")
    assert len(stage.knowledge.entries) == 1
    assert "list shows all" in knowledge("get", "kettle")[2]


def test_an_entry_of_a_folder_is_deleted_by_the_name_of_its_file(stage, photo: Path, capsys) -> None:
    knowledge = knowledge_command(stage.target, capsys)
    photo.rename(photo.parent / "blue mug.png")
    knowledge("import", "--no-compare", photo.parent / "blue mug.png")
    assert "did you mean blue-mug.png-" in knowledge("get", "blue mug")[2]
    assert knowledge("delete", "blue mug.png")[0] == 0
    assert stage.knowledge.entries == {}


@pytest.mark.parametrize(("of_file", "typed"), [("NFD", "NFC"), ("NFC", "NFD"), ("NFD", "NFD")])
def test_a_name_is_that_of_its_file_however_its_accents_are_written(
    stage, tmp_path: Path, capsys, of_file: Form, typed: Form
) -> None:
    knowledge = knowledge_command(stage.target, capsys)
    name = "Café Zürich.md"
    (tmp_path / normalize(of_file, name)).write_text("It opens at 8.")
    knowledge("import", "--no-compare", tmp_path)
    assert knowledge("get", normalize(typed, name))[1]["text"] == "It opens at 8."
    assert "did you mean Caf" in knowledge("get", normalize(typed, "café"))[2]
    assert knowledge("delete", normalize(typed, name))[0] == 0
    assert stage.knowledge.entries == {}


def test_two_names_of_one_entry_delete_it_and_the_others(stage, tmp_path: Path, capsys) -> None:
    knowledge = knowledge_command(stage.target, capsys)
    for name in ("red kettle.md", "pan.md"):
        (tmp_path / name).write_text("It is hot.")
    knowledge("import", "--no-compare", tmp_path)
    (entry_id,) = stage.knowledge.entries.keys() - {"pan.md"}
    words = ["red kettle.md", entry_id, "./red kettle.md", "pan.md"]
    assert main(["--server", stage.target, "knowledge", "delete", *words]) == 0
    assert stage.knowledge.entries == {}


def test_a_text_is_corrected_where_the_server_keeps_no_pictures(stage, added, photo: Path) -> None:
    async def none(digest: bytes) -> bytes:
        raise NotSupported("milvus", "there are no pictures, only their vectors")

    stage.knowledge.picture = none
    added(photo, NOTE)
    assert added(photo, "Water it every two weeks.")[1]["updated"]
    (entry,) = stage.knowledge.entries.values()
    assert (entry.text, len(entry.picture_sha256)) == ("Water it every two weeks.", 1)


def test_programs_add_the_same_way(stage, photo: Path) -> None:
    with Client(stage.target) as client:
        first = client.add_note(NOTE, photo)
        again = client.add_note(pictures=[photo.read_bytes(), png(20)], kind="plant")
        with pytest.raises(InvalidRequest, match="title: nothing says what it is"):
            client.add_note(pictures=png(30))
        with pytest.raises(InvalidRequest, match="text: give a text, a picture, or both"):
            client.add_note()
    assert (first.updated, first.pictures, first.title) == (False, 1, "Aunt Gerda's aloe")
    assert (again.id, again.updated, again.pictures) == (first.id, True, 2)
    assert stage.knowledge.entries[first.id].kind == "plant"
