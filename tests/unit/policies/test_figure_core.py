"""CoRe-MMRAG and its baselines call what their figure shows, whatever is missing (`pytest -k figure`)."""

from __future__ import annotations

import pytest

from quizglass_server.domain.state import Draft
from quizglass_server.policies.core_baselines import ChainOfThought, OneStage, TwoStage
from quizglass_server.policies.core_mmrag import CoReMmragPlus, reconcile
from tests.support.policy_fakes import QUESTION, ScriptedTools, passages, seen, titles


async def test_figure_of_core_answers_from_memory_beside_choosing_and_answering_from_the_entry() -> None:
    entries = seen("A", "B", "C", "D", "E", "F")
    tools = ScriptedTools(
        pictures=entries,
        select=["2"],
        rewrite=[["When was B made?"]],
        answer=["1974", "1981"],
        weigh=["the article says so"],
        reconcile=["1981"],
    )
    draft = await CoReMmragPlus().answer(tools)
    assert tools.calls == [
        *("a write answer", "b search_image <= 5", "b decide select", "b rewrite"),
        *("b read_entries B for When was B made?", "b write answer", "write weigh", "answer reconcile"),
    ]
    assert tools.most_at_once == 2
    internal, external = tools.of("write")[:2]
    assert (internal.state.seen, titles(external.state.seen)) == ((), ["B"])
    assert (internal.state.found, titles(external.state.found)) == ((), ["B's own"])
    assert (internal.state.queries, external.state.queries) == ((), ("When was B made?",))
    assert titles(tools.of("select")[0].state.seen) == ["A", "B", "C", "D", "E"]
    assert tools.of("reconcile")[0].also == {"memory": "1974", "external": "1981", "reason": "the article says so"}
    assert titles(tools.of("reconcile")[0].state.seen) == titles(tools.shown) == ["B"]
    assert draft.notes == {"memory": "1974", "external": "1981", "believed": "external", "why": "the article says so"}


async def test_figure_of_core_asks_nothing_of_entries_whose_passages_stand_behind_their_captions() -> None:
    tools = ScriptedTools(
        pictures=seen("A"), reads_entries=False, select=["1"], answer=["1974", "1981"], weigh=["w"], reconcile=["1981"]
    )
    assert (await CoReMmragPlus().answer(tools)).text == "1981"
    assert tools.of("rewrite") == tools.of("read_entries") == []
    assert titles(tools.of("reconcile")[0].state.seen) == titles(tools.shown) == ["A"]


@pytest.mark.parametrize(
    ("pictures", "select"),
    [((), []), (("Velmora",), ["none"]), (("Velmora", "Tagrin"), ["2"]), (("Nmel",), ["1"])],
)
async def test_figure_of_core_searches_by_text_for_what_the_picture_does_not_show(
    pictures: tuple[str, ...], select: list[str]
) -> None:
    asked = "When was the Ronmel built?"
    tools = ScriptedTools(pictures=seen(*pictures), select=select, rewrite=[[asked]], answer=["1974", "1981"])
    await CoReMmragPlus().answer(tools)
    assert tools.calls[-5:-3] == ["b rewrite", f"b search_text {asked}"]
    external = tools.of("write")[1].state
    assert (external.queries, external.seen, titles(external.found)) == ((asked,), (), [asked])
    assert tools.shown == tools.of("read_entries") == []
    two = ScriptedTools(pictures=seen(*pictures), select_by_text=select, rewrite=[[asked]], answer=["1981"])
    await TwoStage(published=False).answer(two)
    assert two.calls[-2:] == [f"search_text {asked}", "answer answer"]


async def test_figure_of_core_keeps_the_entry_where_there_was_no_time_to_name_it_in_the_question() -> None:
    tools = ScriptedTools(pictures=seen("Velmora"), select=["1"], answer=["1974", "1981"])
    await CoReMmragPlus().answer(tools)
    assert tools.of("search_text") == []
    external = tools.of("write")[1].state
    assert (titles(external.seen), titles(external.found)) == (["Velmora"], ["Velmora's own"])


