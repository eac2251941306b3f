"""Chats as the unmodified client of OpenAI asks them, over a real socket."""

import asyncio
import base64
import gzip
import json
import threading
from typing import Literal
from urllib.parse import quote

import openai
import pydantic
import pytest

from quizglass import values
from quizglass_server import errors
from quizglass_server.domain import turns as domain
from quizglass_server.policies.table import PolicyStatus
from quizglass_server.web.chat import reading, request
from quizglass_server.web.chat.schemas.conversion import schema_grammar
from tests.support.engines.gbnf import Gbnf
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, Assistant, HeldScript, png
from tests.support.web import CHAT, JSON, Wire, ask, web_serving

SCHEMA = {"type": "object", "properties": {"price": {"type": "integer"}}, "required": ["price"]}


@pytest.fixture
async def client(served):
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none is needed", max_retries=0) as made:
        yield made


def data_uri(encoded=None, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(png() if encoded is None else encoded).decode()}"


def user(text, *urls):
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": "user", "content": [{"type": "text", "text": text}, *pictures]}


def says(*events):
    async def script(turn, policy, budget):
        for event in events:
            yield event

    return script


async def refused(client, *messages, **options):
    with pytest.raises(openai.APIStatusError) as caught:
        await client.chat.completions.create(**{"model": "both", "messages": messages, **options})
    return caught.value


async def test_a_question_about_a_picture_is_answered_with_citations_and_numbers(client, served):
    answer = await client.chat.completions.create(
        model="both", messages=[user("How much is it?", data_uri())], max_tokens=99
    )
    (choice,) = answer.choices
    assert (choice.message.content, choice.finish_reason) == ("45 crowns", "stop")
    (note,) = choice.message.annotations
    citation = note.url_citation
    assert choice.message.content[citation.start_index : citation.end_index] == "45 crowns"
    assert (note.type, citation.title, citation.url) == ("url_citation", "Velmora", "urn:quizglass:entry:velmora")
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (20, 2, 22)
    (turn,) = served.stage.assistant.turns
    assert (turn.question, turn.picture.width, turn.max_answer_tokens) == ("How much is it?", 64, 99)
    assert served.stage.assistant.asked[0][0] == "both"
    assert answer.id == f"chatcmpl-{turn.id}"
    assert answer.quizglass["plan"] == "both"


async def test_a_stream_gives_words_as_they_come(client, served):
    gate = Gate()

    async def waits(turn, policy, budget):
        for event in EVENTS[:4]:
            yield event
        await gate()
        for event in EVENTS[4:]:
            yield event

    served.stage.assistant.script = waits
    stream = await client.chat.completions.create(
        model="both", messages=[user("What?")], stream=True, stream_options={"include_usage": True}
    )
    async with asyncio.timeout(60):
        first = await anext(stream)
        assert (first.choices[0].delta.role, first.choices[0].delta.content) == ("assistant", "45")
        await gate.reached.wait()
        gate.open.set()
        words, end, usage = [chunk async for chunk in stream]
    assert words.choices[0].delta.content == " crowns"
    assert end.choices[0].finish_reason == "stop"
    assert end.choices[0].delta.annotations[0]["url_citation"]["end_index"] == 9
    assert (usage.choices, usage.usage.total_tokens) == ([], 22)
    assert first.usage is None


async def test_a_stream_that_fails_before_its_first_words_is_told_by_a_status(client, served):
    async def fails(turn, policy, budget):
        for event in EVENTS[:3]:
            yield event
        raise errors.Overloaded("no room", 2.0)

    served.stage.assistant.script = fails
    error = await refused(client, user("What?"), stream=True)
    assert (error.status_code, error.type) == (429, "rate_limit_error")


