"""The notes and questions that a reranker learns from, and how they are read."""

from collections import Counter
from pathlib import Path

import pytest

from quizglass_export.errors import ExportError
from quizglass_lab.answering.notes import NoteQuestion, read_notes


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "a.notes").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_note_has_sentences_and_questions(tmp_path: Path) -> None:
    text = (
        "# Aloe\n- Water it.\n- From Gerda.\n? who gave it => 2\n? when and from whom => 1, 2\n? cost? => -\n\n# Fern\n"
    )
    aloe, fern = read_notes(written(tmp_path, text))
    assert (aloe.title, aloe.sentences) == ("Aloe", ["Water it.", "From Gerda."])
    assert aloe.questions == [
        NoteQuestion("who gave it", (1,)),
        NoteQuestion("when and from whom", (0, 1)),
        NoteQuestion("cost?", ()),
    ]
    assert fern.title == "Fern"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- No title.\n", "a.notes:1"),
        ("# T\nplain\n", "a.notes:2"),
        ("# T\n- One.\n? what => 2\n", "a.notes:3: the note has 1 sentences"),
        ("# T\n- One.\n? what => 0\n", "a.notes:3"),
        ("# T\n- One.\n? what => one\n", "'one' are no numbers"),
        ("# T\n- One.\n? what\n", "'? TEXT => NUMBERS'"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ExportError) as caught:
        read_notes(written(tmp_path, text))
    assert said in str(caught.value)


def test_the_notes_here_are_whole_and_ask_what_notes_do_not_say_as_well() -> None:
    notes = read_notes()
    assert all(note.sentences and note.questions for note in notes)
    assert {title: count for title, count in Counter(note.title for note in notes).items() if count > 1} == {}
    questions = [question for note in notes for question in note.questions]
    open_questions = sum(not question.answers for question in questions)
    assert 0.3 < open_questions / len(questions) < 0.6