async def test_figure_of_core_reads_the_entry_where_a_text_search_brings_nothing() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"), texts=False, select=["1"], rewrite=[["When was it built?"]], answer=["1974", "1981"]
    )
    await CoReMmragPlus().answer(tools)
    assert "b search_text When was it built?" in tools.calls
    assert titles(tools.shown) == ["Velmora"]
    external = tools.of("write")[1].state
    assert (titles(external.seen), titles(external.found)) == (["Velmora"], ["Velmora's own"])


@pytest.mark.parametrize(("final", "believed"), [("1974", "memory"), ("1981.", "external"), ("1990", "neither")])
async def test_figure_of_core_says_which_side_was_believed(final: str, believed: str) -> None:
    tools = ScriptedTools(
        pictures=seen("A"), select=["1"], answer=["1974", "1981"], weigh=["because"], reconcile=[final]
    )
    draft = await CoReMmragPlus().answer(tools)
    assert (draft.text, draft.notes["believed"], draft.notes["why"]) == (final, believed, "because")


async def test_figure_of_core_has_nothing_to_reconcile_when_both_say_the_same() -> None:
    tools = ScriptedTools(pictures=seen("A"), select=["1"], answer=["Tandric", "tandric."])
    draft = await CoReMmragPlus().answer(tools)
    assert (draft.text, draft.notes["believed"]) == ("Tandric", "both")
    assert tools.of("reconcile") == tools.of("weigh") == []


@pytest.mark.parametrize(
    ("memory", "external", "answer", "believed"),
    [
        ("1974", "I don't know", "1974", "memory"),
        ("I don't know", "1981", "1981", "external"),
        ("I don't know", "I don't know", "I don't know", "both"),
    ],
)
async def test_figure_of_core_a_side_that_does_not_know_leaves_it_to_the_other(
    memory: str, external: str, answer: str, believed: str
) -> None:
    tools = ScriptedTools(pictures=seen("A"), select=["1"], answer=[memory, external])
    draft = await CoReMmragPlus().answer(tools)
    assert (draft.text, draft.notes["believed"]) == (answer, believed)
    assert tools.of("reconcile") == tools.of("weigh") == []


@pytest.mark.parametrize(("pictures", "select"), [(0, []), (1, ["none"]), (2, ["4"])])
async def test_figure_of_core_without_an_entry_answers_from_memory(pictures: int, select: list[str]) -> None:
    entries = seen(*"ABCDE"[:pictures])
    tools = ScriptedTools(pictures=entries, searches_text=False, select=select, answer=["1974"])
    draft = await CoReMmragPlus().answer(tools)
    assert (draft.text, draft.notes["believed"]) == ("1974", "memory")
    assert len(tools.of("answer")) == 1
    assert len(tools.of("select")) == min(pictures, 1)


async def test_figure_of_core_without_time_takes_the_best_entry_and_gives_what_there_is() -> None:
    unchosen = ScriptedTools(
        pictures=seen("A", "B"), rewrite=[["When was A made?"]], answer=["1974", "1981"], reconcile=["1981"]
    )
    await CoReMmragPlus().answer(unchosen)
    assert titles(unchosen.of("reconcile")[0].state.seen) == ["A"]
    unwritten = ScriptedTools(pictures=seen("A"), select=["1"], answer=["1974", "1981"])
    draft = await CoReMmragPlus().answer(unwritten)
    assert (draft.text, draft.notes["believed"]) == ("1981", "external")
    forgotten = ScriptedTools(pictures=seen("A"), select=["1"], answer=[None, "1981"])
    assert (await CoReMmragPlus().answer(forgotten)).notes["believed"] == "external"
    assert await CoReMmragPlus().answer(ScriptedTools()) == Draft(
        notes={"memory": "", "external": "", "believed": "memory"}
    )


