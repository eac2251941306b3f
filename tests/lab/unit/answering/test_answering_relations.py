"""Notes that are composed of relations: what they say, ask and leave open."""

import random
from pathlib import Path

import pytest

from quizglass_export.errors import ExportError
from quizglass_lab.answering.relations import read_relations

WATER = "= plant: water\n- Weekly.\n? how often\n\n"
FOOD = "= plant: food\n~ plant: water\n- In May.\n? when is it fed\n\n"
GIVER = "= thing: giver\n- From Ida.\n? who gave it\n\n"
PRICE = "= thing: price\n- Ten pounds.\n? what did it cost\n\n"
TITLES = '[titles]\nplant = ["Fern"]\nthing = ["Bowl"]\n[shared]\nplant = ["giver"]\n'


def written(folder: Path, relations: str, titles: str = TITLES) -> Path:
    (folder / "a.relations").write_text(relations, encoding="utf-8")
    (folder / "titles.toml").write_text(titles, encoding="utf-8")
    return folder


def test_a_question_is_answered_by_its_relation_s_sentence_or_left_open(tmp_path: Path) -> None:
    said = {
        "how often": "Weekly.",
        "when is it fed": "In May.",
        "who gave it": "From Ida.",
        "what did it cost": "Ten pounds.",
    }
    for note in read_relations(written(tmp_path, WATER + FOOD + GIVER + PRICE)).notes(200, random.Random(1)):
        assert note.sentences
        for question in note.questions:
            wanted = said[question.text]
            assert [note.sentences[place] for run in question.answers for place in run] == [wanted] * (
                wanted in note.sentences
            )
        assert {bool(question.answers) for question in note.questions} == {True, False}


def test_near_relations_stand_in_no_note_together(tmp_path: Path) -> None:
    relations = read_relations(written(tmp_path, WATER + FOOD + GIVER + PRICE))
    plants = [note for note in relations.notes(200, random.Random(1)) if note.title == "Fern"]
    for note in plants:
        heard = {*note.sentences, *(question.text for question in note.questions)}
        assert not (heard & {"Weekly.", "how often"} and heard & {"In May.", "when is it fed"})
        assert not heard & {"Ten pounds.", "what did it cost"}, "a plant shares the giver alone"


@pytest.mark.parametrize(
    ("relations", "said"),
    [
        ("- no relation\n", "a.relations:1"),
        (WATER + "plain\n", "a.relations:5"),
        ("= plant: water\n- Weekly.\n", "'plant: water' needs sentences and questions"),
        ("= boat: oars\n- Two.\n? how many\n", "no titles of the kind 'boat'"),
        (FOOD + GIVER, "near to 'plant: water', which is no relation"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, relations: str, said: str) -> None:
    with pytest.raises(ExportError) as caught:
        read_relations(written(tmp_path, relations))
    assert said in str(caught.value)


def test_the_relations_here_leave_half_of_their_questions_open() -> None:
    notes = read_relations().notes(300, random.Random(0))
    questions = [question for note in notes for question in note.questions]
    left_open = sum(not question.answers for question in questions)
    assert 0.4 < left_open / len(questions) < 0.6
