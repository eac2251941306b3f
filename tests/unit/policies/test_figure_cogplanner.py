"""CogPlanner and what it is compared with call what their figure shows, whatever is missing (`pytest -k figure`)."""

from __future__ import annotations

import pytest

from quizglass_server.policies.cogplanner import Action, CogPlanner
from quizglass_server.policies.cogplanner_baselines import OneSearch, SelfReflective
from tests.support.policy_fakes import QUESTION, ScriptedTools, seen, titles

PARALLEL = CogPlanner("parallel", parallel=True, published=False)
SEQUENTIAL = CogPlanner("sequential", parallel=False, published=False)
HOPS = ("What is it?", "Who founded Tandric?", "Where was Ana Bex born?")


async def test_figure_of_cogplanner_in_parallel_decides_both_from_the_state_before() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"), reformulate=[[hop] for hop in HOPS], act=["image", "text", "text"], answer=["Brenn"]
    )
    draft = await PARALLEL.answer(tools)
    assert tools.calls == [
        *("1a queries reformulate", "1b decide act", "1 search_image <= 6"),
        *("2a queries reformulate", "2b decide act", "2 search_text Who founded Tandric? <= 5"),
        *("3a queries reformulate", "3b decide act", "3 search_text Where was Ana Bex born? <= 5"),
        "answer answer",
    ]
    assert tools.most_at_once == 2
    for reformulate, act in zip(tools.of("reformulate"), tools.of("act"), strict=True):
        assert reformulate.state == act.state
    assert [call.state.queries for call in tools.of("act")] == [(), HOPS[:1], HOPS[1:2]]
    asked = tools.of("answer")[0].state
    assert (asked.question, asked.queries) == (QUESTION, HOPS[2:])
    assert (titles(asked.seen), titles(asked.found)) == (["Velmora"], list(reversed(HOPS[1:])))
    assert draft.text == "Brenn"


async def test_figure_of_cogplanner_in_sequence_acts_on_the_new_queries() -> None:
    tools = ScriptedTools(reformulate=[["a", "b"], ["c"]], act=["text", "none"], answer=["yes"])
    await SEQUENTIAL.answer(tools)
    assert tools.calls == [
        *("1 queries reformulate", "1 decide act", "1 search_text a, b <= 5"),
        *("2 queries reformulate", "2 decide act", "answer answer"),
    ]
    assert tools.most_at_once == 1
    assert [call.state.queries for call in tools.of("act")] == [("a", "b"), ("c",)]
    answered = tools.of("answer")[0].state
    assert answered.queries == ("c",)
    assert titles(answered.found) == ["a", "b"]


@pytest.mark.parametrize("policy", [PARALLEL, SEQUENTIAL])
async def test_figure_of_cogplanner_ends_at_none_without_any_search(policy: CogPlanner) -> None:
    tools = ScriptedTools(reformulate=[["clearer"]], act=["none"], answer=["red"])
    assert (await policy.answer(tools)).text == "red"
    assert tools.of("search_text") == tools.of("search_image") == []
    assert tools.of("answer")[0].state.queries == ("clearer",)


@pytest.mark.parametrize("policy", [PARALLEL, SEQUENTIAL])
async def test_figure_of_cogplanner_searches_the_same_once_and_takes_three_rounds_at_most(policy: CogPlanner) -> None:
    tools = ScriptedTools(reformulate=[["a"], ["a", "b"], ["a"]], act=["text", "text", "image"], answer=["x"])
    await policy.answer(tools)
    assert [call.name for call in tools.of("search_text")] == ["a <= 5", "b <= 5"]
    assert len(tools.of("act")) == 3
    pictures = ScriptedTools(pictures=seen("V"), reformulate=[["a"]] * 9, act=["image"] * 9, answer=["x"])
    await policy.answer(pictures)
    assert len(pictures.of("search_image")) == 1
    assert titles(pictures.of("answer")[0].state.seen) == ["V"]
    assert len(pictures.of("act")) == 2, "the third round would be decided from the same"


@pytest.mark.parametrize("policy", [PARALLEL, SEQUENTIAL])
async def test_figure_of_cogplanner_without_time_or_lines_asks_the_question_itself(policy: CogPlanner) -> None:
    assert (await policy.answer(ScriptedTools(rounds=0, answer=["x"]))).text == "x"
    nothing = ScriptedTools(answer=["x"])
    await policy.answer(nothing)
    assert nothing.of("search_text") == []
    empty = ScriptedTools(reformulate=[["", ""], []], act=["text", "none"], texts=False, answer=["x"])
    await policy.answer(empty)
    assert [call.name for call in empty.of("search_text")] == [f"{QUESTION} <= 5"]
    assert empty.of("answer")[0].state.found == ()


