"""The shipped bundle, asked through the real client: it plans, looks up, cites, and admits what it does not know."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from quizglass_client import Answer, Client, Evidence, Plan
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.dataset import build_world, write_entries
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import Question, make_questions, make_unknowable
from quizglass_lab.pocketworld.world import World
from quizglass_lab.scoring.answers import exact_match

SEED = 7007
ASKED = 32
WORLD = build_world(SEED, 60, core=True)
QUESTIONS = make_questions(WORLD, ASKED, SEED, unseen_share=0.5)
UNKNOWABLE = make_unknowable(WORLD, 12, SEED)
OTHERS = 4
"""Of the things that no question is about, one in so many has an entry."""


def around(questions: Sequence[Question]) -> World:
    """The world with the things that questions are about or show, and few others: an entry costs its import."""
    wanted = {entry for question in questions for entry in question.gold_entries}
    wanted |= {placed.thing.id for question in questions for placed in question.scene.things}
    kept = (thing for number, thing in enumerate(WORLD.things) if thing.id in wanted or number % OTHERS == 0)
    return replace(WORLD, things=tuple(kept))


@pytest.fixture(scope="module")
def client(starter_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("starter")
    write_entries(around([*QUESTIONS, *UNKNOWABLE]), folder, size=112)
    with LocalServer(starter_bundle, folder / "knowledge") as server, Client(server.target, timeout=120) as connected:
        lines = read_entries(folder / "entries.jsonl")
        report = connected.add_entries(line.entry for line in lines if isinstance(line, GoodLine))
        assert not report.refused
        yield connected


@pytest.fixture(scope="module")
def answered(client: Client) -> dict[str, Answer]:
    return {q.id: ask(client, q) for q in QUESTIONS}


def ask(client: Client, question: Question) -> Answer:
    return client.answer(question.text, draw_scene(question.scene, 448), history=question.history, budget=60)


def test_most_questions_are_answered_right(answered: dict[str, Answer]) -> None:
    """The benchmark measures how many; this only tells a working bundle from a broken one."""
    right = sum(exact_match(answered[q.id].text, q.answer, q.aliases) for q in QUESTIONS)
    assert right >= ASKED // 2


def test_every_plan_occurs(answered: dict[str, Answer]) -> None:
    assert {answer.plan.plan for answer in answered.values() if answer.plan} == {
        Plan.NONE,
        Plan.IMAGE,
        Plan.TEXT,
        Plan.BOTH,
    }


def holds(passage: Evidence, span: str, calculated: str) -> bool:
    """Whether a passage has the words of an answer, or a number that the answer was calculated from."""
    text = f"{passage.title}: {passage.text}".casefold()
    operands = re.findall(r"\d+", calculated.partition(" = ")[0])
    return span.casefold() in text or not set(operands).isdisjoint(re.findall(r"\d+", text))


def test_supported_answers_cite_evidence_that_holds_them(answered: dict[str, Answer]) -> None:
    cited = [a for a in answered.values() if a.verdict and a.verdict.outcome == "supported"]
    assert cited
    for answer in cited:
        shown = {item.id: item for item in answer.evidence}
        assert answer.done.citations
        for citation in answer.done.citations:
            passage = shown[citation.evidence_id]
            assert passage.used
            calculated = answer.verdict.notes.get("calculated", "") if answer.verdict else ""
            assert holds(passage, answer.text[citation.start : citation.end], calculated)


def test_searches_follow_the_plan_and_look_again_for_the_rest(answered: dict[str, Answer]) -> None:
    for answer in answered.values():
        assert answer.plan is not None
        planned = {
            *(("image_search",) if answer.plan.plan in (Plan.IMAGE, Plan.BOTH) else ()),
            *(("text_search",) if answer.plan.plan in (Plan.TEXT, Plan.BOTH) else ()),
        }
        made = {timing.stage for timing in answer.done.timings} & {"image_search", "text_search"}
        first = {timing.stage for timing in answer.done.timings if not timing.round} & made
        assert first <= planned <= made
        assert made == planned or max(timing.round for timing in answer.done.timings) > 0


def test_what_no_source_knows_is_mostly_not_answered(client: Client) -> None:
    abstained = [answer for q in UNKNOWABLE if (answer := ask(client, q)).abstained]
    assert len(abstained) >= len(UNKNOWABLE) // 2
    assert all(answer.verdict and answer.verdict.outcome == "abstained" for answer in abstained)
