"""The notes and questions that a reranker learns from, and how they are read."""

from collections import Counter
from pathlib import Path

import pytest

from quizglass_export.errors import ExportError
from quizglass_lab.answering.notes import NoteQuestion, read_notes, signs_by_file


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
        NoteQuestion("who gave it", (range(1, 2),)),
        NoteQuestion("when and from whom", (range(1), range(1, 2))),
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
        ("# T\n- One.\n- Two.\n? what => 2-1\n", "a.notes:4"),
        ("# T\n- One.\n- Two.\n? what => 2-3\n", "a.notes:4: the note has 2 sentences"),
        ("# T\n- One.\n? what => 1-\n", "'1-' are no numbers"),
        ("# T\n- One.\n? what\n", "'? TEXT => NUMBERS'"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ExportError) as caught:
        read_notes(written(tmp_path, text))
    assert said in str(caught.value)


def test_lines_of_a_sign_answer_alone_or_together(tmp_path: Path) -> None:
    (tmp_path / "s.signs").write_text("# menu\n- Soup 4.50\n- Closed on\n- Mondays\n? open Monday? => 2-3, 3\n")
    (tmp_path / "s.notes").write_text("# T\n- One.\n? what => 1\n")
    (sign,) = signs_by_file(tmp_path)["s"]
    assert (sign.title, sign.sentences) == ("menu", ["Soup 4.50", "Closed on", "Mondays"])
    assert sign.questions == [NoteQuestion("open Monday?", (range(1, 3), range(2, 3)))]
    assert [note.title for note in read_notes(tmp_path)] == ["T"], "signs are no notes"


def test_the_signs_here_are_whole_and_ask_what_they_do_not_say_as_well() -> None:
    signs = [sign for signs in signs_by_file().values() for sign in signs]
    assert all(sign.sentences and sign.questions for sign in signs)
    lines = Counter(tuple(sign.sentences) for sign in signs)
    assert {sign: count for sign, count in lines.items() if count > 1} == {}
    questions = [question for sign in signs for question in sign.questions]
    assert 0.3 < sum(not question.answers for question in questions) / len(questions) < 0.6


def test_the_notes_here_are_whole_and_ask_what_notes_do_not_say_as_well() -> None:
    notes = read_notes()
    assert all(note.sentences and note.questions for note in notes)
    texts = Counter((note.title, *note.sentences) for note in notes)
    assert {text: count for text, count in texts.items() if count > 1} == {}
    questions = [question for note in notes for question in note.questions]
    open_questions = sum(not question.answers for question in questions)
    assert 0.3 < open_questions / len(questions) < 0.6
