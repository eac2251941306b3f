"""How a question is rewritten to stand alone, and when it is written again without the picture."""

from __future__ import annotations

from typing import Any

import pytest

from quizglass.values import Exchange, QueryRewritten, TurnEvent
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Turn
from quizglass_server.policies.tools import Tools
from tests.support.scripted_policy import of
from tests.support.turn_fakes import World, turn


async def _rewritten(ask: Any, world: World, asked: Turn) -> tuple[list[str], list[TurnEvent]]:
    """What a rewriting of the question gives, with nothing looked up, and the turn's events."""
    queries: list[str] = []

    async def run(tools: Tools) -> Draft:
        queries.extend(await tools.rewrite(tools.start()))
        return Draft()

    return queries, await ask(world, run, asked=asked)


@pytest.mark.parametrize(
    ("sees", "history", "written"),
    [(False, (), False), (True, (), True), (False, (Exchange("What is this?", "The Velmora"),), True)],
)
async def test_a_question_is_rewritten_where_its_writer_has_more_than_the_question(
    ask: Any, sees: bool, history: tuple[Exchange, ...], written: bool
) -> None:
    world = World()
    world.models.sees = sees
    queries, events = await _rewritten(ask, world, turn(history=history))
    assert queries == (["How much does the Velmora cost?"] if written else ["How much does this cost?"])
    assert len(world.models.calls.of("rewrite")) == written
    assert len(of(QueryRewritten, events)) == written


async def test_where_the_writer_of_queries_knows_nothing_the_question_stands(ask: Any) -> None:
    world = World()
    world.models.query = ["I don't know"]
    queries, events = await _rewritten(ask, world, turn())
    assert queries == ["How much does this cost?"]
    assert of(QueryRewritten, events) == []


@pytest.mark.parametrize(("name", "accept"), [("Ozric", 0.6), ("Ozric", 0.4), ("Velmora", 0.6)])
async def test_a_name_of_its_own_is_written_again_by_what_was_found_alone(ask: Any, name: str, accept: float) -> None:
    world = World(memory_accept=accept)  # the least probable token of a query has 0.5
    world.models.query = [" How much does the", f" {name} cost?"]
    said: list[bool] = []

    async def run(tools: Tools) -> Draft:
        said.append(tools.guessed(await tools.rewrite(tools.start())))
        said.append(tools.guessed(await tools.rewrite(tools.start().having(await tools.search_image()))))
        return await tools.answer(tools.start())

    await ask(world, run)
    shown = [len(request.pictures) for request in world.models.calls.of("rewrite")]
    guess = accept == 0.6
    assert shown == ([1, 1, 0, 0] if name == "Ozric" else [1, 1]), "first by what was found, then by its name as well"
    assert said == [guess, guess and name == "Ozric"]


@pytest.mark.parametrize(("what", "accept", "times"), [("this", 0.6, 2), ("this", 0.4, 1), ("the car", 0.6, 1)])
async def test_a_question_that_still_points_is_written_again_by_what_was_found_alone(
    ask: Any, what: str, accept: float, times: int
) -> None:
    world = World(memory_accept=accept)
    world.models.query = [" How much", f" does {what} cost?"]

    async def run(tools: Tools) -> Draft:
        await tools.rewrite(tools.start().having(await tools.search_image()))
        return await tools.answer(tools.start())

    await ask(world, run)
    assert len(world.models.calls.of("rewrite")) == times


async def test_a_writer_that_does_not_see_is_not_asked_again_to_go_by_what_it_goes_by_already(ask: Any) -> None:
    world = World(memory_accept=0.6)
    world.models.sees = False
    world.models.needs = frozenset({"question", "seen"})
    world.models.query = [" How much does the", " Ozric cost?"]

    async def run(tools: Tools) -> Draft:
        await tools.rewrite(tools.start().having(await tools.search_image()))
        return await tools.answer(tools.start())

    await ask(world, run)
    questions = [request.values["question"] for request in world.models.calls.of("rewrite")]
    assert questions == ["How much does this cost?", "How much does the Velmora cost?"], "but it is given the name"


@pytest.mark.parametrize(("words", "times"), [("", 3), ("OZRIC", 1)])
async def test_a_name_that_only_an_earlier_query_has_is_a_guess_still(ask: Any, words: str, times: int) -> None:
    world = World(memory_accept=0.6)
    world.models.lines = [words] if words else []
    world.models.query = [" How much does the", " Ozric cost?"]

    async def run(tools: Tools) -> Draft:
        state = tools.start().asking(["What does the Ozric cost?"])
        await tools.rewrite(state.having(await tools.search_image()))
        return await tools.answer(tools.start())

    await ask(world, run)
    assert len(world.models.calls.of("rewrite")) == times


