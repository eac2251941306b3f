"""Published systems call what their papers' figures show, and nothing of ours (`pytest -k figure`).

Each turn gives this server a reason to do more than the paper: an answer that is not known, a name that is a guess, a
tag, an entry that does not fit, a budget of more rounds.
"""

from __future__ import annotations

from typing import Any

import pytest

from quizglass.values import AbstainReason
from quizglass_server.policies import POLICIES
from tests.support.policy_fakes import QUESTION, ScriptedTools, passages, seen, titles

LACKING = "I don't know"
TEMPTED: dict[str, Any] = {"pictures": seen("Velmora"), "tags": ("car",), "words": True, "most_rounds": 5}
"""What a form with a plus would make use of."""


@pytest.mark.parametrize(
    ("plan", "lookups"),
    [
        ("none", []),
        ("image", ["search_image"]),
        ("text", ["rewrite", "search_text Who made it?"]),
        ("both", ["search_image", "rewrite", "search_text Who made it?"]),
    ],
)
@pytest.mark.parametrize("name", ["planning-agent", "prompt-based"])
async def test_figure_of_the_published_planning_agent_follows_its_plan_and_ends(
    name: str, plan: str, lookups: list[str]
) -> None:
    asked = "planner" if name == "planning-agent" else "plan"
    told: dict[str, Any] = {**TEMPTED, asked: [plan], "rewrite": [["Who made it?"]]}
    tools = ScriptedTools(**told, guessed=["Who made it?"], answer=[LACKING])
    assert (await POLICIES[name].answer(tools)).text == LACKING
    assert tools.calls == [f"decide {asked}", *lookups, "answer answer"]


async def test_figure_of_the_published_planning_agent_searches_no_text_for_a_picture_that_shows_nothing_known() -> None:
    tools = ScriptedTools(**{**TEMPTED, "pictures": ()}, planner=["image"], answer=[LACKING])
    await POLICIES["planning-agent"].answer(tools)
    assert tools.calls == ["decide planner", "search_image", "answer answer"]


async def test_figure_of_published_always_both_keeps_what_the_picture_shows_of_another_thing() -> None:
    asked: dict[str, Any] = {
        "question": "Who made the Velmora?",
        "pictures": seen("Tagrin"),
        "found": passages(["Velmora"]),
    }
    published = ScriptedTools(**asked, rewrite=[["Who made the Velmora?"]], answer=["x"])
    await POLICIES["always-both"].answer(published)
    assert published.calls == [
        *("fixed both", "search_image", "rewrite", "search_text Who made the Velmora?", "answer answer")
    ]
    assert titles(published.of("answer")[0].state.seen) == ["Tagrin"]
    ours = ScriptedTools(**asked, rewrite=[["Who made the Velmora?"]], answer=["x"])
    await POLICIES["both"].answer(ours)
    assert titles(ours.of("answer")[0].state.seen) == []


@pytest.mark.parametrize("form", ["parallel", "sequential"])
async def test_figure_of_published_cogplanner_takes_three_rounds_and_no_second_look(form: str) -> None:
    tools = ScriptedTools(
        **TEMPTED, reformulate=[[str(number)] for number in range(9)], act=["text"] * 9, answer=[LACKING]
    )
    assert (await POLICIES[f"cogplanner-{form}"].answer(tools)).text == LACKING
    assert [call.name for call in tools.of("search_text")] == ["0 <= 5", "1 <= 5", "2 <= 5"]
    assert tools.calls[-1] == "answer answer"
    assert len(tools.of("answer")) == 1


async def test_figure_of_published_self_reflection_takes_three_rounds() -> None:
    tools = ScriptedTools(**TEMPTED, answer=["x"] * 9, grade=["not enough"] * 9, again=[["a"], ["b"], ["c"], ["d"]])
    await POLICIES["self-reflective"].answer(tools)
    assert len(tools.of("grade")) == 3


async def test_figure_of_published_omnisearch_answers_when_it_says_so() -> None:
    tools = ScriptedTools(**TEMPTED, next=["text", "answer"], ask=[["Who made it?"]], answer=[LACKING])
    assert (await POLICIES["omnisearch"].answer(tools)).text == LACKING
    assert tools.calls == [
        *("1 decide next", "1 queries ask", "1 search_text Who made it?", "2 decide next", "answer answer")
    ]


@pytest.mark.parametrize(
    ("memory", "external", "final", "believed"),
    [
        ("1974", "1981", "1981", "external"),
        ("1974", "1974", "1974", "both"),
        (LACKING, "1981", "1981", "external"),
        ("1974", LACKING, "1990", "neither"),
    ],
)
async def test_figure_of_published_core_weighs_both_sides_in_one_prompt_whatever_they_say(
    memory: str, external: str, final: str, believed: str
) -> None:
    tools = ScriptedTools(
        pictures=seen("A", "B", "C", "D", "E", "F"), select=["2"], answer=[memory, external], reconcile=[final]
    )
    draft = await POLICIES["core-mmrag"].answer(tools)
    assert tools.calls == [
        *("a write answer", "b search_image <= 5", "b decide select"),
        *(f"b read_entries B for {QUESTION}", "b write answer", "answer reconcile"),
    ]
    assert titles(tools.of("select")[0].state.seen) == list("ABCDE")
    assert titles(tools.of("reconcile")[0].state.seen) == titles(tools.shown) == ["B"]
    assert tools.of("reconcile")[0].also == {"memory": memory, "external": external}
    assert (draft.text, draft.notes["believed"]) == (final, believed)