async def test_a_source_that_is_an_address_is_what_a_citation_names(client, served):
    evidence = domain.Evidence("1", values.Origin.TEXT_SEARCH, "e", "E", "text", source="https://example.org/e")
    done = values.Done("x", values.FinishReason.COMPLETE, citations=(values.Citation("1", "e", "E", 0, 1),))
    served.stage.assistant.script = says(values.EvidenceFound((evidence,)), values.AnswerDelta("x"), done)
    answer = await client.chat.completions.create(model="both", messages=[user("What?")])
    assert answer.choices[0].message.annotations[0].url_citation.url == "https://example.org/e"


async def test_words_in_the_picture_are_cited_by_a_heading_and_a_name_of_their_own(client, served):
    read = domain.Evidence("1", values.Origin.READ_TEXT, "", "", "Open 9 am - 8 pm", used=True)
    cited = values.Citation("1", "", "Words in the picture", 0, 16)
    done = values.Done(read.text, values.FinishReason.COMPLETE, citations=(cited,))
    served.stage.assistant.script = says(values.EvidenceFound((read,)), values.AnswerDelta(read.text), done)
    answer = await client.chat.completions.create(model="both", messages=[user("When does it close?")])
    citation = answer.choices[0].message.annotations[0].url_citation
    assert (citation.title, citation.url) == ("Words in the picture", "urn:quizglass:picture")


def checked(outcome, text="No", **notes):
    return [
        values.AnswerDelta(text),
        values.Verdict(outcome, 0.5, 0.5, notes),
        values.Done(text, values.FinishReason.COMPLETE),
    ]


UNCONFIRMED = "No\n\nBut nothing I found confirms that."
DOUBTFUL = [
    (checked(values.VerdictOutcome.UNSUPPORTED), UNCONFIRMED),
    (checked(values.VerdictOutcome.SUPPORTED, disputed="yes [2]"), "No\n\nBut other sources say otherwise."),
    (checked(values.VerdictOutcome.SUPPORTED), "No"),
    (checked(values.VerdictOutcome.UNCHECKED), "No"),
]


@pytest.mark.parametrize(("events", "content"), DOUBTFUL)
async def test_a_client_that_shows_nothing_but_the_content_shows_its_doubt(client, served, events, content):
    served.stage.assistant.script = says(*events)
    answer = await client.chat.completions.create(model="both", messages=[user("Is it safe?")])
    assert answer.choices[0].message.content == content
    assert answer.quizglass["verdict"]["outcome"] == events[1].outcome
    stream = await client.chat.completions.create(model="both", messages=[user("Is it safe?")], stream=True)
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == content
    assert chunks[-1].quizglass["verdict"]["outcome"] == events[1].outcome


async def test_an_earlier_doubt_is_no_part_of_the_dialogue_and_json_has_none(client, served):
    served.stage.assistant.script = says(*checked(values.VerdictOutcome.UNSUPPORTED, "{}"))
    earlier = [user("Is it safe?"), {"role": "assistant", "content": UNCONFIRMED}, user("Why?")]
    wanted = {"type": "json_object"}
    answer = await client.chat.completions.create(model="both", messages=earlier, response_format=wanted)
    assert answer.choices[0].message.content == "{}"
    assert answer.quizglass["verdict"]["outcome"] == "unsupported"
    (turn,) = served.stage.assistant.turns
    assert [each.answer for each in turn.history] == ["No"]


async def test_a_draft_that_is_confirmed_is_the_answer_and_one_that_is_withdrawn_is_not(client, served):
    done = values.Done("a cup", values.FinishReason.COMPLETE)
    told = [values.Provisional("a mug"), values.Withdrawn(), values.Provisional("a cup"), values.Confirmed(), done]
    served.stage.assistant.script = says(*told)
    stream = await client.chat.completions.create(model="both", messages=[user("What?")], stream=True)
    texts = [chunk.choices[0].delta.content for chunk in [chunk async for chunk in stream]]
    assert [text for text in texts if text] == ["a cup"]


