"""QA-Dragon and its ablations call what their figure shows, whatever is missing (`pytest -k figure`)."""

from __future__ import annotations

from typing import Any

import pytest

from quizglass.values import AbstainReason
from quizglass_server.policies.qa_dragon import Parts, QADragon
from tests.support.policy_fakes import QUESTION, ScriptedTools, Scripts, seen, titles

THOUGHT = [["It is a red car.", "Its name cannot be read."]]
IMAGE_AGENT = ["lines objects", "lines object", "search_image the red car <= 5", "decide entity", "decide entity"]
TEXT_AGENT = ["queries split", "queries complete", "search_text Velmora who founded its maker, when was Velmora made"]
ENDING = ["write reason", "write conclude", "decide verifier"]
OURS = QADragon("ours", Parts(additions=True))


def dragon(**other: Any) -> ScriptedTools:
    """Tools of a question that goes the whole way of RAG, with other scripts or settings."""
    told: dict[str, Any] = {
        "pictures": seen("Tagrin", "Velmora", "Other"),
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
    return ScriptedTools(**{**told, **other})


async def test_figure_of_qa_dragon_goes_through_every_part_on_the_way_of_rag() -> None:
    tools = dragon()
    draft = await OURS.answer(tools)
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
        "p_min": 0.9,
        "p_mean": 0.9,
        "reason": "the article says so",
        "evidence": [
            "Velmora: Velmora is a red car.",
            "Velmora who founded its maker: about Velmora who founded its maker",
            "when was Velmora made: about when was Velmora made",
        ],
    }


async def test_figure_of_qa_dragon_gives_the_draft_directly() -> None:
    tools = dragon(draft=["12"], search_router=["direct"])
    draft = await OURS.answer(tools)
    assert tools.calls == ["lines think", "write draft", "decide search_router"]
    assert tools.given == [(draft, False)]
    assert draft.text == "12"


