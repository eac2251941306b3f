"""Facts of our own table, how they are said and asked, and the examples that are made of them."""

import csv

import pytest

from quizglass_lab.everyday import facts, invented, knowledge
from quizglass_lab.everyday.parts import NEVER_TAUGHT, held_out_things, is_taught
from quizglass_lab.everyday.wording import pointing, questions, sentence, wording
from quizglass_lab.finetuning.asking.interface import Written
from quizglass_lab.finetuning.recipes import everyday_generator, everyday_planner
from quizglass_lab.finetuning.recipes.everyday_generator import NotesAnnotation
from quizglass_lab.finetuning.recipes.everyday_notes import ABSTAIN, about_invented
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.training.examples import read_examples

OWN = list(facts.own_facts())


def test_the_table_has_each_fact_once() -> None:
    names = [(fact.thing, fact.name) for fact in OWN]
    assert len(set(names)) == len(names) > 100
    assert all(fact.kind and fact.thing and fact.name and fact.value for fact in OWN)


@pytest.mark.parametrize("fact", OWN, ids=lambda fact: f"{fact.thing}-{fact.name}")
def test_every_sentence_says_the_value_and_every_question_names_the_thing(fact: facts.Fact) -> None:
    assert all(fact.value in sentence(fact, at) for at in range(2))
    assert all(fact.thing in question for question in (*questions(fact), *questions(fact, held_out=True)))
    assert not {*questions(fact)} & {*questions(fact, held_out=True)}
    assert len(wording(fact).questions) >= 3


def test_a_question_that_points_does_not_name_the_thing() -> None:
    koala = facts.Fact("animal", "koala", "food", "leaves", "quizglass")
    assert pointing(koala, "What does the koala eat?") == "What does this animal eat?"


def test_photographs_have_texts_and_the_eight_are_among_them() -> None:
    with knowledge.TABLE.open(encoding="utf-8", newline="") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert {asked.file for asked in knowledge.EIGHT} <= set(rows)
    assert all(all(row.values()) for row in rows.values())
    for asked in knowledge.EIGHT:
        assert any(word in rows[asked.file]["text"] for word in asked.right)


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(everyday_generator, "all_facts", lambda _: OWN)
    options = NotesAnnotation(workdir=tmp_path, out=tmp_path / "notes", held_out=0.2)
    report = everyday_generator.annotate(options, Progress(quiet=True))
    return report, *(read_examples(tmp_path / "notes" / name) for name in ("train.jsonl", "held-out.jsonl"))


def test_answers_are_values_that_the_notes_say_and_never_a_sentence_of_them(written) -> None:
    _, taught, _ = written
    for example in taught:
        notes = " ".join([*example.values["seen"], *example.values["found"]])
        if example.objective == "answer":
            assert example.target.lower() in notes.lower()  # a sentence may begin with it
            assert f"{example.target}." != notes.split(": ", 1)[1]
        elif example.objective == "abstain":
            assert example.target == ABSTAIN


def test_what_the_base_knows_by_heart_is_taught_and_what_it_does_not_is_not_guessed(tmp_path, monkeypatch) -> None:
    class Base:
        def write(self, asks, most_tokens):
            assert {ask.task for ask in asks} == {"recall"}
            koala = [ask.values["question"] == "What does the koala eat?" for ask in asks]
            return [Written("It eats eucalyptus leaves." if knows else "I do not know.") for knows in koala]

    monkeypatch.setattr(everyday_generator, "all_facts", lambda _: OWN)
    monkeypatch.setattr(everyday_generator, "asked_model", lambda *_: Base())
    out = tmp_path / "notes"
    options = NotesAnnotation(workdir=tmp_path, out=out, answerer="base", held_out=0.001, invented=10)
    everyday_generator.annotate(options, Progress(quiet=True))
    taught = [each for each in read_examples(out / "train.jsonl") if each.objective == "recall"]
    assert not any({"seen", "found"} & each.values.keys() for each in taught)
    known = {each.values["question"]: each.target for each in taught if "koala" in each.id and "/food/" in each.id}
    assert known == {
        "What does the koala eat?": "eucalyptus leaves",
        "What is the food of the koala?": "eucalyptus leaves",
        "What does this animal eat?": ABSTAIN,
    }
    others = [each for each in taught if "koala/food" not in each.id]
    assert others
    assert {each.target for each in others} == {ABSTAIN}
    kept, first = out / "recalled.jsonl", (out / "train.jsonl").read_bytes()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: whole.index(b"\n") + 9])  # killed while it wrote the second
    everyday_generator.annotate(options, Progress(quiet=True))
    assert (kept.read_bytes(), (out / "train.jsonl").read_bytes()) == (whole, first)
    monkeypatch.setattr(Base, "write", lambda *_: pytest.fail("all was asked"))
    everyday_generator.annotate(options, Progress(quiet=True))


@pytest.mark.parametrize("kind", invented.kinds(), ids=lambda kind: kind.sentences[0])
def test_invented_sentences_say_the_value_and_questions_name_the_thing(kind: invented.Kind) -> None:
    fact = invented.Invented(kind, "the Norberg", "12 days")
    for which in range(2):
        assert "12 days" in fact.sentence(which)
        assert "orberg" in fact.sentence(which)
        assert "the Norberg" in fact.question(which)
    assert kind.questions[0] != kind.questions[1]
    assert not any(word in " ".join(kind.sentences) for word in ("discovered", "largest moon", "main ingredient"))


def test_notes_about_invented_things_say_what_is_asked_or_do_not() -> None:
    examples = list(about_invented(400, 0.3, seed=1))
    assert list(about_invented(400, 0.3, seed=1)) == examples
    answers = [each for each in examples if each.objective == "answer"]
    assert 0.6 < len(answers) / len(examples) < 0.8
    for each in answers:
        assert each.target.lower() in " ".join([*each.values["seen"], *each.values["found"]]).lower()
    assert {each.target for each in examples if each.objective == "abstain"} == {ABSTAIN}
    assert any(each.values["question"].endswith("this bridge?") for each in examples)


def test_things_facts_and_wordings_are_held_out(written) -> None:
    # People's notes are held out by files, and two people may ask in the same words.
    taught, held_out = ([each for each in some if not each.id.startswith("note/")] for some in written[1:])
    things = held_out_things(OWN, 0.2, 0)
    asked = {example.values["question"] for example in taught}
    assert things
    for example in taught:
        _, thing, name = example.id.split("/")[:3]
        assert thing not in things
        assert name not in NEVER_TAUGHT
    for example in held_out:
        _, thing, name = example.id.split("/")[:3]
        if thing not in things and name not in NEVER_TAUGHT and example.objective != "rewrite":
            assert example.values["question"] not in asked


def test_the_planner_is_asked_by_name_and_by_pointing() -> None:
    rows = {row["id"]: row for row in everyday_planner._questions(OWN)}
    named, points = rows["animal/koala/food"], rows["animal/koala/food/this"]
    assert named["gold_query"] == named["question"] == points["gold_query"]
    assert "pictures" not in named
    assert (points["image_query"], points["image_answer"]) == ("What is this animal?", "koala")
    assert all(is_taught(fact) for fact in OWN if f"{fact.kind}/{fact.thing}/{fact.name}" in rows)