async def test_a_schema_reaches_the_engine_and_what_is_not_known_is_a_refusal(client, served):
    wanted = {"type": "json_schema", "json_schema": {"name": "price", "strict": True, "schema": SCHEMA}}
    done = values.Done('{"price": 45}', values.FinishReason.COMPLETE)
    served.stage.assistant.script = says(values.AnswerDelta('{"price": 45}'), done)
    answer = await client.chat.completions.create(model="both", messages=[user("What?")], response_format=wanted)
    assert json.loads(answer.choices[0].message.content) == {"price": 45}
    assert Gbnf(served.stage.assistant.turns[0].answer_grammar).allows('{"price": 45}')
    refusing = values.Done("I don't know", values.FinishReason.COMPLETE, abstain_reason=values.AbstainReason.UNSURE)
    served.stage.assistant.script = says(values.AnswerDelta("I don't know"), refusing)
    answer = await client.chat.completions.create(model="both", messages=[user("What?")], response_format=wanted)
    message = answer.choices[0].message
    assert (message.content, message.refusal) == (None, "I don't know")
    assert answer.quizglass["abstain_reason"] == "unsure"


async def streamed(client, wanted):
    """Content and refusal of a stream."""
    stream = await client.chat.completions.create(
        model="both", messages=[user("What?")], response_format=wanted, stream=True
    )
    deltas = [chunk.choices[0].delta async for chunk in stream]
    return "".join(each.content or "" for each in deltas), "".join(each.refusal or "" for each in deltas)


async def test_a_stream_that_is_to_be_json_has_json_or_a_refusal(client, served):
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": ["object", "boolean"]}}}
    unknown = values.Done("nothing", values.FinishReason.COMPLETE, abstain_reason=values.AbstainReason.MODEL)
    told = [values.AnswerDelta("n"), values.AnswerDelta("othing")]
    served.stage.assistant.script = says(*told, unknown)
    assert await streamed(client, wanted) == ("", "nothing")
    for text in ("as it is written", "1889 is its year", '"So" it is said', "[1] says so"):
        served.stage.assistant.script = says(values.AnswerDelta(text), values.Done(text, values.FinishReason.COMPLETE))
        assert await streamed(client, wanted) == ("", text)
    served.stage.assistant.script = says(values.AnswerDelta('{"a'), values.Done('{"a', values.FinishReason.LENGTH))
    assert await streamed(client, wanted) == ('{"a', "")
    pieces = [values.AnswerDelta(" tr"), values.AnswerDelta("ue"), values.Done("true", values.FinishReason.COMPLETE)]
    served.stage.assistant.script = says(*pieces)
    assert await streamed(client, wanted) == ("true", "")
    said = '{"a": "I do not know"}'
    unsure = values.Done(said, values.FinishReason.COMPLETE, abstain_reason=values.AbstainReason.MODEL)
    served.stage.assistant.script = says(values.AnswerDelta(said), unsure)
    assert await streamed(client, wanted) == (said, "")
    answer = await client.chat.completions.create(model="both", messages=[user("What?")], response_format=wanted)
    assert (answer.choices[0].message.content, answer.quizglass["abstain_reason"]) == (said, "model")


class Maker(pydantic.BaseModel):
    name: str
    since: int | None = pydantic.Field(None, ge=1800)


class Thing(pydantic.BaseModel):
    """What is shown."""

    kind: Literal["a cup", "🙂"]
    made_by: list[Maker]


async def test_a_model_of_pydantic_is_a_schema(client, served):
    said = '{"kind": "🙂", "made_by": [{"name": "Ada", "since": null}]}'
    done = values.Done(said, values.FinishReason.COMPLETE)
    served.stage.assistant.script = says(values.AnswerDelta(said), done)
    answer = await client.chat.completions.parse(model="both", messages=[user("What?")], response_format=Thing)
    assert answer.choices[0].message.parsed == Thing(kind="🙂", made_by=[Maker(name="Ada")])
    assert answer.quizglass["ignored"] == []
    assert Gbnf(served.stage.assistant.turns[0].answer_grammar).allows(said)


