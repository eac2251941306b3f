"""What the words alone of a question say about where to look, in format 2: little."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.questions.wording import best_rule, template
from quizglass_lab.pocketworld.world import World, core_world, make_world, with_core

MOST = 0.60


def family(question: Question) -> str:
    return question.family


def words(question: Question) -> tuple[str, str]:
    return question.family, template(question.text)


def words_and_history(question: Question) -> tuple[object, ...]:
    return *words(question), *(template(asked) for asked, _ in question.history)


@pytest.mark.parametrize("seed", [31, 77, 4711])
def test_no_rule_over_words_finds_more_than_three_in_five(seed: int) -> None:
    world = with_core(make_world(seed, 500, format=2), core_world(2))
    questions = make_questions(world, 2000, seed, unseen_share=0.5, format=2)
    labels = [question.group or "" for question in questions]
    for wording in (family, words, words_and_history):
        assert best_rule([wording(question) for question in questions], labels) <= MOST, wording.__name__


def test_format_one_gave_itself_away() -> None:
    world: World = with_core(make_world(31, 500), core_world())
    questions = make_questions(world, 2000, 31, unseen_share=0.5)
    assert (
        best_rule([family(question) for question in questions], [question.group or "" for question in questions]) > 0.7
    )


def test_a_rule_is_judged_by_the_other_cases() -> None:
    assert best_rule(["a", "a", "a", "b"], ["x", "x", "x", "y"]) == 0.75  # a key of its own says nothing
    assert best_rule(["a"] * 4, ["x", "x", "x", "y"]) == 0.75
    assert best_rule(["a", "a"], ["x", "y"]) == 0.0
    assert best_rule([], []) == 0.0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=40))
def test_a_rule_is_never_above_the_commonest_label_of_each_key(cases: list[tuple[str, str]]) -> None:
    keys, labels = [key for key, _ in cases], [label for _, label in cases]
    by_key = {key: [label for other, label in cases if other == key] for key in keys}
    most = sum(max(map(of_key.count, of_key)) for of_key in by_key.values())
    assert best_rule(keys, labels) <= (most / len(cases) if cases else 0) + 1e-9


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("When was the Velmora first built?", "When was the Dapon first made?"),
        ("Where is this car parked?", "Where does this car stand?"),
        ("Who founded Tandrictrix?", "Who founded Velwex?"),
        ("What does this car cost?", "What does the small red boat left of the building cost?"),
        (
            "Which river runs through the town that this boat lies in?",
            "Which river runs through the town that this car is parked in?",
        ),
    ],
)
def test_templates_leave_out_names_and_kinds(one: str, other: str) -> None:
    assert template(one) == template(other)