async def test_figure_of_published_core_without_time_gives_what_there_is() -> None:
    entries = seen("A", "B")
    unchosen = ScriptedTools(pictures=entries, answer=["1974", "1981"])
    assert (await POLICIES["core-mmrag"].answer(unchosen)).text == "1981", "no time to choose, nor to weigh"
    assert titles(unchosen.shown) == ["A"]
    for pictures, answers, told in (((), ["1974"], "1974"), (entries, [None, "1981"], "1981")):
        tools = ScriptedTools(pictures=pictures, answer=answers)
        assert (await POLICIES["core-mmrag"].answer(tools)).text == told
        assert tools.of("reconcile") == []


async def test_figure_of_core_among_one_two_and_five_entries() -> None:
    entries = seen(*"ABCDEF")
    one = ScriptedTools(pictures=entries, answer=["x", "y"], reconcile=["x"])
    await POLICIES["core-mmrag-top-1"].answer(one)
    assert one.of("select") == [], "of one there is no choice"
    assert titles(one.shown) == ["A"]
    two = ScriptedTools(pictures=entries, answer=["x", "y"], select=["2"], reconcile=["x"])
    await POLICIES["core-mmrag-top-2"].answer(two)
    assert titles(two.of("select")[0].state.seen) == ["A", "B"]
    assert titles(two.shown) == ["B"]
    for name, shown in (("-top-1", "A"), ("-top-2", "AB"), ("", "ABCDE")):
        tools = ScriptedTools(pictures=entries, answer=["x"])
        await POLICIES[f"core-one-stage{name}"].answer(tools)
        assert titles(tools.of("answer")[-1].state.seen) == list(shown)


async def test_figure_of_the_published_baselines_of_core_read_the_entries_for_the_question_as_it_was_asked() -> None:
    entries, each = seen(*"ABCDEF"), f"read_entries A, B, C, D, E <= 1 for {QUESTION}"
    one = ScriptedTools(pictures=entries, answer=["x"])
    await POLICIES["core-one-stage"].answer(one)
    assert one.calls == ["search_image <= 5", each, "answer answer"]
    two = ScriptedTools(pictures=entries, select_by_text=["3"], answer=["x"])
    await POLICIES["core-two-stage"].answer(two)
    assert two.calls == [
        *("search_image <= 5", "decide select_by_text", f"read_entries C for {QUESTION}", "answer answer")
    ]
    chain = ScriptedTools(pictures=entries, reason=["A is red"], conclude_from_reason=["x"])
    await POLICIES["core-chain-of-thought"].answer(chain)
    assert chain.calls == ["search_image <= 5", each, "write reason", "answer conclude_from_reason"]
    for name in ("core-one-stage", "core-two-stage", "core-chain-of-thought"):
        nothing = ScriptedTools(answer=["y"], conclude_from_reason=["y"])
        assert (await POLICIES[name].answer(nothing)).text == "y"


def dragon(**other: Any) -> ScriptedTools:
    """Tools of a question that goes the whole way of RAG, with other scripts."""
    told: dict[str, Any] = {
        "pictures": seen("Tagrin", "Velmora"),
        "named": ("car on the left",),
        "think": [["It is a red car.", "Its name cannot be read."]],
        "draft": ["I don't know"],
        "search_router": ["rag"],
        "tool_router": ["both"],
        "subject": ["other"],
        "objects": [["car", "house"]],
        "object": [["the red car"]],
        "entity": ["no", "yes"],
        "split": [["who made it"]],
        "complete": [["who made the Velmora"]],
        "reason": ["the article says so"],
        "conclude": ["Ana Bex"],
        "verifier": ["supported"],
    }
    return ScriptedTools(**{**told, **other})


async def test_figure_of_published_qa_dragon_lists_objects_and_takes_the_one_that_is_meant() -> None:
    tools = dragon()
    await POLICIES["qa-dragon"].answer(tools)
    assert tools.calls == [
        *("lines think", "write draft", "decide search_router", "a decide tool_router", "b decide subject"),
        *("lines objects", "lines object", "search_image the red car <= 5", "decide entity", "decide entity"),
        *("queries split", "queries complete", "search_text who made the Velmora"),
        *("write reason", "write conclude", "decide verifier"),
    ]


@pytest.mark.parametrize(("branch", "route"), [("rag", ["a decide tool_router", "b decide subject"]), ("verify", [])])
async def test_figure_of_published_qa_dragon_refuses_what_is_not_supported_without_another_look(
    branch: str, route: list[str]
) -> None:
    tools = dragon(draft=["Bo"], search_router=[branch], tool_router=["text"], verifier=["contradicted"])
    assert (await POLICIES["qa-dragon"].answer(tools)).refused is AbstainReason.CONTRADICTED
    assert tools.calls == [
        *("lines think", "write draft", "decide search_router", *route),
        *("queries split", "queries complete", "search_text who made the Velmora"),
        *("write reason", "write conclude", "decide verifier"),
    ]
    assert tools.given == [], "no draft is shown before it is verified"


@pytest.mark.parametrize("subject", ["calculation", "translation"])
async def test_figure_of_published_qa_dragon_searches_nothing_for_calculation_and_translation(subject: str) -> None:
    tools = dragon(subject=[subject])
    await POLICIES["qa-dragon"].answer(tools)
    assert tools.of("search_image") == tools.of("search_text") == []


@pytest.mark.parametrize("name", sorted(name for name in POLICIES if name.endswith("+")))
def test_what_is_added_to_a_published_system_has_its_name_with_a_plus(name: str) -> None:
    published, ours = POLICIES[name.removesuffix("+")], POLICIES[name]
    assert [getattr(each, "published", False) for each in (published, ours)] == [True, False]
    assert set(published.needs) == set(ours.needs)
    assert set(published.tasks) <= {*ours.tasks, "reconcile"}