async def test_keywords_without_effect_are_named_and_those_that_cannot_be_followed_refused_at_their_place(client):
    def of(schema):
        return {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}

    loose = of({"type": "object", "properties": {"a": {"type": "string", "format": "email"}}, "x-order": 1})
    answer = await client.chat.completions.create(model="both", messages=[user("What?")], response_format=loose)
    where = "response_format.json_schema.schema"
    assert answer.quizglass["ignored"] == [f"{where}.x-order", f"{where}.properties.a.format"]
    again = await client.chat.completions.create(model="both", messages=[user("What?")], response_format=loose)
    assert again.quizglass["ignored"] == answer.quizglass["ignored"]
    error = await refused(client, user("What?"), response_format=of({"items": {"uniqueItems": True}}))
    assert (error.status_code, error.param) == (400, f"{where}.items.uniqueItems")


async def test_what_else_is_asked_goes_on_while_a_schema_is_worked_out(client, served, monkeypatch):
    begun, release = threading.Event(), threading.Event()

    def slow(schema):
        begun.set()
        assert release.wait(60)
        return schema_grammar(schema)

    monkeypatch.setattr(reading, "schema_grammar", slow)
    wanted = {"type": "json_schema", "json_schema": {"name": "price", "schema": SCHEMA}}
    asking = client.chat.completions.create(model="both", messages=[user("What?")], response_format=wanted)
    async with asyncio.timeout(60):
        waiting = asyncio.create_task(asking)
        await asyncio.to_thread(begun.wait)
        assert (await client.chat.completions.create(model="both", messages=[user("And this?")])).choices
        release.set()
        assert (await waiting).choices


async def test_a_dialogue_comes_with_its_history_and_its_latest_picture(client, served):
    messages = [
        {"role": "system", "content": "Be brief."},
        user("What is this?", data_uri(png(32, 24))),
        {"role": "assistant", "content": "A red one."},
        user("And this?", data_uri(png(40, 30))),
        {"role": "assistant", "content": [{"type": "text", "text": "Another."}]},
        {"role": "user", "content": "Which is larger?"},
    ]
    answer = await client.chat.completions.create(model="quizglass", messages=messages, temperature=0.2)
    (turn,) = served.stage.assistant.turns
    assert [(past.question, past.answer) for past in turn.history] == [
        ("What is this?", "A red one."),
        ("And this?", "Another."),
    ]
    assert (turn.question, turn.picture.width) == ("Which is larger?", 40)
    assert (answer.model, answer.quizglass["ignored"]) == ("planning-agent+", ["temperature", "messages[0] (system)"])


async def test_a_dialogue_goes_on_after_a_long_answer_and_a_picture_without_a_question(client, served):
    messages = [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": data_uri()}}]},
        {"role": "assistant", "content": "A cup."},
        user("Tell me all about it."),
        {"role": "assistant", "content": "y" * 3000},
        user("And now?"),
    ]
    answer = await client.chat.completions.create(model="quizglass", messages=messages)
    (turn,) = served.stage.assistant.turns
    assert turn.history == (values.Exchange("Tell me all about it.", "y" * 2000),)
    assert turn.picture is not None
    told = ["messages[0].content (no text)", "messages[3].content (beyond 2000 characters)"]
    assert answer.quizglass["ignored"] == told


async def test_what_has_no_effect_is_told_wherever_it_stands(client):
    shown = [
        {"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": data_uri(), "detail": "low"}},
    ]
    messages = [{"role": "user", "name": "Ada", "content": shown}]
    answer = await client.chat.completions.create(model="both", messages=messages)
    assert answer.quizglass["ignored"] == ["messages[0].name", "messages[0].content[1].image_url.detail"]
    shown[1]["image_url"]["detail"] = "auto"
    answer = await client.chat.completions.create(model="both", messages=[{"role": "user", "content": shown}])
    assert answer.quizglass["ignored"] == []