@pytest.mark.parametrize(("bundle", "most"), [(None, 3), (5, 5)])
async def test_figure_of_cogplanner_takes_three_rounds_or_what_the_bundle_says(bundle: int | None, most: int) -> None:
    for policy in (PARALLEL, SEQUENTIAL):
        tools = ScriptedTools(
            reformulate=[[str(number)] for number in range(9)], act=["text"] * 9, answer=["x"], most_rounds=bundle
        )
        await policy.answer(tools)
        assert len(tools.of("act")) == most
    graded = ScriptedTools(answer=["x"] * 9, grade=["not enough"] * 9, again=[["a"], ["b"]] * 9, most_rounds=bundle)
    await SelfReflective(published=False).answer(graded)
    assert len(graded.of("grade")) == most


@pytest.mark.parametrize(
    ("first", "actions", "lookups"),
    [
        ("I don't know", ["none"], ["2 search_image", "2 rewrite", "2 search_text Who made the Velmora?"]),
        ("a guess", ["none"], ["2 search_image", "2 rewrite", "2 search_text Who made the Velmora?"]),
        ("I don't know", ["image", "none"], ["3 rewrite", "3 search_text Who made the Velmora?"]),
        (
            "I don't know",
            ["text", "none"],
            ["3 search_image", "3 rewrite", "3 search_text Who made the Velmora?"],
        ),
    ],
)
async def test_figure_of_cogplanner_looks_up_the_rest_before_it_says_that_it_does_not_know(
    first: str, actions: list[str], lookups: list[str]
) -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"),
        act=actions,
        reformulate=[["Who made it?"], ["Who made it?"]],
        rewrite=[["Who made the Velmora?"]],
        answer=[first, "Tandric"],
        guessed=["a guess"],
    )
    assert (await SEQUENTIAL.answer(tools)).text == "Tandric"
    assert tools.calls[-len(lookups) - 1 :] == [*lookups, f"{lookups[0][0]} answer answer"]


async def test_figure_of_cogplanner_looks_up_nothing_twice_for_what_it_does_not_know() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"),
        act=["image", "text", "none"],
        reformulate=[["a"], ["b"], ["b"]],
        answer=["I don't know", "Tandric"],
    )
    assert (await SEQUENTIAL.answer(tools)).text == "I don't know"
    assert len(tools.of("answer")) == len(tools.of("search_text")) == len(tools.of("search_image")) == 1


async def test_figure_of_one_search_looks_up_the_question_as_it_was_asked() -> None:
    text, image = OneSearch("t", Action.TEXT), OneSearch("i", Action.IMAGE)
    tools = ScriptedTools(answer=["x"])
    await text.answer(tools)
    assert tools.calls == [f"search_text {QUESTION} <= 5", "answer answer"]
    assert titles(tools.of("answer")[0].state.found) == [QUESTION]
    tools = ScriptedTools(pictures=seen("V", "W"), answer=["x"])
    await image.answer(tools)
    assert tools.calls == ["search_image <= 6", "answer answer"]
    assert titles(tools.of("answer")[0].state.seen) == ["V", "W"]
    assert "text_encoder" not in image.needs
    assert "image_encoder" not in text.needs


async def test_figure_of_self_reflection_searches_again_until_the_grade_is_good() -> None:
    tools = ScriptedTools(
        pictures=seen("V"), answer=["first", "second"], grade=["not enough", "enough"], again=[["better"]]
    )
    draft = await SelfReflective(published=False).answer(tools)
    assert tools.calls == [
        "search_image <= 6",
        *(f"1 search_text {QUESTION} <= 5", "1 write answer", "1 decide grade"),
        *("2 queries again", "2 search_text better <= 5", "2 write answer", "2 decide grade"),
    ]
    assert tools.of("again")[0].also == {"answer": "first"}
    assert [call.also for call in tools.of("grade")] == [{"answer": "first"}, {"answer": "second"}]
    assert draft.text == "second"
    assert tools.given == [(draft, False)]


async def test_figure_of_self_reflection_gives_the_last_draft_after_three_rounds_and_answers_without_any() -> None:
    tools = ScriptedTools(answer=["1", "2", "3", "4"], grade=["not enough"] * 9, again=[["a"], ["b"], ["c"]])
    assert (await SelfReflective(published=False).answer(tools)).text == "3"
    assert len(tools.of("search_text")) == 3
    assert (await SelfReflective(published=False).answer(ScriptedTools(rounds=0, answer=["x"]))).text == "x"
    cut = ScriptedTools(answer=["1", None], grade=["not enough", "not enough"], again=[["a"]], rounds=2)
    assert (await SelfReflective(published=False).answer(cut)).text == "1"


async def test_figure_of_self_reflection_ends_where_it_would_ask_the_same_again() -> None:
    tools = ScriptedTools(answer=["1", "2", "3"], grade=["not enough"] * 9, again=[["a"], ["a"], ["b"]])
    assert (await SelfReflective(published=False).answer(tools)).text == "2"
    assert len(tools.of("answer")) == 2
    unchanged = ScriptedTools(answer=["1", "2"], grade=["not enough"] * 9, again=[[QUESTION]])
    assert (await SelfReflective(published=False).answer(unchanged)).text == "1"
