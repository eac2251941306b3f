"""Notes whose facts have qualifiers, and the examples that are made of them and of notes that people wrote."""

import random
from itertools import islice
from pathlib import Path

import pytest

from quizglass.values import Origin
from quizglass_export.errors import ExportError
from quizglass_lab.answering.notes import notes_by_file, read_notes
from quizglass_lab.everyday import facts
from quizglass_lab.everyday.qualified import NotedThing, read_table
from quizglass_lab.finetuning.recipes import everyday_generator
from quizglass_lab.finetuning.recipes.everyday_generator import NotesAnnotation
from quizglass_lab.finetuning.recipes.everyday_notes import ABSTAIN
from quizglass_lab.finetuning.recipes.everyday_whole_answers import about_own_things, from_notes
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.training.examples import TrainingExample, objectives, read_examples
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.qualifiers import whole_sentence
from quizglass_server.steps.quoting import sentences_of

KINDS = {
    *("approximately", "condition", "dose", "exception", "frequency", "least", "most", "person", "prohibition"),
    *("since", "time of year", "until"),
}
NOTES = """
# Gerda's aloe
- Water it every three weeks.
- It came from Gerda, who had it from her aunt in Trieste, and stood in the hall for all the years before that.
? how often does it need water => 1
? where is it from => 2
? how old is it => -
"""


def drawn(count: int, *, held_out: bool = False) -> list[NotedThing]:
    return list(islice(read_table().things(random.Random(5), held_out=held_out), count))


def shown(example: TrainingExample) -> str:
    return " ".join([*example.values["seen"], *example.values["found"]])


def leaves_out(answer: str, question: str, sentence: str) -> bool:
    """Whether the server would say the sentence in place of the answer."""
    return (
        whole_sentence(answer, question, sentences_of([Evidence("1", Origin.IMAGE_SEARCH, "a", "", sentence)]))
        is not None
    )


def test_every_kind_of_qualifier_is_taught_and_most_are_measured_in_other_things() -> None:
    kinds = read_table().kinds
    taught, measured = ({f.qualifier for k in kinds if k.held_out == held for f in k.facts} for held in (False, True))
    assert taught == KINDS | {""}
    assert len(measured) > 8
    assert all({bool(fact.qualifier) for fact in kind.facts} == {True, False} for kind in kinds)


def test_an_answer_stands_in_its_sentence_with_all_that_limits_it() -> None:
    for thing in drawn(400) + drawn(400, held_out=True):
        for fact in thing.facts:
            assert fact.answer in fact.sentence
            assert not {*"[]{}"} & {*fact.sentence}
            assert len(fact.answer.split()) <= 14
            question = thing.asked(fact.kind.questions[0], pointed=True, chance=random.Random(0))
            assert not leaves_out(fact.answer, question, fact.sentence)


@pytest.mark.parametrize("held_out", [False, True])
def test_targets_are_what_the_notes_say_or_that_they_do_not(held_out: bool) -> None:
    examples = list(about_own_things(600, 0.3, 1, held_out=held_out))
    assert list(about_own_things(600, 0.3, 1, held_out=held_out)) == examples
    counts = objectives(examples)
    assert 0.2 < counts["abstain"] / 600 < 0.4
    assert counts["qualified"] > 2 * counts["unqualified"] > 0
    for each in examples:
        assert not {*"[]{}"} & {*each.values["question"], *shown(each)}
        if each.objective == "abstain":
            assert each.target == ABSTAIN
        else:
            assert each.target in shown(each)
    several = [each for each in examples if len({*shown(each).split(". ")}) > 2]
    assert len(several) > 400, "another sentence has another qualifier"


def test_a_question_that_points_is_about_the_note_that_is_seen() -> None:
    pointing = [each for each in about_own_things(300, 0.3, 1, held_out=False) if "this " in each.values["question"]]
    assert len(pointing) > 30
    assert all(each.values["seen"] for each in pointing)


def test_things_and_wordings_are_held_out() -> None:
    kinds = {kind.name: kind for kind in read_table().kinds}
    taught, measured = (list(about_own_things(1500, 0.3, 1, held_out=held)) for held in (False, True))
    assert not any(kinds[each.id.split("/")[1]].held_out for each in taught)
    new = [each for each in measured if kinds[each.id.split("/")[1]].held_out]
    assert 0.4 < len(new) / len(measured) < 0.7
    asked = {each.values["question"] for each in taught}
    assert not [each.values["question"] for each in measured if each.values["question"] in asked]
    for kind in kinds.values():
        if not kind.held_out:
            assert all(len(fact.questions) > 2 and len(fact.sentences) > 2 for fact in kind.facts), kind.name


def test_short_sentences_of_peoples_notes_are_answers_and_open_questions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.notes").write_text(NOTES)
    examples = list(from_notes(read_notes(tmp_path), most=9, abstain=0.5, seed=0))
    told = {each.values["question"]: (each.objective, each.target) for each in examples}
    assert told == {
        "how often does it need water": ("sentence", "Water it every three weeks"),
        "how old is it": ("abstain", ABSTAIN),
    }, "the long sentence is no answer"
    assert examples[0].values["seen"][0].startswith("Gerda's aloe: Water it every three weeks. It came")


def annotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **how: object) -> tuple[list[TrainingExample], ...]:
    monkeypatch.setattr(everyday_generator, "all_facts", lambda _: list(facts.own_facts()))
    given = {"workdir": tmp_path, "out": tmp_path / "out", "qualified": 200, "from_notes": 100, **how}
    everyday_generator.annotate(NotesAnnotation.model_validate(given), Progress(quiet=True))
    return tuple(read_examples(tmp_path / "out" / name) for name in ("train.jsonl", "held-out.jsonl"))


def test_what_is_measured_of_facts_does_not_hang_on_what_is_taught_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, alone = annotated(tmp_path, monkeypatch, qualified=0, from_notes=0)
    taught, measured = annotated(tmp_path, monkeypatch)
    assert measured[: len(alone)] == alone
    beside = objectives(measured[len(alone) :])
    assert beside.keys() == {"qualified", "unqualified", "sentence", "abstain"}
    assert objectives(taught).keys() > {"qualified", "unqualified", "sentence"}


def test_notes_of_files_that_are_measured_on_are_not_taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taught, measured = annotated(tmp_path, monkeypatch, held_out_notes=("a3",))
    own = [f"{note.title}: {' '.join(note.sentences)}" for note in notes_by_file()["a3"]]
    of_notes = [[each for each in some if each.id.startswith("note/")] for some in (taught, measured)]
    assert all(of_notes)
    assert not any(each.values["seen"][0] in own for each in of_notes[0])
    assert all(each.values["seen"][0] in own for each in of_notes[1])
    with pytest.raises(ExportError, match="--held-out-notes: 'a99' is no file of"):
        annotated(tmp_path, monkeypatch, held_out_notes=("a99",))
