"""OmniSearch calls what its figure shows, whatever is missing (`pytest -k figure`)."""

from __future__ import annotations

from quizglass_server.policies.omnisearch import OmniSearch
from tests.support.policy_fakes import QUESTION, ScriptedTools, seen, titles


async def test_figure_of_omnisearch_asks_with_a_tool_until_it_answers() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"),
        next=["image", "text", "answer"],
        ask=[["What is it?"], ["Who made it?"]],
        answer=["x"],
    )
    await OmniSearch(published=False).answer(tools)
    assert tools.calls == [
        *("1 decide next", "1 queries ask", "1 search_image"),
        *("2 decide next", "2 queries ask", "2 search_text Who made it?"),
        *("3 decide next", "answer answer"),
    ]
    assert [call.also for call in tools.of("ask")] == [{"tool": "image"}, {"tool": "text"}]
    answered = tools.of("answer")[-1].state
    assert (titles(answered.seen), titles(answered.found)) == (["Velmora"], ["Who made it?"])


async def test_figure_of_omnisearch_takes_five_rounds_at_most_whatever_the_bundle_says() -> None:
    asked = [[str(number)] for number in range(9)]
    tools = ScriptedTools(next=["text"] * 9, ask=asked, texts=False, answer=["x"], most_rounds=3)
    assert (await OmniSearch(published=False).answer(tools)).text == "x"
    assert len(tools.of("search_text")) == len(tools.of("next")) == 5


async def test_figure_of_omnisearch_without_time_answers_and_without_a_sub_question_asks_the_question() -> None:
    assert (await OmniSearch(published=False).answer(ScriptedTools(rounds=0, answer=["x"]))).text == "x"
    assert ScriptedTools().of("ask") == []
    tools = ScriptedTools(next=["text"], ask=[[]], answer=["x"])
    await OmniSearch(published=False).answer(tools)
    assert [call.name for call in tools.of("search_text")] == [QUESTION]


async def test_figure_of_omnisearch_looks_up_the_rest_before_it_says_that_it_does_not_know() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"),
        next=["image", "answer"],
        ask=[["What is it?"]],
        rewrite=[["Who made the Velmora?"]],
        answer=["I don't know", "Tandric"],
    )
    assert (await OmniSearch(published=False).answer(tools)).text == "Tandric"
    assert tools.calls[-3:] == ["3 rewrite", "3 search_text Who made the Velmora?", "3 answer answer"]


async def test_figure_of_omnisearch_finds_pictures_for_a_text_where_a_prompt_shows_them() -> None:
    tools = ScriptedTools(
        pictures=seen("Tagrin", "Velmora"),
        finds_pictures=True,
        next=["text", "pictures", "pictures", "answer"],
        ask=[["Who made it?"], ["a Tagrin"], ["a Tagrin"]],
        answer=["x"],
    )
    await OmniSearch().answer(tools)
    assert tools.calls == [
        *("1 decide next", "1 queries ask", "1 search_text Who made it?"),
        *("2 decide next", "2 queries ask", "2 search_pictures a Tagrin"),
        *("3 decide next", "3 queries ask", "3 search_pictures a Tagrin"),
        *("4 decide next", "answer answer"),
    ]
    answered = tools.of("answer")[-1].state
    assert titles(answered.pictured) == ["Tagrin", "Velmora"], "each once"
    assert not answered.seen, "the wearer's picture need not show them"
    assert answered.shown[-2:] == tuple(item.id for item in answered.pictured)
