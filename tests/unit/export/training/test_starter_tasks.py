"""What the starter is taught to answer follows from what a prompt holds and what is known by heart."""

import random

import pytest

from quizglass_export.pocketworld.questions import ABSTAIN, make_questions, make_unknowable
from quizglass_export.pocketworld.world import core_world, make_world, with_core
from quizglass_export.starter.data.library import Library
from quizglass_export.starter.data.reading import TextSource
from quizglass_export.starter.data.situations import Situations, knows
from quizglass_export.starter.stages.annotate import decide

WORLD = with_core(make_world(4321, 60), core_world())
LIBRARY = Library(WORLD)
QUESTIONS = make_questions(WORLD, 400, 7, unseen_share=0.5)


def test_without_evidence_only_what_is_known_by_heart_is_answered() -> None:
    situations = Situations(LIBRARY, random.Random(0), picture_stage=True)
    for question in QUESTIONS:
        for example in situations.examples(question, 0):
            request = example.request
            evidence = request.seen or request.found
            if request.template != "answer" or evidence or request.question != question.text:
                continue
            known = knows(question, LIBRARY.things.get(question.target or ""))
            assert example.answer == (question.answer if known else ABSTAIN)


def test_by_construction_only_the_group_none_is_known() -> None:
    for question in QUESTIONS:
        assert knows(question, LIBRARY.things.get(question.target or "")) == (question.group == "none")


def test_passages_brought_for_an_answerable_question_hold_its_answer() -> None:
    rng = random.Random(1)
    for question in QUESTIONS:
        if question.gold_attribute is None or question.family == "comparison":
            continue
        found = LIBRARY.found(question, rng)
        assert any(question.answer in passage for passage in found), question


def test_passages_brought_for_an_unknowable_question_never_tell_its_attribute_of_its_target() -> None:
    rng = random.Random(2)
    for question in make_unknowable(WORLD, 80, 3):
        thing = LIBRARY.things.get(question.target or "")
        for passage in LIBRARY.found(question, rng):
            about_target = thing is not None and passage.startswith(f"{thing.name}:")
            assert not about_target or question.gold_attribute not in (thing.facts if thing else {})


def test_rewriting_with_a_seen_line_gives_the_gold_query() -> None:
    situations = Situations(LIBRARY, random.Random(3), picture_stage=True)
    golds = {question.gold_query for question in QUESTIONS}
    made = [e for question in QUESTIONS for e in situations.examples(question, 0) if e.task == "rewrite-seen"]
    assert made
    assert all(example.answer in golds and example.request.seen for example in made)


def test_text_groups_are_the_same_for_the_same_seed() -> None:
    first, second = TextSource(5), TextSource(5)
    assert [first.group() for _ in range(30)] == [second.group() for _ in range(30)]


@pytest.mark.parametrize(
    ("own", "image", "gold", "plan"),
    [
        (True, False, False, "none"),
        (True, True, True, "none"),
        (False, True, False, "text"),
        (False, False, True, "image"),
        (False, False, False, "both"),
        (False, True, True, None),
    ],
)
def test_labels_follow_the_decomposition(own: bool, image: bool, gold: bool, plan: str | None) -> None:
    assert decide(own, image, gold) == plan
