"""Each policy's calls per branch are those of its paper's figure (`pytest -k figure`), whatever is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import AbstainReason, Evidence
from quizglass_server.policies import POLICIES
from quizglass_server.policies.cogplanner import Action, CogPlanner
from quizglass_server.policies.cogplanner_baselines import OneSearch, SelfReflective
from quizglass_server.policies.core_baselines import ChainOfThought, OneStage, TwoStage
from quizglass_server.policies.core_mmrag import CoReMmrag, reconcile
from quizglass_server.policies.omnisearch import OmniSearch
from quizglass_server.policies.qa_dragon import Parts, QADragon
from tests.support.policy_fakes import QUESTION, ScriptedTools, Scripts, passages, seen

PARALLEL, SEQUENTIAL = CogPlanner("parallel", parallel=True), CogPlanner("sequential", parallel=False)
HOPS = ("What is it?", "Who founded Tandric?", "Where was Ana Bex born?")


def titles(evidence: Sequence[Evidence]) -> list[str]:
    return [item.title for item in evidence]


# --------------------------------------------------------------------------------------------------------- CogPlanner


async def test_figure_of_cogplanner_in_parallel_decides_both_from_the_state_before() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"), reformulate=[[hop] for hop in HOPS], act=["image", "text", "text"], answer=["Brenn"]
    )
    draft = await PARALLEL.answer(tools)
    assert tools.calls == [
        *("1a lines reformulate", "1b decide act", "1 search_image <= 6"),
        *("2a lines reformulate", "2b decide act", "2 search_text Who founded Tandric? <= 5"),
        *("3a lines reformulate", "3b decide act", "3 search_text Where was Ana Bex born? <= 5"),
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
        *("1 lines reformulate", "1 decide act", "1 search_text a, b <= 5"),
        *("2 lines reformulate", "2 decide act", "answer answer"),
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
    draft = await SelfReflective().answer(tools)
    assert tools.calls == [
        "search_image <= 6",
        *(f"1 search_text {QUESTION} <= 5", "1 write answer", "1 decide grade"),
        *("2 lines again", "2 search_text better <= 5", "2 write answer", "2 decide grade"),
    ]
    assert tools.of("again")[0].also == {"answer": "first"}
    assert [call.also for call in tools.of("grade")] == [{"answer": "first"}, {"answer": "second"}]
    assert draft.text == "second"
    assert tools.given == [(draft, False)]


async def test_figure_of_self_reflection_gives_the_last_draft_after_three_rounds_and_answers_without_any() -> None:
    tools = ScriptedTools(answer=["1", "2", "3", "4"], grade=["not enough"] * 9, again=[["a"], ["a"], ["b"]])
    assert (await SelfReflective().answer(tools)).text == "3"
    assert len(tools.of("search_text")) == 2
    assert (await SelfReflective().answer(ScriptedTools(rounds=0, answer=["x"]))).text == "x"
    cut = ScriptedTools(answer=["1", None], grade=["not enough", "not enough"], again=[["a"]], rounds=2)
    assert (await SelfReflective().answer(cut)).text == "1"


# --------------------------------------------------------------------------------------------------------- OmniSearch


async def test_figure_of_omnisearch_asks_with_a_tool_until_it_answers() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"),
        next=["image", "text", "answer"],
        ask=[["What is it?"], ["Who made it?"]],
        answer=["x"],
    )
    await OmniSearch().answer(tools)
    assert tools.calls == [
        *("1 decide next", "1 lines ask", "1 search_image"),
        *("2 decide next", "2 lines ask", "2 search_text Who made it?"),
        *("3 decide next", "answer answer"),
    ]
    assert [call.also for call in tools.of("ask")] == [{"tool": "image"}, {"tool": "text"}]
    answered = tools.of("answer")[-1].state
    assert (titles(answered.seen), titles(answered.found)) == (["Velmora"], ["Who made it?"])


async def test_figure_of_omnisearch_takes_five_rounds_at_most() -> None:
    tools = ScriptedTools(next=["text"] * 9, ask=[[str(number)] for number in range(9)], texts=False, answer=["x"])
    assert (await OmniSearch().answer(tools)).text == "x"
    assert len(tools.of("search_text")) == len(tools.of("next")) == 5


async def test_figure_of_omnisearch_without_time_answers_and_without_a_sub_question_asks_the_question() -> None:
    assert (await OmniSearch().answer(ScriptedTools(rounds=0, answer=["x"]))).text == "x"
    assert ScriptedTools().of("ask") == []
    tools = ScriptedTools(next=["text"], ask=[[]], answer=["x"])
    await OmniSearch().answer(tools)
    assert [call.name for call in tools.of("search_text")] == [QUESTION]


# --------------------------------------------------------------------------------------------------------- CoRe-MMRAG


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
    draft = await CoReMmrag().answer(tools)
    assert tools.calls == [
        *("a write answer", "b search_image <= 5", "b decide select", "b lines rewrite"),
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
    assert (await CoReMmrag().answer(tools)).text == "1981"
    assert tools.of("rewrite") == tools.of("read_entries") == []
    assert titles(tools.of("reconcile")[0].state.seen) == titles(tools.shown) == ["A"]


@pytest.mark.parametrize(("pictures", "select"), [((), []), (("Velmora",), ["none"]), (("Velmora", "Tagrin"), ["2"])])
async def test_figure_of_core_searches_by_text_for_what_the_picture_does_not_show(
    pictures: tuple[str, ...], select: list[str]
) -> None:
    asked = "When was the Ronmel built?"
    tools = ScriptedTools(pictures=seen(*pictures), select=select, rewrite=[[asked]], answer=["1974", "1981"])
    await CoReMmrag().answer(tools)
    assert tools.calls[-5:-3] == ["b lines rewrite", f"b search_text {asked}"]
    external = tools.of("write")[1].state
    assert (external.queries, external.seen, titles(external.found)) == ((asked,), (), [asked])
    assert tools.shown == tools.of("read_entries") == []
    two = ScriptedTools(pictures=seen(*pictures), select_by_text=select, rewrite=[[asked]], answer=["1981"])
    await TwoStage().answer(two)
    assert two.calls[-2:] == [f"search_text {asked}", "answer answer"]


async def test_figure_of_core_reads_the_entry_where_a_text_search_brings_nothing() -> None:
    tools = ScriptedTools(
        pictures=seen("Velmora"), texts=False, select=["1"], rewrite=[["When was it built?"]], answer=["1974", "1981"]
    )
    await CoReMmrag().answer(tools)
    assert "b search_text When was it built?" in tools.calls
    assert titles(tools.shown) == ["Velmora"]
    external = tools.of("write")[1].state
    assert (titles(external.seen), titles(external.found)) == (["Velmora"], ["Velmora's own"])


@pytest.mark.parametrize(("final", "believed"), [("1974", "memory"), ("1981.", "external"), ("1990", "neither")])
async def test_figure_of_core_says_which_side_was_believed(final: str, believed: str) -> None:
    tools = ScriptedTools(
        pictures=seen("A"), select=["1"], answer=["1974", "1981"], weigh=["because"], reconcile=[final]
    )
    draft = await CoReMmrag().answer(tools)
    assert (draft.text, draft.notes["believed"], draft.notes["why"]) == (final, believed, "because")


async def test_figure_of_core_has_nothing_to_reconcile_when_both_say_the_same() -> None:
    tools = ScriptedTools(pictures=seen("A"), select=["1"], answer=["Tandric", "tandric."])
    draft = await CoReMmrag().answer(tools)
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
    draft = await CoReMmrag().answer(tools)
    assert (draft.text, draft.notes["believed"]) == (answer, believed)
    assert tools.of("reconcile") == tools.of("weigh") == []


@pytest.mark.parametrize(("pictures", "select"), [(0, []), (1, ["none"]), (2, ["4"])])
async def test_figure_of_core_without_an_entry_answers_from_memory(pictures: int, select: list[str]) -> None:
    entries = seen(*"ABCDE"[:pictures])
    tools = ScriptedTools(pictures=entries, searches_text=False, select=select, answer=["1974"])
    draft = await CoReMmrag().answer(tools)
    assert (draft.text, draft.notes["believed"]) == ("1974", "memory")
    assert len(tools.of("answer")) == 1
    assert len(tools.of("select")) == min(pictures, 1)


async def test_figure_of_core_without_time_takes_the_best_entry_and_gives_what_there_is() -> None:
    unchosen = ScriptedTools(pictures=seen("A", "B"), answer=["1974", "1981"], reconcile=["1981"])
    await CoReMmrag().answer(unchosen)
    assert titles(unchosen.of("reconcile")[0].state.seen) == ["A"]
    unwritten = ScriptedTools(pictures=seen("A"), select=["1"], answer=["1974", "1981"])
    draft = await CoReMmrag().answer(unwritten)
    assert (draft.text, draft.notes["believed"]) == ("1981", "external")
    forgotten = ScriptedTools(pictures=seen("A"), select=["1"], answer=[None, "1981"])
    assert (await CoReMmrag().answer(forgotten)).notes["believed"] == "external"
    assert await CoReMmrag().answer(ScriptedTools()) == Draft(
        notes={"memory": "", "external": "", "believed": "memory"}
    )


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


async def test_figure_of_the_baselines_of_core() -> None:
    entries = seen(*"ABCDEF")
    one = ScriptedTools(pictures=entries, answer=["x"])
    await OneStage().answer(one)
    each = f"read_entries A, B, C, D, E <= 1 for {QUESTION}"
    assert one.calls == ["search_image <= 5", "lines rewrite", each, "answer answer"]
    assert titles(one.of("answer")[0].state.seen) == list("ABCDE")
    assert titles(one.of("answer")[0].state.found) == [f"{name}'s own" for name in "ABCDE"]
    two = ScriptedTools(pictures=entries, select_by_text=["3"], answer=["x"])
    await TwoStage().answer(two)
    best = f"read_entries C for {QUESTION}"
    assert two.calls == ["search_image <= 5", "decide select_by_text", "lines rewrite", best, "answer answer"]
    assert titles(two.of("answer")[0].state.seen) == titles(two.shown) == ["C"]
    assert titles(two.of("answer")[0].state.found) == ["C's own"]
    chain = ScriptedTools(pictures=entries, reason=["A is red"], conclude=["x"])
    await ChainOfThought().answer(chain)
    assert chain.calls == ["search_image <= 5", "lines rewrite", each, "write reason", "answer conclude"]
    assert chain.of("conclude")[0].also == {"reason": "A is red"}
    for policy in (OneStage(), TwoStage(), ChainOfThought()):
        assert (await policy.answer(ScriptedTools(answer=["y"], conclude=["y"]))).text == "y"


# ---------------------------------------------------------------------------------------------------------- QA-Dragon

THOUGHT = [["It is a red car.", "Its name cannot be read."]]
IMAGE_AGENT = ["lines objects", "lines object", "search_image the red car <= 5", "decide entity", "decide entity"]
TEXT_AGENT = ["lines split", "lines complete", "search_text Velmora who founded its maker, when was Velmora made"]
ENDING = ["write reason", "write conclude", "decide verifier"]


def dragon(**scripts: Scripts) -> ScriptedTools:
    """Tools of a question that goes the whole way of RAG."""
    told: dict[str, Scripts] = {
        "think": THOUGHT,
        "draft": ["I don't know"],
        "search_router": ["rag"],
        "tool_router": ["both"],
        "subject": ["other"],
        "objects": [["car", "a very large house"]],
        "object": [["the red car"]],
        "entity": ["no", "yes"],
        "split": [["who founded its maker", "when was it made"]],
        "complete": [["who founded its maker", "when was Velmora made"]],
        "reason": ["the article says so"],
        "conclude": ["Ana Bex"],
        "verifier": ["supported"],
    }
    entries = seen("Tagrin", "Velmora", "Other")
    return ScriptedTools(pictures=entries, texts=True, rounds=99, unsure=(), **{**told, **scripts})


async def test_figure_of_qa_dragon_goes_through_every_part_on_the_way_of_rag() -> None:
    tools = dragon()
    draft = await QADragon().answer(tools)
    assert tools.calls == [
        *("lines think", "write draft", "decide search_router", "a decide tool_router", "b decide subject"),
        *IMAGE_AGENT,
        *TEXT_AGENT,
        *ENDING,
    ]
    assert draft.text == "Ana Bex"
    assert tools.given == [(draft, False)]
    assert tools.of("draft")[0].state.notes["steps"] == THOUGHT[0]
    assert tools.of("tool_router")[0].state.notes["draft"] == "I don't know"
    assert tools.of("search_router")[0].state.notes["signs"] == ["no_answer", "undetermined"]
    assert tools.of("search_router")[0].state.notes["p_min"] == 0.9
    assert tools.of("object")[0].state.notes["objects"] == ["car", "a very large"]
    assert [titles(call.state.seen) for call in tools.of("entity")] == [["Tagrin"], ["Velmora"]]
    assert tools.of("complete")[0].state.notes["entity"] == "Velmora"
    assert titles(tools.of("conclude")[0].state.seen) == titles(tools.shown) == ["Velmora"]
    assert tools.of("conclude")[0].also == {"reason": "the article says so"}
    assert tools.of("verifier")[0].also == {
        "answer": "Ana Bex",
        "certainty": "90",
        "reason": "the article says so",
        "evidence": [
            "Velmora: Velmora is a red car.",
            "Velmora who founded its maker: about Velmora who founded its maker",
            "when was Velmora made: about when was Velmora made",
        ],
    }


async def test_figure_of_qa_dragon_gives_the_draft_directly() -> None:
    tools = dragon(draft=["12"], search_router=["direct"])
    draft = await QADragon().answer(tools)
    assert tools.calls == ["lines think", "write draft", "decide search_router"]
    assert tools.given == [(draft, False)]
    assert draft.text == "12"


async def test_figure_of_qa_dragon_shows_a_draft_and_verifies_it_by_text() -> None:
    tools = dragon(draft=["Ana Bex"], search_router=["verify"], complete=[["who founded Tandric"]])
    draft = await QADragon().answer(tools)
    assert tools.calls == [
        *("lines think", "write draft", "decide search_router"),
        *("lines split", "lines complete", "search_text who founded Tandric"),
        *ENDING,
    ]
    assert [(told.text, provisional) for told, provisional in tools.given] == [("Ana Bex", True), (draft.text, False)]


@pytest.mark.parametrize(
    ("plan", "subject", "searches"),
    [
        ("both", "other", "it"),
        ("image", "other", "i"),
        ("text", "other", "t"),
        ("none", "other", ""),
        ("both", "book", "t"),
        ("both", "logo", "t"),
        ("image", "plant", ""),
        ("both", "calculation", ""),
        ("text", "translation", ""),
    ],
)
async def test_figure_of_qa_dragons_tool_router_and_its_exceptions(plan: str, subject: str, searches: str) -> None:
    tools = dragon(tool_router=[plan], subject=[subject])
    await QADragon().answer(tools)
    made = [call.verb[len("search_")] for call in tools.made if call.verb.startswith("search_")]
    assert "".join(made) == searches
    ending = ENDING if searches else ENDING[:2]
    assert tools.calls[-len(ending) :] == ending


@pytest.mark.parametrize(
    ("judged", "reason"),
    [
        ("unsupported", AbstainReason.UNSUPPORTED),
        ("contradicted", AbstainReason.CONTRADICTED),
        ("incomplete", AbstainReason.INCOMPLETE),
    ],
)
async def test_figure_of_qa_dragons_verifier_refuses(judged: str, reason: AbstainReason) -> None:
    for branch in ("rag", "verify"):
        tools = dragon(draft=["Bo"], search_router=[branch], verifier=[judged])
        assert (await QADragon().answer(tools)).refused is reason
        assert [provisional for _, provisional in tools.given] == [True] * (branch == "verify")


async def test_figure_of_qa_dragons_token_probabilities_refuse_before_the_verifier_is_asked() -> None:
    tools = ScriptedTools(unsure=["Bo"], think=THOUGHT, tool_router=["none"], conclude=["Bo"])
    assert (await QADragon().answer(tools)).refused is AbstainReason.UNSURE
    assert tools.of("verifier") == []


async def test_figure_of_qa_dragon_goes_on_when_lists_are_empty_and_nothing_is_found() -> None:
    tools = dragon(think=[[]], objects=[[]], split=[[]], complete=[[]], entity=["no", "no", "no"])
    await QADragon().answer(tools)
    assert tools.of("object") == []
    assert [call.name for call in tools.of("search_image")] == ["<= 5"]
    assert [call.name for call in tools.of("search_text")] == [QUESTION]
    assert tools.of("conclude")[0].state.seen == ()
    one = dragon(objects=[["car"]])
    await QADragon().answer(one)
    assert one.of("object") == []
    assert [call.name for call in one.of("search_image")] == ["car <= 5"]


async def test_figure_of_qa_dragon_without_time_gives_what_was_shown_or_refuses() -> None:
    rag = ScriptedTools(draft=["Bo"])
    assert (await QADragon().answer(rag)).refused is AbstainReason.BUDGET
    verify = ScriptedTools(draft=["Bo"], search_router=["verify"])
    draft = await QADragon().answer(verify)
    assert (draft.text, draft.refused) == ("Bo", None)
    nothing = ScriptedTools(search_router=["direct"])
    assert (await QADragon().answer(nothing)).refused is AbstainReason.BUDGET
    unverified = ScriptedTools(conclude=["Ana"])
    assert (await QADragon().answer(unverified)).text == "Ana"


@pytest.mark.parametrize("policy", QADragon.every(), ids=lambda policy: policy.name)
async def test_figure_of_qa_dragons_ablations_leave_out_one_part(policy: QADragon) -> None:
    tools = dragon()
    await policy.answer(tools)
    whole = dragon()
    await QADragon().answer(whole)
    without = [name for name in whole.calls if name not in tools.calls]
    split, _, search = TEXT_AGENT
    assert (
        without
        == {
            "qa-dragon": [],
            "qa-dragon-image-only": TEXT_AGENT,
            "qa-dragon-no-domain-router": [],
            "qa-dragon-no-search-router": ["decide search_router"],
            "qa-dragon-no-tool-router": ["a decide tool_router", "b decide subject"],
            "qa-dragon-no-splitting": [split],
            "qa-dragon-no-fusion-search": [search],
            "qa-dragon-no-reranking": [search],
            "qa-dragon-no-verifier": ["decide verifier"],
            "qa-dragon-routers-only": ["decide search_router", search],
        }[policy.name]
    )
    known_domain = [call.state.notes.get("domain") for call in tools.made if call.verb in ("write", "lines", "decide")]
    assert set(known_domain) == ({""} if policy.name == "qa-dragon-no-domain-router" else {None})
    last = tools.of("search_text")[0].name if tools.of("search_text") else ""
    assert last.endswith("as found") == (policy.name == "qa-dragon-no-reranking")


async def test_figure_of_qa_dragon_with_the_picture_as_its_only_source_verifies_by_it() -> None:
    tools = dragon(draft=["Bo"], search_router=["verify"])
    await QADragon(parts=Parts(text=False)).answer(tools)
    assert tools.calls[3:] == [*IMAGE_AGENT, *ENDING]
    text = dragon(tool_router=["text"])
    await QADragon(parts=Parts(text=False)).answer(text)
    assert text.calls[-3:] == ["b decide subject", *ENDING[:2]]


# ----------------------------------------------------------------------------------------------------- planning agent


async def test_figure_of_the_planning_agent_with_the_answerer_of_core() -> None:
    agent = POLICIES["planning-agent-reconciled"]
    tools = ScriptedTools(
        planner=["text"], rewrite=[["who made it"]], answer=["Orvex", "Tandric"], weigh=["why"], reconcile=["Tandric"]
    )
    draft = await agent.answer(tools)
    assert tools.calls == [
        *("decide planner", "lines rewrite", "search_text who made it", "a write answer", "b write answer"),
        *("write weigh", "answer reconcile"),
    ]
    assert draft.notes["believed"] == "external"
    nothing = ScriptedTools(planner=["none"], answer=["Orvex"])
    await agent.answer(nothing)
    assert nothing.calls == ["decide planner", "answer answer"]


@pytest.mark.parametrize("name", ["planning-agent", "prompt-based"])
async def test_figure_of_the_planning_agent_goes_on_to_text_where_nothing_is_known_but_a_tag(name: str) -> None:
    agent = POLICIES[name]
    task = "planner" if name == "planning-agent" else "plan"
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
        *(f"decide {task}", "search_image", "lines rewrite", "search_text What does a koala eat?", "answer answer")
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
    assert (await POLICIES["planning-agent"].answer(tools)).text == "Orvex"
    text = ["1 lines rewrite", "1 search_text Who made the Velmora?", "1 answer answer"]
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
    assert (await POLICIES["planning-agent"].answer(tools)).text == "I don't know"
    assert [draft.text for draft, _ in tools.given] == ["I don't know"]


async def test_figure_of_the_planning_agent_looks_for_text_again_by_what_the_picture_showed() -> None:
    queries = [["Who made it?"], ["Who made the Velmora?"]]
    tools = ScriptedTools(pictures=seen("Velmora"), planner=["text"], rewrite=queries, answer=["I don't know", "Orvex"])
    assert (await POLICIES["planning-agent"].answer(tools)).text == "Orvex"
    assert tools.calls[-4:] == [
        *("1 search_image", "1 lines rewrite", "1 search_text Who made the Velmora?", "1 answer answer")
    ]
    assert titles(tools.of("answer")[-1].state.found) == ["Who made the Velmora?", "Who made it?"]
    nothing = ScriptedTools(planner=["text"], rewrite=queries, answer=["I don't know"])
    await POLICIES["planning-agent"].answer(nothing)
    assert len(nothing.of("search_text")) == 1


async def test_figure_of_the_planning_agent_looks_up_nothing_twice() -> None:
    tools = ScriptedTools(pictures=seen("V"), planner=["both"], answer=["I don't know", "Orvex"])
    assert (await POLICIES["planning-agent"].answer(tools)).text == "I don't know"
    assert len(tools.of("answer")) == len(tools.of("search_text")) == 1


async def test_figure_of_one_search_by_picture_looks_no_text_up_for_a_tag() -> None:
    tools = ScriptedTools(tags=("koala",), answer=["I don't know"])
    await POLICIES["image"].answer(tools)
    assert tools.of("search_text") == []