async def test_the_models_are_the_policies_that_can_be_served(client):
    listed = [model.id async for model in client.models.list()]
    assert listed == ["quizglass", "planning-agent+", "none", "both"]
    assert (await client.models.retrieve("none")).owned_by == "quizglass"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("draft-first")


@pytest.mark.parametrize(("everything", "listed"), [(False, ["quizglass", "omnisearch+", "both"]), (True, None)])
async def test_policies_of_papers_are_listed_where_all_are_wanted(tmp_path, everything, listed):
    assistant = Assistant()
    names = ("omnisearch+", "both", "qa-dragon+")
    assistant.policy_statuses = tuple(PolicyStatus(name, ()) for name in names)
    async with (
        web_serving(tmp_path, assistant, all_policies=everything) as served,
        openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none is needed", max_retries=0) as client,
    ):
        assert [model.id async for model in client.models.list()] == (listed or ["quizglass", *names])
        assert (await client.models.retrieve("qa-dragon+")).id == "qa-dragon+"


async def test_an_unknown_model_is_not_found(client):
    error = await refused(client, user("What?"), model="gpt-4o")
    assert (error.status_code, error.code, error.param) == (404, "model_not_found", "model")
    assert error.body["message"] == (
        "model: there is no model 'gpt-4o'; choose one of quizglass, planning-agent+, none, both"
    )


@pytest.mark.parametrize("name", ["gpt-4o", "meta/llama", "nope"])
async def test_an_unknown_model_of_the_list_is_not_found(client, name):
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve(name)
    error = caught.value
    assert (error.code, error.param, error.type) == ("model_not_found", "model", "invalid_request_error")
    assert error.body["message"] == (
        f"model: there is no model '{name}'; choose one of quizglass, planning-agent+, none, both"
    )


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/chat/completions", "did you mean '/v1/chat/completions'?"),
        ("/v1/v1/chat/completions", "did you mean '/v1/chat/completions'?"),
        ("/v1/chat/completions/", "did you mean '/v1/chat/completions'?"),
        ("/models", "did you mean '/v1/models'?"),
        ("/v1/responses", "of OpenAI's API there is /v1/audio/speech, /v1/audio/transcriptions, /v1/chat/completions"),
        ("/v1/embeddings", "of OpenAI's API there is "),
        ("/api/chat", "of OpenAI's API there is "),
        ("/quizglass.v1.AssistantService/Aks", "did you mean '/quizglass.v1.AssistantService/Ask'?"),
        ("/nothing", ""),
    ],
)
async def test_a_path_without_anything_says_where_there_is_something(served, path, told):
    answer = await ask(served, "POST", path, b"{}", JSON)
    error = answer.json["error"]
    assert answer.status == 404
    assert error["message"].startswith(f"there is nothing at '{path}'")
    assert told in error["message"]
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", None, None)


class Lacking(Assistant):
    """Has no generator."""

    async def run(self, turn, policy, budget, tell):
        raise errors.RoleMissing("generator", f"policy {policy!r}", "policy")


async def test_a_model_that_the_bundle_cannot_serve_is_named_as_the_fault(tmp_path):
    async with (
        web_serving(tmp_path, Lacking()) as served,
        openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none is needed", max_retries=0) as client,
    ):
        error = await refused(client, user("What?"))
    assert (error.status_code, error.code, error.param) == (400, "role_missing", "model")
    assert error.body["message"].startswith("model: the bundle has no generator, which policy 'both' needs; ")


class Quoting(Assistant):
    """Quotes, and writes where it is asked to."""

    policies = ("quote", "both", "none")

    @property
    def policy_statuses(self):
        return tuple(PolicyStatus(name, ()) for name in self.policies)


async def test_json_is_asked_for_of_a_model_that_writes(tmp_path):
    async with (
        web_serving(tmp_path, Quoting()) as served,
        openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none is needed", max_retries=0) as client,
    ):
        error = await refused(client, user("What?"), model="quizglass", response_format={"type": "json_object"})
    assert (error.status_code, error.param) == (400, "response_format")
    assert error.body["message"] == (
        "response_format: model 'quote' quotes sentences and writes no JSON; choose one of both, none"
    )


