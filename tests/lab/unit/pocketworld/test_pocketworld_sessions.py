"""Sessions: turns in order, each with the gold answers of those before, and every way to go on."""

import re
from collections import Counter
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_lab.pocketworld.articles import world_articles
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions import make_sessions
from quizglass_lab.pocketworld.world import World, core_world, is_core, make_world, taught, with_core


def sessions_of(questions: list[Question]) -> list[list[Question]]:
    return [list(turns) for _, turns in groupby(questions, key=lambda question: question.session)]


@pytest.fixture(scope="module")
def world() -> World:
    return with_core(make_world(77, 300, format=2), core_world(2))


@pytest.fixture(scope="module")
def sessions(world: World) -> list[list[Question]]:
    return sessions_of(make_sessions(world, 400, 3, unseen_share=0.5))


def test_a_session_has_two_to_six_turns_and_its_history_is_gold(sessions: list[list[Question]]) -> None:
    assert len(sessions) == len({turns[0].session for turns in sessions}) == 400
    assert set(Counter(map(len, sessions))) == {2, 3, 4, 5, 6}
    for turns in sessions:
        said = tuple((question.text, question.answer) for question in turns)
        assert [question.history for question in turns] == [said[:number] for number in range(len(turns))]
        assert [question.id for question in turns] == [f"{turns[0].session}-{n}" for n in range(len(turns))]


def test_every_way_to_go_on_occurs(sessions: list[list[Question]], world: World) -> None:
    names = {thing.id: thing.name for thing in world.things}
    ways: Counter[str] = Counter()
    for turns in sessions:
        for before, now in pairwise(turns):
            shown = {placed.thing.id for placed in now.scene.things}
            ways["pronoun"] += " it" in now.text and now.target == before.target
            ways["name"] += names[now.target or ""] in now.text
            ways["named, not in the picture"] += now.target not in shown
            ways["picture"] += now.scene != before.scene
            ways["switch"] += now.scene == before.scene and now.target != before.target and now.target in shown
            ways["return"] += now.target == turns[0].target != before.target
    assert min(ways.values()) > 30, ways
    assert len(ways) == 6


def test_it_is_what_the_turn_before_was_about(sessions: list[list[Question]]) -> None:
    for turns in sessions:
        said = [question.text.replace("Who was it that", "") for question in turns]
        assert not re.search(r"\bit\b", said[0])
        for (before, now), text in zip(pairwise(turns), said[1:], strict=True):
            assert now.target == before.target or not re.search(r"\bit\b", text)


def test_a_turn_needs_the_picture_only_for_things_without_a_name_so_far(
    sessions: list[list[Question]], world: World
) -> None:
    things = {thing.id: thing for thing in world.things}
    for turns in sessions:
        for question in turns:
            thing = things[question.target or ""]
            said = " ".join((question.text, *(text for turn in question.history for text in turn)))
            if question.group in ("image", "both"):
                assert thing.name not in said
                assert not taught(thing, "name")
            if any(hop.action == "image" for hop in question.hops):
                assert thing.name not in said
                assert thing.id in {placed.thing.id for placed in question.scene.things}


def test_half_of_what_is_asked_about_is_new(sessions: list[list[Question]], world: World) -> None:
    things = {thing.id: thing for thing in world.things}
    asked = [things[question.target or ""] for turns in sessions for question in turns]
    assert abs(sum(not is_core(thing) for thing in asked) / len(asked) - 0.5) < 0.06


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(2, 2**31), things=st.integers(3, 60))
def test_sessions_follow_from_the_seed_and_their_hops_lead_to_the_answer(seed: int, things: int) -> None:
    world = make_world(seed, things, format=2)
    questions = make_sessions(world, 30, seed)
    assert questions == make_sessions(world, 30, seed)
    assert len({question.id for question in questions}) == len(questions)
    articles = {article.id: article for article in world_articles(world)}
    for question in questions:
        if not question.hops:
            assert question.answer in {answered for _, answered in question.history} or question.group == "none"
            continue
        last = question.hops[-1]
        assert question.answer == last.answer or question.answer in articles[last.entry].caption
        assert [hop.round for hop in question.hops] == list(range(len(question.hops)))
