"""The policy `quote`: whose sentences it quotes, and when it says nothing."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from quizglass.values import AbstainReason, Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.quote import Quote
from tests.support.policy_fakes import ScriptedTools, seen


def note(title: str) -> Evidence:
    return Evidence(title, Origin.TEXT_SEARCH, title.casefold(), title, f"what the note on {title} says", used=True)


async def test_the_recognised_entry_is_quoted_and_no_text_is_searched_for() -> None:
    tools = ScriptedTools(
        question="When do I water this?", pictures=seen("Aloe"), **{"about Aloe's own": ["Every three weeks."]}
    )
    draft = await Quote().answer(tools)
    assert (draft.text, draft.refused) == ("Every three weeks.", None)
    assert not tools.of("search_text")
    assert [told.text for told, _ in tools.given] == ["Every three weeks."]


@pytest.mark.parametrize(
    ("question", "tags", "recognised", "quoted"),
    [
        ("When do I water this?", (), False, []),  # it points at what is not known
        ("When do I water this fern?", (), False, ["Fern"]),  # and names what is
        ("When do I water this?", ("fern",), False, ["Fern"]),  # a classifier names it
        ("Is he dangerous?", (), False, []),
        ("When were we here?", (), False, []),
        ("When is bin day?", (), False, ["Bins of May"]),  # it points at nothing, and names part of a title
        ("When is the last collection?", (), False, []),  # of what is seen, perhaps
        ("How old is this?", (), True, []),  # another thing's note says nothing of a recognised one
        ("Is it older than the fern?", (), True, ["Fern"]),
    ],
)
async def test_another_note_is_quoted_only_where_it_is_meant(
    question: str, tags: tuple[str, ...], recognised: bool, quoted: list[str]
) -> None:
    tools = ScriptedTools(
        question=question,
        tags=tags,
        pictures=seen("Aloe") if recognised else (),
        found=[note("Bins of May"), note("Fern")],
    )
    draft = await Quote().answer(tools)
    weighed = tools.of("quote")[-1].name
    assert weighed == ", ".join(f"what the note on {title} says" for title in quoted)
    assert draft.refused is AbstainReason.NO_EVIDENCE


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("When is collection day?", ["Bins of May", "Fern"]),
        ("When are the ferns cut?", ["Fern"]),
        ("When is the piano tuned?", []),  # no note has a word of it
        ("When was Napoleon born?", []),
        ("When is it?", []),
        ("Is it bin day?", ["Bins of May"]),
    ],
)
async def test_without_a_picture_any_note_may_answer_but_one_of_another_thing(question: str, quoted: list[str]) -> None:
    tools = ScriptedTools(question=question, pictured=False, found=[note("Bins of May"), note("Fern")])
    await Quote().answer(tools)
    assert tools.of("quote")[-1].name == ", ".join(f"what the note on {title} says" for title in quoted)


WIFI = Evidence("1", Origin.TEXT_SEARCH, "wifi", "Home wifi", "Network: Fjord-5G. Password: 4711.", used=True)
CATHEDRAL = Evidence(
    "2", Origin.TEXT_SEARCH, "berlin", "Berlin", "Tickets to the network of crypts.", picture=b"p" * 32
)


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What is the network called?", ["Home wifi"]),  # that one, and no picture of it could be recognised
        ("What's the Wi-Fi password?", ["Home wifi"]),
        ("How much are the tickets?", []),  # to what is seen: the note that has them has a picture of its own
        ("What is this network called?", []),
        ("What is its password?", []),
        ("Is he in the network?", []),
        ("Which network covers the harbour?", []),  # which the note says nothing about
        ("What is it called?", []),
        ("When was the mug bought?", []),
    ],
)
async def test_beside_something_unknown_a_note_without_a_picture_answers_what_is_about_it(
    question: str, quoted: list[str]
) -> None:
    tools = ScriptedTools(question=question, found=[CATHEDRAL, WIFI])
    await Quote().answer(tools)
    assert tools.of("quote")[-1].name == ", ".join(WIFI.text for _ in quoted)


@pytest.mark.parametrize(
    ("found", "pictures"),
    [
        (replace(WIFI, picture=b"p" * 32), ()),  # it would have been recognised
        (replace(WIFI, trust=0.5), ()),  # a source such as the web, which has the words of any question
        (WIFI, seen("Aloe")),  # something else is recognised
    ],
)
async def test_beside_a_picture_no_other_note_answers_what_names_none(
    found: Evidence, pictures: Sequence[Evidence]
) -> None:
    tools = ScriptedTools(question="What is the network called?", pictures=pictures, found=[found])
    await Quote().answer(tools)
    assert tools.of("quote")[-1].name == ""


async def test_such_a_note_is_weighed_beside_those_of_which_the_question_names_a_part() -> None:
    tools = ScriptedTools(question="What is the password of the wifi bins?", found=[note("Bins of May"), WIFI])
    await Quote().answer(tools)
    assert tools.of("quote")[-1].name == f"what the note on Bins of May says, {WIFI.text}"


async def test_words_in_the_picture_are_read_out_where_that_is_asked() -> None:
    tools = ScriptedTools(question="What does this sign say?", pictures=seen("Aloe"), printed="NO ENTRY AFTER 6 PM")
    draft = await Quote().answer(tools)
    assert draft.text == "NO ENTRY AFTER 6 PM"
    assert not tools.of("search_image")


async def test_a_picture_without_words_is_looked_up_as_ever() -> None:
    tools = ScriptedTools(question="What does it say?", pictures=seen("Aloe"), **{"about Aloe's own": ["Read me."]})
    assert (await Quote().answer(tools)).text == "Read me."


@pytest.mark.parametrize(
    ("question", "recognised", "pictured", "weighed"),
    [
        ("When do they open?", True, True, [True, False]),  # it may be about words: beside the entry's own, once
        ("When do they open?", False, True, [True]),
        ("Who made it?", True, True, [False, True]),  # where the entry's own do not answer
        ("Who made it?", False, True, [True]),
        ("What colour is it?", False, True, [False]),  # no words say how it looks
        ("When do they open?", False, False, [False]),
    ],
)
async def test_lines_of_words_are_weighed_where_they_may_answer(
    question: str, recognised: bool, pictured: bool, weighed: list[bool]
) -> None:
    tools = ScriptedTools(question=question, pictured=pictured, pictures=seen("Aloe") if recognised else (), found=[])
    await Quote().answer(tools)
    assert tools.weighed_words == weighed