async def test_a_question_has_the_budget_that_is_given_beside_openais_fields(client, served):
    answer = await client.chat.completions.create(
        model="both", messages=[user("What?")], extra_body={"budget_ms": 2500}
    )
    assert answer.quizglass["ignored"] == []
    assert [budget.total_s for _, budget in served.stage.assistant.asked] == [2.5]
    error = await refused(client, user("What?"), extra_body={"budget_ms": 0})
    assert (error.param, error.body["message"]) == ("budget_ms", "budget_ms: has to be at least 1")


async def test_a_picture_whose_address_stands_alone_is_taken(client, served):
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": data_uri()}],
    }
    assert (await client.chat.completions.create(model="both", messages=[message])).choices
    (turn,) = served.stage.assistant.turns
    assert (turn.picture.width, turn.picture.height) == (64, 48)
    message["content"][1]["image_url"] = "https://example.org/a.png"
    assert (await refused(client, message)).param == "messages[0].content[1].image_url"


async def test_pictures_beside_the_content_are_not_lost_silently(client):
    error = await refused(client, {"role": "user", "content": "What?", "images": ["aGVsbG8="]})
    assert (error.status_code, error.param) == (400, "messages[0].images")
    assert '"image_url"' in error.body["message"]


async def test_names_of_messages_without_effect_are_told(client):
    past = [user("One?"), {"role": "assistant", "content": "1", "annotations": [], "reasoning_content": "hm"}]
    messages = [*past, {**user("Two?"), "cache_control": {"type": "ephemeral"}, "reasoning_content": ""}]
    answer = await client.chat.completions.create(model="both", messages=messages)
    assert answer.quizglass["ignored"] == ["messages[1].reasoning_content", "messages[2].cache_control"]
    much = {**user("Two?"), **{f"unknown{number}": 1 for number in range(65)}}
    assert (await refused(client, much)).param == "messages[0]"


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"type": "image_url"}, '\'image_url\' is not whole; send {"type": "image_url"'),
        ({"type": "text"}, '\'text\' is not whole; send {"type": "text"'),
        ({"type": "input_text", "text": "What?"}, '\'input_text\' is not taken here; send {"type": "text"'),
        ({"type": "input_image", "image_url": "x"}, '\'input_image\' is not taken here; send {"type": "image_url"'),
        ({"type": "video_url"}, "'video_url' is not taken here; there are text, image_url, input_audio"),
    ],
)
async def test_a_part_that_is_not_taken_says_what_is(client, part, told):
    error = await refused(client, {"role": "user", "content": [part]})
    assert error.param == "messages[0].content[0]"
    assert error.body["message"].startswith(f"messages[0].content[0]: a part of type {told}")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "messages: is missing"),
        ({"messages": "hi"}, "messages: has to be a list"),
        ({"messages": []}, "messages: must not be empty"),
        ({"messages": ["hi"]}, "messages[0]: has to be an object"),
        ({"messages": [user("a")], "model": 3}, "model: has to be a text"),
        ({"messages": [user("a")], "max_tokens": 0}, "max_tokens: has to be at least 1"),
        ({"messages": [user("a")], "max_tokens": 5.5}, "max_tokens: has to be a whole number"),
        ({"messages": [user("a")], "stream": "maybe"}, "stream: has to be true or false"),
        (
            {"messages": [user("a")], "response_format": {"type": "yaml"}},
            "response_format.type: has to be 'text', 'json_object' or 'json_schema'",
        ),
    ],
)
async def test_a_wrong_body_is_told_in_plain_words(served, body, told):
    answer = await ask(served, "POST", CHAT, json.dumps(body).encode(), JSON)
    assert (answer.status, answer.json["error"]["message"]) == (400, told)


