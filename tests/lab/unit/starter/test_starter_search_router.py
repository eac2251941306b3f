"""What a draft needs, by the record of its question."""

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from quizglass_lab.pocketworld.questions import make_questions, make_unknowable
from quizglass_lab.pocketworld.world import make_world
from quizglass_lab.search_router import branch_of
from quizglass_lab.starter.stages.search_router import needed
from quizglass_server.policies.qa_dragon import Branch


@pytest.mark.parametrize(
    ("right", "to_look_up", "branch"),
    [
        (True, False, Branch.DIRECT),
        (True, True, Branch.VERIFY),
        (False, False, Branch.RAG),
        (False, True, Branch.RAG),
    ],
)
def test_wrong_drafts_are_searched_for_and_right_ones_checked_where_something_is_to_be_looked_up(
    right: bool, to_look_up: bool, branch: Branch
) -> None:
    assert branch_of(right=right, to_look_up=to_look_up) is branch


def test_the_record_says_whether_a_draft_is_right_and_has_to_be_looked_up() -> None:
    world = make_world(7101, 30)
    question = next(question for question in make_questions(world, 60, 7101) if question.hops)
    assert needed(question, question.answer) is Branch.VERIFY
    assert needed(replace(question, hops=()), question.answer) is Branch.DIRECT
    assert needed(question, "something else") is Branch.RAG


def test_no_draft_is_right_about_what_nothing_answers() -> None:
    world = make_world(7101, 30)
    (question, *_) = make_unknowable(world, 4, 7101)
    assert needed(question, question.answer) is Branch.RAG
