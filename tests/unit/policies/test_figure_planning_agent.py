"""The planning agent calls what its figure shows, whatever is missing (`pytest -k figure`)."""

from __future__ import annotations

from typing import Any

import pytest

from quizglass_server.policies import POLICIES
from tests.support.policy_fakes import ScriptedTools, seen, titles


async def test_figure_of_the_planning_agent_with_the_answerer_of_core() -> None:
    agent = POLICIES["planning-agent-reconciled"]
    tools = ScriptedTools(
        planner=["text"], rewrite=[["who made it"]], answer=["Orvex", "Tandric"], weigh=["why"], reconcile=["Tandric"]
    )
    draft = await agent.answer(tools)
    assert tools.calls == [
        *("decide planner", "rewrite", "search_text who made it", "a write answer", "b write answer"),
        *("write weigh", "answer reconcile"),
    ]
    assert draft.notes["believed"] == "external"
    nothing = ScriptedTools(planner=["none"], answer=["Orvex"])
    await agent.answer(nothing)
    assert nothing.calls == ["decide planner", "answer answer"]


@pytest.mark.parametrize("name", ["planning-agent+", "prompt-based+"])
async def test_figure_of_the_planning_agent_goes_on_to_text_where_nothing_is_known_but_a_tag(name: str) -> None:
    agent = POLICIES[name]
    task = "planner" if name == "planning-agent+" else "plan"
    known = ScriptedTools(pictures=seen("Koala"), tags=("koala",), **{task: ["image"]}, answer=["leaves"])
    await agent.answer(known)
    unknown = ScriptedTools(**{task: ["image"]}, answer=["leaves"])
    await agent.answer(unknown)
    for tools in (known, unknown):
        assert tools.calls == [f"decide {task}", "search_image", "answer answer"]
    tagged = ScriptedTools(
        tags=("koala",), **{task: ["image"]}, rewrite=[["What does a koala eat?"]], answer=["leaves"]
    )
    await agent.answer(tagged)
    assert tagged.calls == [
        *(f"decide {task}", "search_image", "rewrite", "search_text What does a koala eat?", "answer answer")
    ]


@pytest.mark.parametrize(
    ("plan", "lookups"),
    [("none", ["1 search_image"]), ("image", [])],
)
async def test_figure_of_the_planning_agent_looks_up_the_rest_before_it_says_that_it_does_not_know(
    plan: str, lookups: list[str]
) -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"), planner=[plan], rewrite=[["Who made the Velmora?"]], answer=["I don't know", "Orvex"]
    )
    assert (await POLICIES["planning-agent+"].answer(tools)).text == "Orvex"
    text = ["1 rewrite", "1 search_text Who made the Velmora?", "1 answer answer"]
    assert tools.calls[-len(lookups + text) :] == lookups + text
    last = tools.of("answer")[-1].state
    assert (titles(last.seen), titles(last.found)) == (["Velmora"], ["Who made the Velmora?"])


@pytest.mark.parametrize(
    "missing",
    [{"rounds": 0}, {"texts": False, "pictures": ()}, {"pictures": seen("V")}],
    ids=["time", "hits", "answer"],
)
async def test_figure_of_the_planning_agent_gives_its_first_answer_where_a_second_look_brings_no_other(
    missing: dict[str, Any],
) -> None:
    tools = ScriptedTools(planner=["none"], answer=["I don't know"], **missing)
    assert (await POLICIES["planning-agent+"].answer(tools)).text == "I don't know"
    assert [draft.text for draft, _ in tools.given] == ["I don't know"]


async def test_figure_of_the_planning_agent_looks_for_text_again_by_what_the_picture_showed() -> None:
    queries = [["Who made it?"], ["Who made the Velmora?"]]
    tools = ScriptedTools(pictures=seen("Velmora"), planner=["text"], rewrite=queries, answer=["I don't know", "Orvex"])
    assert (await POLICIES["planning-agent+"].answer(tools)).text == "Orvex"
    assert tools.calls[-4:] == [
        *("1 search_image", "1 rewrite", "1 search_text Who made the Velmora?", "1 answer answer")
    ]
    assert titles(tools.of("answer")[-1].state.found) == ["Who made the Velmora?", "Who made it?"]
    nothing = ScriptedTools(planner=["text"], rewrite=queries, answer=["I don't know"])
    await POLICIES["planning-agent+"].answer(nothing)
    assert len(nothing.of("search_text")) == 1


async def test_figure_of_the_planning_agent_looks_up_the_picture_first_where_a_name_is_a_guess() -> None:
    guess, query = ["What does the Tandric cost?"], ["What does the Velmora cost?"]
    script = {"planner": ["text"], "answer": ["45 crowns"], "guessed": guess}
    tools = ScriptedTools(pictures=seen("Velmora"), rewrite=[guess, query], **script)
    await POLICIES["planning-agent+"].answer(tools)
    looked = ["1 search_image", "1 rewrite", f"1 search_text {query[0]}"]
    assert tools.calls == ["decide planner", "rewrite", *looked, "answer answer"]
    assert titles(tools.of("answer")[-1].state.seen) == ["Velmora"]
    for missing in ({"rounds": 0, "pictures": seen("Velmora")}, {"pictures": ()}):
        tools = ScriptedTools(rewrite=[guess, query], **script, **missing)
        await POLICIES["planning-agent+"].answer(tools)
        assert tools.calls[-2:] == [f"search_text {guess[0]}", "answer answer"]


async def test_figure_of_the_planning_agent_looks_up_a_picture_once_that_shows_nothing_known() -> None:
    guess = ["What does the Tandric cost?"]
    tools = ScriptedTools(rewrite=[guess], planner=["text"], answer=["I don't know"], guessed=guess)
    assert (await POLICIES["planning-agent+"].answer(tools)).text == "I don't know"
    assert tools.of("search_image") == tools.of("search_image")[:1]


async def test_figure_of_the_planning_agent_looks_up_nothing_twice() -> None:
    tools = ScriptedTools(pictures=seen("V"), planner=["both"], answer=["I don't know", "Orvex"])
    assert (await POLICIES["planning-agent+"].answer(tools)).text == "I don't know"
    assert len(tools.of("answer")) == len(tools.of("search_text")) == 1


async def test_figure_of_one_search_by_picture_looks_no_text_up_for_a_tag() -> None:
    tools = ScriptedTools(tags=("koala",), answer=["I don't know"])
    await POLICIES["image"].answer(tools)
    assert tools.of("search_text") == []