async def test_a_picture_without_words_is_no_question(client):
    error = await refused(client, user("", data_uri()))
    assert error.body["message"] == "messages[0].content: has a picture and no text; ask something about it"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://example.org/a.png", "never fetched"),
        ("http://127.0.0.1/a.png", "never fetched"),
        ("file:///etc/passwd", "never fetched"),
        ("a.png", "never fetched"),
        (base64.b64encode(png()).decode(), "no data URI"),
        (data_uri(b"<html>", "text/html"), "no picture in base64"),
        ("data:image/png,plain", "no picture in base64"),
        ("data:image/png;base64,%%%%", "not base64"),
        ("data:image/png;base64,aGVs=bG8=", "not base64"),
        ("data:image/png;base64,aGVsb", "not base64"),
        ("data:image/png;charset=utf-8,aGVsbA==", "no picture in base64"),
        (data_uri(b"no picture at all"), "not a picture"),
        (data_uri(png()[:60]), ""),
        ("data:image/png;base64,", ""),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_no_picture_is_refused_and_nothing_is_fetched(client, served, url, why, stream):
    error = await refused(client, user("What?", url), stream=stream)
    assert (error.status_code, error.type) == (400, "invalid_request_error")
    assert error.param == "messages[0].content[1].image_url.url"
    assert why in error.message
    assert served.stage.assistant.turns == []


def in_lines(encoded, end):
    text = base64.b64encode(encoded).decode()
    return end.join(text[start : start + 76] for start in range(0, len(text), 76))


@pytest.mark.parametrize(
    "url",
    [
        "data:image/png;base64," + in_lines(png(), "\n"),
        "data:image/png;base64," + in_lines(png(), "\r\n") + "\r\n",
        "data:image/png;base64,\n" + base64.b64encode(png()).decode(),
        data_uri().rstrip("="),
        "data:image/png;base64," + base64.urlsafe_b64encode(png()).decode(),
        "data:image/png;name=photo.png;charset=utf-8;base64," + base64.b64encode(png()).decode(),
        "DATA:IMAGE/PNG;BASE64," + base64.b64encode(png()).decode(),
        "data:image/png;base64," + quote(base64.b64encode(png()).decode(), safe=""),
        "data:;base64," + base64.b64encode(png()).decode(),
        data_uri(kind="application/octet-stream"),
        "  " + data_uri() + "\n",
    ],
)
async def test_base64_is_taken_as_programs_write_it(client, served, url):
    assert (await client.chat.completions.create(model="both", messages=[user("What?", url)])).choices
    (turn,) = served.stage.assistant.turns
    assert (turn.picture.width, turn.picture.height) == (64, 48)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "assistant", "content": "hi"}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": "\x00"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": "x" * 2001}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages[0].content[0]"),
        ({"messages": [user("a", data_uri(), data_uri())]}, "messages[0].content[2]"),
        (
            {"messages": [user("x" * 2001), {"role": "assistant", "content": "y"}, user("z")]},
            "messages[0].content",
        ),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"logprobs": True}, "logprobs"),
        ({"stop": ["x"]}, "stop"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"extra_body": {f"unknown{number}": 1 for number in range(65)}}, "body"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 65}]}, "messages[0].content"),
        ({"extra_body": {"x": [{}] * 50_000}}, "body"),
    ],
)
async def test_what_cannot_be_done_is_refused_by_its_name(client, change, param):
    error = await refused(client, **{"messages": [user("What?")], **change})
    assert (error.status_code, error.type, error.param) == (400, "invalid_request_error", param)


@pytest.mark.parametrize(
    "harmless", [{"n": 1}, {"tools": []}, {"tool_choice": "none"}, {"logprobs": False}, {"stop": None}, {"seed": 5}]
)
async def test_what_asks_for_nothing_is_taken(client, harmless):
    assert (await client.chat.completions.create(model="both", messages=[user("What?")], **harmless)).choices


