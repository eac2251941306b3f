"""Questions of a small world and turns about them, written by hand, for the accuracy benchmark's rows."""

from typing import Any

from bench.accuracy.planner.asking import POLICIES, UNLINKED, Asked
from bench.accuracy.planner.cases import Case
from bench.accuracy.several import Turns
from bench.results import Row
from quizglass_lab.pocketworld.dataset import build_world
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions import make_questions

WORLD = build_world(4711, 60, format=2)
QUESTIONS = make_questions(WORLD, 24, 4711, format=2)


def record(answer: str = "", **more: Any) -> dict[str, Any]:
    return {
        "answer": answer,
        "abstained": "",
        "plan": "none",
        "query": "",
        "least": 0.5,
        "mean": 0.5,
        "prompt_tokens": 10,
        "all_prompt_tokens": 10,
        "all_written_tokens": 4,
        "timings": [],
        "searches": {"image_search": 0, "text_search": 0},
        "rounds": 0,
        "evidence": [],
        "decided": [],
        "queries": [],
        "boxes": [],
        **more,
    }


def by_name(rows: list[Row]) -> dict[str, Row]:
    return {row.name.partition(" (")[0]: row for row in rows}


def turns(question: Question, **of: dict[str, Any]) -> Turns:
    """A question's turns, by policies as Python spells them: `qa_dragon_plus` is qa-dragon+."""
    return Turns(question, {name.replace("_plus", "+").replace("_", "-"): each for name, each in of.items()})


def right(question: Question, **more: Any) -> dict[str, Any]:
    return record(question.answer, **more)


def case(question: Question, plans: dict[str, str], answers: dict[str, str]) -> Case:
    asked = Asked(question.id)
    for name in (*POLICIES, UNLINKED, "blind", "q_i", "q_g"):
        asked.turns[name] = record(answers.get(name, "wrong"), plan=plans.get(name, "none"))
    return Case(question, asked, unseen=True)