@pytest.mark.parametrize(
    ("pictures", "memory", "believed"),
    [("A", None, "external"), ("A", "I don't know", "external"), ("", None, "memory")],
)
async def test_figure_of_core_answers_once_where_memory_does_not_know_and_there_is_no_time_for_the_other_side(
    pictures: str, memory: str | None, believed: str
) -> None:
    written = [memory, *[None] * len(pictures), "1981"]
    tools = ScriptedTools(pictures=seen(*pictures), searches_text=False, select=["1"], answer=written)
    draft = await CoReMmragPlus().answer(tools)
    assert (draft.text, draft.notes["believed"], draft.notes[believed]) == ("1981", believed, "1981")
    assert titles(tools.of("answer")[-1].state.seen) == list(pictures)
    found = tools.start().having(seen("A"))
    assert (await reconcile(found, ScriptedTools(answer=[memory, None, "1981"]))).text == "1981"
    left = await reconcile(found, ScriptedTools(answer=[memory, None, None]))
    assert (left.text, left.notes["believed"]) == (memory or "", "memory")


async def test_figure_of_reconciling_what_another_policy_found() -> None:
    tools = ScriptedTools(answer=["1974", "1981"], weigh=["why"], reconcile=["1974"])
    state = tools.start().having([*seen("A"), *passages(["q"])])
    draft = await reconcile(state, tools)
    assert tools.calls == ["a write answer", "b write answer", "write weigh", "answer reconcile"]
    assert [call.state == state for call in tools.of("write")] == [False, True, True]
    assert draft.notes["believed"] == "memory"
    nothing = ScriptedTools(answer=["1974"])
    await reconcile(nothing.start(), nothing)
    assert nothing.calls == ["answer answer"]


async def test_figure_of_reconciling_weighs_two_passages_one_of_which_says_what_was_told() -> None:
    tools = ScriptedTools(answer=["1974", "q3"], weigh=["why"], reconcile=["1974"])
    state = tools.start().having(passages(["q1", "q2", "q3"]))
    await reconcile(state, tools)
    external, weigh = tools.of("write")[1:]
    assert titles(external.state.found) == ["q1", "q2", "q3"]
    assert titles(weigh.state.found) == titles(tools.of("reconcile")[0].state.found) == ["q3", "q1"]


async def test_figure_of_the_baselines_of_core() -> None:
    entries = seen(*"ABCDEF")
    one = ScriptedTools(pictures=entries, answer=["x"])
    await OneStage(published=False).answer(one)
    each = f"read_entries A, B, C, D, E <= 1 for {QUESTION}"
    assert one.calls == ["search_image <= 5", "rewrite", each, "answer answer"]
    assert titles(one.of("answer")[0].state.seen) == list("ABCDE")
    assert titles(one.of("answer")[0].state.found) == [f"{name}'s own" for name in "ABCDE"]
    two = ScriptedTools(pictures=entries, select_by_text=["3"], answer=["x"])
    await TwoStage(published=False).answer(two)
    best = f"read_entries C for {QUESTION}"
    assert two.calls == ["search_image <= 5", "decide select_by_text", "rewrite", best, "answer answer"]
    assert titles(two.of("answer")[0].state.seen) == titles(two.shown) == ["C"]
    assert titles(two.of("answer")[0].state.found) == ["C's own"]
    chain = ScriptedTools(pictures=entries, reason=["A is red"], conclude_from_reason=["x"])
    await ChainOfThought(published=False).answer(chain)
    assert chain.calls == ["search_image <= 5", "rewrite", each, "write reason", "answer conclude_from_reason"]
    assert chain.of("conclude_from_reason")[0].also == {"reason": "A is red"}
    for policy in (OneStage(published=False), TwoStage(published=False), ChainOfThought(published=False)):
        assert (await policy.answer(ScriptedTools(answer=["y"], conclude_from_reason=["y"]))).text == "y"