async def test_more_is_answered_than_fits_by_leaving_the_oldest_out(client, served):
    messages = []
    for number in range(20):
        messages += [user(f"q{number}"), {"role": "assistant", "content": f"a{number}"}]
    answer = await client.chat.completions.create(model="both", messages=[*messages, user("Now?")], max_tokens=4000)
    (turn,) = served.stage.assistant.turns
    assert [past.question for past in turn.history] == [f"q{number}" for number in range(12, 20)]
    assert turn.max_answer_tokens == 512
    assert answer.quizglass["ignored"] == ["messages (the oldest)"]


@pytest.mark.parametrize(
    ("error", "status", "kind", "wait"),
    [
        (errors.Overloaded("no room", 2.5), 429, "rate_limit_error", "3"),
        (errors.RoleMissing("planner", "policy 'x'"), 400, "invalid_request_error", None),
        (errors.Overloaded("never any room"), 429, "rate_limit_error", None),
        (errors.EngineLost("it died", 2.0), 503, "server_error", "2"),
        (errors.EngineLost("it died"), 503, "server_error", "1"),
        (errors.KnowledgeFailed("the disk is full"), 503, "server_error", "1"),
        (errors.BudgetExceeded("too late"), 504, "server_error", None),
        (errors.EngineFailed("it failed"), 500, "server_error", None),
        (ValueError("a secret"), 500, "server_error", None),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
async def test_failures_are_told_in_openais_form(client, served, error, status, kind, wait, begun):
    async def fails(turn, policy, budget):
        if begun:
            yield EVENTS[3]
        raise error

    served.stage.assistant.script = fails
    whole = await refused(client, user("What?"))
    assert (whole.status_code, whole.type) == (status, kind)
    assert whole.response.headers.get("retry-after") == wait
    assert "secret" not in str(whole.body)
    with pytest.raises(openai.APIError) as caught:
        async for _ in await client.chat.completions.create(model="both", messages=[user("What?")], stream=True):
            pass
    assert caught.value.type == kind
    assert "secret" not in str(caught.value.body)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_ends_its_turn(served, stream):
    held = HeldScript(EVENTS[3])
    served.stage.assistant.script = held
    body = json.dumps({"model": "both", "messages": [user("What?")], "stream": stream}).encode()
    async with asyncio.timeout(60):
        async with await Wire.to(served) as wire:
            await wire.begin("POST", CHAT, {**JSON, "content-length": str(len(body))})
            await wire.say(body)
            await held.gate.reached.wait()
        await held.closed.wait()
    assert await served.stage.rpc.guard.drain(60)


async def test_a_stopping_server_says_so(client, served):
    await served.stage.rpc.guard.drain(0)
    error = await refused(client, user("What?"))
    assert (error.status_code, error.code) == (503, "stopping")


async def test_a_compressed_body_is_refused_by_its_encoding(served):
    body = gzip.compress(json.dumps({"messages": [user("What?")]}).encode())
    answer = await ask(served, "POST", CHAT, body, {**JSON, "content-encoding": "gzip"})
    assert (answer.status, answer.headers["accept-encoding"]) == (415, "identity")
    assert "'gzip'" in answer.json["error"]["message"]
    plain = {**JSON, "content-encoding": "identity"}
    assert (await ask(served, "POST", CHAT, gzip.decompress(body), plain)).status == 200


async def test_a_body_of_very_many_values_is_refused_before_it_is_parsed(served, monkeypatch):
    monkeypatch.setattr(request, "_parsed", lambda _: pytest.fail("it was parsed"))
    for piece in (b"{},", b'"":0,', b"[],"):
        body = b'{"messages":[' + piece * 400_000 + b"0]}"
        answer = await ask(served, "POST", CHAT, body, JSON)
        assert (answer.status, answer.json["error"]["param"]) == (400, "body")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"messages": [5]}', b"\xff\xfe", b"[" * 100_000])
async def test_what_is_no_chat_is_refused(served, body):
    answer = await ask(served, "POST", CHAT, body, JSON)
    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"
