"""What needs no policy: names, overviews, small talk."""

import pytest

from quizglass.values import AbstainReason, AnswerKind, Origin
from quizglass_server.assistant.direct import answer_by_entry, small_talk
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.intents import Intent
from tests.support.policy_fakes import ScriptedTools, seen


async def test_a_name_is_the_title_of_what_is_recognised() -> None:
    draft = await answer_by_entry(Intent.IDENTITY, ScriptedTools(pictures=seen("Gerda's aloe", "Fern")))
    assert draft is not None
    assert (draft.text, draft.kind, draft.shown) == ("Gerda's aloe", AnswerKind.NAMED, ("1",))


async def test_an_overview_is_how_the_entry_begins() -> None:
    draft = await answer_by_entry(Intent.OVERVIEW, ScriptedTools(pictures=seen("Aloe")))
    assert draft is not None
    assert (draft.text, draft.kind) == ("about Aloe's own", AnswerKind.QUOTED)


@pytest.mark.parametrize(
    ("quoted", "answer"), [("He is a terrier.", "He is a terrier."), (None, "Rex's own: about Rex's own")]
)
async def test_a_kind_is_what_the_note_says_or_else_the_title_and_how_it_begins(
    quoted: str | None, answer: str
) -> None:
    tools = ScriptedTools(pictures=seen("Rex"), **{"about Rex's own": [quoted]})
    draft = await answer_by_entry(Intent.KIND, tools)
    assert draft is not None
    assert draft.text == answer


@pytest.mark.parametrize(
    ("title", "answer"),
    [
        ("Jonah's racket", "Jonah's racket"),
        ("Jonah\u2019s racket", "Jonah\u2019s racket"),
        ("Rex, the Hoffmanns' dog", "Rex, the Hoffmanns' dog"),
        ("Amira's", "Amira's"),
        ("Racket", None),
    ],
)
async def test_whose_a_thing_is_its_title_says_or_the_policy_is_asked(title: str, answer: str | None) -> None:
    draft = await answer_by_entry(Intent.OWNER, ScriptedTools(pictures=seen(title)))
    assert (draft.text if draft else None) == answer


async def test_whose_an_unknown_thing_is_is_guessed_by_no_tag() -> None:
    assert await answer_by_entry(Intent.OWNER, ScriptedTools(tags=("cup",))) is None


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("cup", "It may be a cup."),
        ("espresso", "It may be an espresso."),
        ("unicycle", "It may be a unicycle."),
        ("umbrella", "It may be an umbrella."),
        ("hourglass", "It may be an hourglass."),
        ("Fuji", "It may be Fuji."),
    ],
)
async def test_what_is_not_recognised_is_named_with_its_doubt(tag: str, said: str) -> None:
    draft = await answer_by_entry(Intent.IDENTITY, ScriptedTools(tags=(tag,)))
    assert draft is not None
    assert (draft.text, draft.kind) == (said, AnswerKind.GUESSED)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What's his name?", ""),
        ("What is their first name?", ""),
        ("What is she called?", ""),
        ("What is its name?", "It may be a beagle."),
        ("What's this called?", "It may be a beagle."),
    ],
)
async def test_a_name_of_its_own_is_guessed_by_no_tag(question: str, said: str) -> None:
    draft = await answer_by_entry(Intent.IDENTITY, ScriptedTools(tags=("beagle",), question=question))
    assert draft is not None
    assert draft.text == said


@pytest.mark.parametrize(
    ("question", "answer"), [("Tell me about the fox", "about Fox's own"), ("Tell me about the goose", "")]
)
async def test_without_a_picture_an_overview_is_of_the_entry_that_is_named(question: str, answer: str) -> None:
    found = [Evidence("1", Origin.TEXT_SEARCH, "fox", "Fox", "A fox is no goose.")]
    tools = ScriptedTools(pictured=False, found=found, question=question)
    draft = await answer_by_entry(Intent.OVERVIEW, tools)
    assert draft is not None
    assert (draft.text, draft.refused is AbstainReason.NO_EVIDENCE) == (answer, not answer)
    assert not tools.of("search_image")


async def test_what_nothing_knows_is_refused() -> None:
    draft = await answer_by_entry(Intent.OVERVIEW, ScriptedTools(tags=("cup",)))
    assert draft is not None
    assert draft.refused is AbstainReason.NO_EVIDENCE


async def test_a_generator_that_sees_is_asked_what_is_not_recognised() -> None:
    assert await answer_by_entry(Intent.IDENTITY, ScriptedTools(sees_pictures=True)) is None


@pytest.mark.parametrize("intent", [Intent.SCENE, Intent.KIND])
async def test_a_generator_that_sees_says_what_a_picture_shows(intent: Intent) -> None:
    tools = ScriptedTools(pictures=seen("Rex"), sees_pictures=True)
    assert await answer_by_entry(intent, tools) is None
    assert tools.calls == []


async def test_facts_are_left_to_the_policy() -> None:
    tools = ScriptedTools(pictures=seen("Aloe"))
    assert await answer_by_entry(Intent.FACT, tools) is None
    assert tools.calls == []


def test_small_talk_has_a_fixed_reply_and_a_question_none() -> None:
    small = {Intent.GREETING, Intent.THANKS, Intent.FAREWELL, Intent.REMARK, Intent.ABOUT_ASSISTANT}
    for intent in Intent:
        reply = small_talk(intent)
        assert (reply is not None) == (intent in small)
        assert reply is None or reply.kind is AnswerKind.FIXED
