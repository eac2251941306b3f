"""The base's own thoughts and drafts, as the tool router learns from them."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import core_world, make_world, with_core
from quizglass_lab.starter.data.examples import LETTERS, Request
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.loop.decoding import GreedyAnswer
from quizglass_lab.starter.stages import drafting
from quizglass_lab.starter.stages.annotate import Annotation
from quizglass_lab.starter.stages.decider import DECISIONS, Decisions
from quizglass_lab.starter.stages.records import save_rows

WORLD = with_core(make_world(4321, 60, format=2), core_world(2))
QUESTIONS = make_questions(WORLD, 40, 7, unseen_share=0.5, format=2)
ASKED = Asked(QUESTIONS, [Library(WORLD)] * len(QUESTIONS), np.zeros((0, 112, 112, 3), np.uint8))
ROW = next(row for row, q in enumerate(QUESTIONS) if q.target and {hop.action for hop in q.hops} == {"image", "text"})
QUESTION = QUESTIONS[ROW]


def annotated(name: bool, rest: bool) -> Annotation:
    """Of a question that the base did not answer, though it perhaps knew the thing's name or what is asked of it."""
    answers = ("", QUESTION.image_answer if name else "", QUESTION.answer if rest else "")
    return Annotation(ROW, "both", QUESTION.family, QUESTION.group, False, answers, 0.9)


def own(draft: str) -> drafting.OwnDraft:
    return drafting.OwnDraft(ROW, ("red boat", "called Vutu"), draft, (0.9, 0.5))


@pytest.mark.parametrize(
    ("name", "rest", "plan"),
    [(False, False, "both"), (True, False, "text"), (False, True, "image"), (True, True, None)],
)
def test_a_wrong_draft_lacks_what_the_base_does_not_know(name: bool, rest: bool, plan: str | None) -> None:
    assert own("Nobody at all").plan(QUESTION, annotated(name, rest)) == plan
    assert own(QUESTION.answer).plan(QUESTION, annotated(name, rest)) == "none"


def test_drafts_are_written_from_the_bases_own_thoughts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []

    def write(
        model: object, encoder: object, requests: Sequence[Request], store: object, most: int = 0
    ) -> list[GreedyAnswer]:
        asked.extend(requests)
        said = "red boat\n\n called Vutu " if requests[0].template == "think" else "Vutu"
        return [GreedyAnswer(said, (0.9, 0.5))] * len(requests)

    monkeypatch.setattr(drafting, "write", write)
    assert drafting.drafted(None, None, ASKED, [ROW]) == [own("Vutu")]  # type: ignore[arg-type]
    assert [request.template for request in asked] == ["think", "draft"]
    assert asked[1].values == {"steps": ["red boat", "called Vutu"]}


def test_the_tool_router_is_shown_them_and_told_what_the_draft_lacks() -> None:
    shares = dict.fromkeys(("act", "select", "select_by_text", "entity", "verify", "subject"), 0.0) | {"tool": 1.0}
    decisions = Decisions(ASKED, random.Random(0), shares, [own("Nobody at all")])
    _, tool = decisions.about(annotated(name=True, rest=False))
    assert tool.request.values == {"draft": "Nobody at all", "steps": ["red boat", "called Vutu"]}
    assert DECISIONS["tool_router"][LETTERS.index(tool.answer)] == "text"
    assert len(decisions.about(annotated(name=True, rest=True))) == 1


def test_without_one_the_plain_answer_is_shown() -> None:
    shares = dict.fromkeys(("act", "select", "select_by_text", "entity", "verify", "subject"), 0.0) | {"tool": 1.0}
    _, tool = Decisions(ASKED, random.Random(0), shares).about(annotated(name=True, rest=False))
    assert tool.request.values == {"draft": ""}


def test_drafts_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "annotate" / drafting.file_of("training")
    save_rows([own("Vutu")], path)
    assert drafting.load(path) == [own("Vutu")]