async def test_figure_of_qa_dragon_shows_a_draft_and_verifies_it_by_text() -> None:
    tools = dragon(draft=["Ana Bex"], search_router=["verify"], complete=[["who founded Tandric"]])
    draft = await OURS.answer(tools)
    assert tools.calls == [
        *("lines think", "write draft", "decide search_router"),
        *("queries split", "queries complete", "search_text who founded Tandric"),
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
    tools = dragon(tool_router=[plan], subject=[subject], draft=["Bo"], think=[["It is a red car."]])
    await OURS.answer(tools)
    made = [call.verb[len("search_")] for call in tools.made if call.verb.startswith("search_")]
    assert "".join(made) == searches
    ending = ENDING if searches else ENDING[:2]
    assert tools.calls[-len(ending) :] == ending


@pytest.mark.parametrize(("draft", "step"), [("I don't know", "It is red."), ("Bo", "Their weights are unknown.")])
async def test_figure_of_qa_dragon_looks_up_what_it_would_calculate_with(draft: str, step: str) -> None:
    tools = dragon(tool_router=["text"], subject=["calculation"], draft=[draft], think=[[step]])
    assert (await OURS.answer(tools)).text == "Ana Bex"
    assert len(tools.of("search_text")) == 1


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
        tools = dragon(draft=["Bo"], search_router=[branch], verifier=[judged, judged])
        assert (await OURS.answer(tools)).refused is reason
        assert [provisional for _, provisional in tools.given] == [True] * (branch == "verify")


@pytest.mark.parametrize(
    ("router", "looked_up"),
    [
        ("image", ["queries split", "queries complete", "search_text Velmora first"]),
        ("text", [*IMAGE_AGENT, "queries split", "queries complete", "search_text Velmora second"]),
    ],
)
@pytest.mark.parametrize(("judged", "refused"), [("supported", None), ("contradicted", AbstainReason.CONTRADICTED)])
async def test_figure_of_qa_dragon_looks_up_what_was_left_out_before_it_refuses(
    router: str, looked_up: list[str], judged: str, refused: AbstainReason | None
) -> None:
    lines: dict[str, Scripts] = {"split": [["first"], ["second"]], "complete": [["first"], ["second"]]}
    writes: dict[str, Scripts] = {"reason": ["a", "b"], "conclude": ["Bo", "Ana"], "verifier": ["unsupported", judged]}
    tools = dragon(tool_router=[router], **lines, **writes)
    draft = await OURS.answer(tools)
    assert (draft.text, draft.refused, draft.notes) == ("Ana", refused, {"why": "b"})
    second = [str(call) for call in tools.made if call.round == 1]
    assert [call.removeprefix("1 ") for call in second] == [*looked_up, *ENDING]
    conclusion = tools.of("conclude")[-1].state
    assert (titles(conclusion.seen), bool(conclusion.found)) == (["Velmora"], True)


@pytest.mark.parametrize("first", ["I don't know", "Bo"], ids=["nothing", "a guess"])
async def test_figure_of_qa_dragon_answers_again_where_it_did_not_know(first: str) -> None:
    tools = dragon(tool_router=["none"], conclude=[first, "Ana"], reason=["a", "b"], guessed=["Bo"])
    assert (await OURS.answer(tools)).text == "Ana"
    assert [call.verb for call in tools.made].count("search_image") == 1


@pytest.mark.parametrize(
    "without",
    [
        {"subject": ["calculation"], "draft": ["Bo"], "think": [["It is red."]]},
        {"rounds": 0},
        {"pictures": (), "texts": False},
        {"policy": "qa-dragon-no-second-look"},
    ],
)
async def test_figure_of_qa_dragon_refuses_at_once_where_nothing_more_helps(without: dict[str, Any]) -> None:
    name = without.pop("policy", "qa-dragon+")
    tools = dragon(tool_router=["none"], conclude=["I don't know", "Ana"], **without)
    policy = next(each for each in QADragon.every() if each.name == name)
    assert (await policy.answer(tools)).text == "I don't know"
    assert len(tools.of("conclude")) == 1


@pytest.mark.parametrize(
    ("subject", "looked_up"),
    [("other", True), ("book", False), ("logo", False), ("plant", False), ("calculation", False)],
)
async def test_figure_of_qa_dragon_asks_what_a_verified_draft_is_about_before_a_second_look(
    subject: str, looked_up: bool
) -> None:
    tools = dragon(
        draft=["Bo"],
        think=[["It is red."]],
        search_router=["verify"],
        subject=[subject],
        split=[["first"], ["second"]],
        complete=[["first"], ["second"]],
        conclude=["Bo", "Ana"],
        verifier=["unsupported", "supported"],
    )
    draft = await OURS.answer(tools)
    second = [str(call).removeprefix("1 ") for call in tools.made if call.round == 1]
    lookup = [*IMAGE_AGENT, "queries split", "queries complete", "search_text Velmora second", *ENDING]
    assert second == ["decide subject", *(lookup if looked_up else [])]
    assert (draft.text, draft.refused) == (("Ana", None) if looked_up else ("Bo", AbstainReason.UNSUPPORTED))


@pytest.mark.parametrize(
    ("parts", "without", "conclusions"),
    [
        (Parts(additions=True), {"rounds": 0}, 1),
        (Parts(additions=True), {"verifier": ["supported"]}, 1),
        (Parts(additions=True, second_look=False), {}, 1),
        (Parts(text=False, additions=True), {}, 1),
        (Parts(tool_router=False, additions=True), {}, 2),
    ],
)
async def test_figure_of_qa_dragon_asks_no_subject_of_a_verified_draft_that_needs_none(
    parts: Parts, without: dict[str, Any], conclusions: int
) -> None:
    scripts: dict[str, Any] = {"draft": ["Bo"], "search_router": ["verify"], "verifier": ["unsupported", "supported"]}
    tools = dragon(**{**scripts, "reason": ["a", "b"], "conclude": ["Bo", "Ana"], **without})
    await QADragon(parts=parts).answer(tools)
    assert tools.of("subject") == []
    assert len(tools.of("conclude")) == conclusions


async def test_figure_of_qa_dragon_looks_up_the_thing_that_the_question_names_and_lists_no_objects() -> None:
    tools = dragon(named=("car on the left",))
    await OURS.answer(tools)
    assert [call.name for call in tools.of("search_image")] == ["car on the left <= 5"]
    assert tools.of("objects") == tools.of("object") == []


@pytest.mark.parametrize(("subject", "texts", "looks"), [("plant", False, 1), ("plant", True, 0), ("other", False, 1)])
async def test_figure_of_qa_dragon_looks_a_plant_up_too_where_nothing_was_found(
    subject: str, texts: bool, looks: int
) -> None:
    tools = dragon(subject=[subject], texts=texts, reason=["a", "b"], conclude=["I don't know", "Ana"])
    await OURS.answer(tools)
    assert len(tools.of("search_image")) == looks


async def test_figure_of_qa_dragon_looks_up_each_of_the_things_that_the_question_compares() -> None:
    tools = dragon(named=("boat", "car on the left"), pictures=seen("Tagrin", "Velmora"), entity=["yes", "no"])
    await OURS.answer(tools)
    assert [call.name for call in tools.of("search_image")] == ["<= 2"]
    assert [titles(call.state.seen) for call in tools.of("entity")] == [["Tagrin"], ["Velmora"]]
    assert titles(tools.of("conclude")[0].state.seen) == titles(tools.shown) == ["Tagrin"]
    assert "entity" not in tools.of("complete")[0].state.notes, "queries have no one name to be fused with"


async def test_figure_of_qa_dragon_looks_up_the_one_object_that_is_meant_whatever_else_is_written() -> None:
    tools = dragon(object=[["the red car", "the house behind it", "the road"]])
    await OURS.answer(tools)
    assert [call.name for call in tools.of("search_image")] == ["the red car <= 5"]


async def test_figure_of_qa_dragons_token_probabilities_refuse_before_the_verifier_is_asked() -> None:
    tools = ScriptedTools(unsure=["Bo"], think=THOUGHT, tool_router=["none"], conclude=["Bo"])
    assert (await OURS.answer(tools)).refused is AbstainReason.UNSURE
    assert tools.of("verifier") == []


async def test_figure_of_qa_dragon_goes_on_when_lists_are_empty_and_nothing_is_found() -> None:
    tools = dragon(think=[[]], objects=[[]], split=[[]], complete=[[]], entity=["no", "no", "no"])
    await OURS.answer(tools)
    assert tools.of("object") == []
    assert [call.name for call in tools.of("search_image")] == ["<= 5"]
    assert [call.name for call in tools.of("search_text")] == [QUESTION]
    assert tools.of("conclude")[0].state.seen == ()
    one = dragon(objects=[["car"]])
    await OURS.answer(one)
    assert one.of("object") == []
    assert [call.name for call in one.of("search_image")] == ["car <= 5"]


async def test_figure_of_qa_dragon_without_time_gives_what_was_shown_or_refuses() -> None:
    rag = ScriptedTools(draft=["Bo"])
    assert (await OURS.answer(rag)).refused is AbstainReason.BUDGET
    verify = ScriptedTools(draft=["Bo"], search_router=["verify"])
    draft = await OURS.answer(verify)
    assert (draft.text, draft.refused) == ("Bo", None)
    nothing = ScriptedTools(search_router=["direct"])
    assert (await OURS.answer(nothing)).refused is AbstainReason.BUDGET
    unverified = ScriptedTools(conclude=["Ana"])
    assert (await OURS.answer(unverified)).text == "Ana"


@pytest.mark.parametrize("policy", QADragon.every(), ids=lambda policy: policy.name)
async def test_figure_of_qa_dragons_ablations_leave_out_one_part(policy: QADragon) -> None:
    tools = dragon()
    await policy.answer(tools)
    whole = dragon()
    await OURS.answer(whole)
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
            "qa-dragon-no-second-look": [],
            "qa-dragon-routers-only": ["decide search_router", search],
        }[policy.name.removesuffix("+")]
    )
    known_domain = [call.state.notes.get("domain") for call in tools.made if call.verb in ("write", "lines", "decide")]
    assert set(known_domain) == ({""} if policy.name.startswith("qa-dragon-no-domain-router") else {None})
    last = tools.of("search_text")[0].name if tools.of("search_text") else ""
    assert last.endswith("as found") == policy.name.startswith("qa-dragon-no-reranking")


async def test_figure_of_qa_dragon_with_the_picture_as_its_only_source_verifies_by_it() -> None:
    tools = dragon(draft=["Bo"], search_router=["verify"])
    await QADragon(parts=Parts(text=False, additions=True)).answer(tools)
    assert tools.calls[3:] == [*IMAGE_AGENT, *ENDING]
    text = dragon(tool_router=["text"])
    await QADragon(parts=Parts(text=False, additions=True)).answer(text)
    assert text.calls[-3:] == ["b decide subject", *ENDING[:2]]


async def test_figure_of_qa_dragon_puts_the_entity_before_a_query_that_has_it_within_a_word_alone() -> None:
    tools = dragon(pictures=seen("Ant"), entity=["yes"], complete=[["how old do elephants get", "where do ants live"]])
    await OURS.answer(tools)
    assert "search_text Ant how old do elephants get, where do ants live" in tools.calls