async def test_a_writer_whose_memory_is_trusted_may_have_a_name_of_its_own(ask: Any) -> None:
    world = World()
    world.models.query = [" How much does the", " Ozric cost?"]

    async def run(tools: Tools) -> Draft:
        await tools.rewrite(tools.start().having(await tools.search_image()))
        return await tools.answer(tools.start())

    await ask(world, run)
    assert len(world.models.calls.of("rewrite")) == 1


@pytest.mark.parametrize("again", ["", " I don't know"])
async def test_a_second_writing_that_says_nothing_leaves_the_first(ask: Any, again: str) -> None:
    world = World(memory_accept=0.6)
    world.models.query = [" How much does the", " Ozric cost?"]
    queries: list[str] = []

    async def without_the_picture() -> None:
        if len(world.models.calls.of("rewrite")) == 2:
            world.models.query = [again]

    world.models.before["rewrite"] = without_the_picture

    async def run(tools: Tools) -> Draft:
        queries.extend(await tools.rewrite(tools.start().having(await tools.search_image())))
        return await tools.answer(tools.start())

    await ask(world, run)
    assert queries == ["How much does the Ozric cost?"]


BEFORE = (Exchange("What is the boat called?", "The Ozric"),)


@pytest.mark.parametrize(
    ("question", "first", "second", "query"),
    [
        ("How much does the car cost?", "Ozric", "the Velmora", "the Velmora"),
        ("How much does the car cost?", "Ozric", "the Zorbul", "the Ozric"),
        ("How much does the car cost?", "Ozric", "the car", "the Ozric"),
        ("How much does the car cost?", "Velmora", None, "the Velmora"),
        ("How much does it cost?", "Ozric", None, "the Ozric"),
        ("How much does the Ozric cost?", "Ozric", None, "the Ozric"),
    ],
)
async def test_a_name_from_the_dialogue_for_what_is_seen_is_written_again_without_the_dialogue(
    ask: Any, question: str, first: str, second: str | None, query: str
) -> None:
    world = World()
    world.models.query = [" How much does the", f" {first} cost?"]

    async def without_the_dialogue() -> None:
        if len(world.models.calls.of("rewrite")) == 2:
            world.models.query = [" How much does", f" {second} cost?"]

    world.models.before["rewrite"] = without_the_dialogue
    queries: list[str] = []

    async def run(tools: Tools) -> Draft:
        queries.extend(await tools.rewrite(tools.start().having(await tools.search_image())))
        return await tools.answer(tools.start())

    await ask(world, run, asked=turn(question, history=BEFORE))
    told = [len(request.values["history"]) for request in world.models.calls.of("rewrite")]
    assert queries == [f"How much does {query} cost?"]
    assert told == ([1] if second is None else [1, 0])


@pytest.mark.parametrize(
    ("question", "again", "query", "times"),
    [
        ("Is the Ozric older than this?", "the Ozric or the Velmora", "the Ozric or the Velmora", 2),
        ("Is the Ozric older than this?", "the Velmora or the Velmora", "the Ozric or the Ozric", 2),
        ("Is the Ozric older than this?", "", "the Ozric or the Ozric", 2),
        ("Is the boat older than this car?", "the Ozric or the Velmora", "the Ozric or the Ozric", 1),
    ],
)
async def test_a_query_that_compares_a_thing_with_itself_is_written_again_with_what_was_recognised_named(
    ask: Any, question: str, again: str, query: str, times: int
) -> None:
    world, queries = World(seen=1), list[str]()
    world.models.query = [" Which is older,", " the Ozric or the Ozric?"]

    async def named() -> None:
        if len(world.models.calls.of("rewrite")) == 2:
            world.models.query = [f" Which is older, {again}?"] if again else [""]

    world.models.before["rewrite"] = named

    async def run(tools: Tools) -> Draft:
        queries.extend(await tools.rewrite(tools.start().having(await tools.search_image())))
        return await tools.answer(tools.start())

    await ask(world, run, asked=turn(question))
    assert queries == [f"Which is older, {query}?"]
    asked = world.models.calls.of("rewrite")
    assert len(asked) == times
    if times == 2:
        assert asked[1].values["question"] == "Is the Ozric older than the Velmora?"
        assert (asked[1].values["seen"], asked[1].pictures) == ([], ())


async def test_a_query_that_names_one_thing_twice_is_a_guess(ask: Any) -> None:
    world = World()
    world.models.query = [" Which is older,", " the Velmora or the Velmora?"]
    guesses: list[bool] = []

    async def run(tools: Tools) -> Draft:
        guesses.append(tools.guessed(await tools.rewrite(tools.start())))
        return await tools.answer(tools.start())

    await ask(world, run, asked=turn("Is the Velmora older than this?"))
    assert guesses == [True]
