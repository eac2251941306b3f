"""The adaptive policy does what its figure shows: the planning agent's path, then rounds where something is missing."""

from __future__ import annotations

import pytest

from quizglass_server.policies.adaptive import Adaptive
from tests.support.policy_fakes import QUESTION, ScriptedTools, seen, titles

NOTHING = "I don't know"
PICTURE_AND_TEXT = ("decide planner", "search_image", "rewrite", "search_text Who made the Velmora?")


async def _answered(**script: object) -> tuple[ScriptedTools, str]:
    tools = ScriptedTools(pictures=seen("Velmora"), rewrite=[["Who made the Velmora?"]] * 2, **script)
    return tools, (await Adaptive().answer(tools)).text


@pytest.mark.parametrize("plan", ["none", "image"])
async def test_figure_of_adaptive_asks_for_no_more_before_text_was_searched_for(plan: str) -> None:
    tools, text = await _answered(planner=[plan], answer=["red"])
    assert text == "red"
    assert tools.calls == ["decide planner", *(["search_image"] if plan == "image" else []), "answer answer"]


async def test_figure_of_adaptive_tells_the_planned_answer_where_nothing_is_missing() -> None:
    tools, text = await _answered(planner=["both"], act=["none"], answer=["Tandric"])
    assert text == "Tandric"
    assert tools.calls == [*PICTURE_AND_TEXT, "decide act", "answer answer"]


async def test_figure_of_adaptive_goes_on_in_rounds_from_what_the_picture_showed() -> None:
    tools, text = await _answered(
        planner=["both"], act=["text", "text", "none"], reformulate=[["Who founded Tandric?"]] * 2, answer=["Ana Bex"]
    )
    assert text == "Ana Bex"
    assert tools.calls == [
        *PICTURE_AND_TEXT,
        "decide act",
        *("1 queries reformulate", "1 decide act", "1 search_text Who founded Tandric? <= 5"),
        *("2 queries reformulate", "2 decide act", "answer answer"),
    ]
    state = tools.of("answer")[0].state
    assert (state.question, state.queries) == (QUESTION, ("Who founded Tandric?",))
    assert titles(state.seen) == ["Velmora"]
    assert titles(state.found) == ["Who founded Tandric?"]
    begun = tools.of("reformulate")[0].state
    assert (titles(begun.seen), begun.found, begun.queries) == (["Velmora"], (), ())


async def test_figure_of_adaptive_looks_up_the_rest_and_then_goes_on_where_the_answer_is_not_known() -> None:
    tools, text = await _answered(
        planner=["none"],
        act=["text", "none"],
        reformulate=[["Who founded Tandric?"]] * 2,
        answer=[NOTHING, NOTHING, "Ana"],
    )
    assert text == "Ana"
    assert tools.calls == [
        *("decide planner", "answer answer"),
        *("1 search_image", "1 rewrite", "1 search_text Who made the Velmora?", "1 answer answer"),
        *("2 queries reformulate", "2 decide act", "2 search_text Who founded Tandric? <= 5"),
        *("3 queries reformulate", "3 decide act", "answer answer"),
    ]


async def test_figure_of_adaptive_says_that_it_does_not_know_where_rounds_find_no_more() -> None:
    tools, text = await _answered(planner=["both"], act=["none", "none"], reformulate=[["again"]], answer=[NOTHING])
    assert text == NOTHING
    assert tools.calls[-3:] == ["answer answer", "1 queries reformulate", "1 decide act"]
    assert [draft.text for draft, _ in tools.given] == [NOTHING]
    tools, text = await _answered(planner=["both"], act=["none"], rounds=0, answer=[NOTHING])
    assert text == NOTHING
    assert tools.calls == [*PICTURE_AND_TEXT, "decide act", "answer answer"]


async def test_figure_of_adaptive_answers_from_what_the_plan_found_where_rounds_find_nothing() -> None:
    tools, text = await _answered(planner=["both"], act=["text", "none"], reformulate=[["again"]], answer=["Tandric"])
    assert text == "Tandric"
    state = tools.of("answer")[0].state
    assert (titles(state.seen), titles(state.found)) == (["Velmora"], ["Who made the Velmora?"])


async def test_figure_of_adaptive_looks_the_picture_up_once() -> None:
    tools, _ = await _answered(
        planner=["both"], act=["image", "image"], reformulate=[["a"], ["b"]], answer=[NOTHING, "x"]
    )
    assert len(tools.of("search_image")) == 1


async def test_figure_of_adaptive_looks_up_by_text_what_rounds_found_the_picture_to_show() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"),
        planner=["text"],
        rewrite=[["Who made it?"], ["Who made the Velmora?"]],
        act=["image", "image", "none"],
        reformulate=[["a"], ["a"]],
        answer=[NOTHING, "Tandric"],
    )
    assert (await Adaptive().answer(tools)).text == "Tandric"
    assert tools.calls[-4:] == ["answer answer", "3 rewrite", "3 search_text Who made the Velmora?", "3 answer answer"]
    assert titles(tools.of("rewrite")[1].state.seen) == ["Velmora"]


@pytest.mark.parametrize("plan", ["none", "image", "both"])
async def test_figure_of_adaptive_looks_a_picture_that_shows_nothing_known_up_once(plan: str) -> None:
    tools = ScriptedTools(
        planner=[plan],
        act=["image", "text", "image"],
        reformulate=[["a"], ["b"], ["c"]],
        rewrite=[["Who made it?"]] * 2,
        answer=[NOTHING, NOTHING, NOTHING],
    )
    await Adaptive().answer(tools)
    assert len(tools.of("search_image")) == 1


async def test_figure_of_adaptive_looks_a_picture_up_once_that_a_guessed_name_had_looked_up() -> None:
    tools = ScriptedTools(
        planner=["text"],
        act=["none", "image", "text"],
        rewrite=[["Who made the Tagrin?"], ["Who made the Velmora?"], ["Who made it?"]],
        reformulate=[["a"], ["b"]],
        answer=[NOTHING, NOTHING],
        guessed=["Who made the Tagrin?"],
        pictures=seen("Velmora"),
    )
    await Adaptive().answer(tools)
    assert len(tools.of("search_image")) == 1
