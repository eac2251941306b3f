"""What needs no evidence, asked over every door after an earlier question: small talk, and other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import openai
import pytest

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc
from quizglass.values import AbstainReason
from tests.support.sessions.session_links import opened, question
from tests.support.turn_fakes import World
from tests.support.web import WebStage, web_serving

EARLIER = ("How much does the Velmora cost?", "45 crowns")
AT_ONCE = [
    ("Thanks a lot!", "You're welcome.", AbstainReason.NONE),
    ("hello again", "Hello! Ask me about what you see.", AbstainReason.NONE),
    ("Wie oft muss ich die gießen?", "I only answer questions in English.", AbstainReason.LANGUAGE),
    ("これは何ですか", "I only answer questions in English.", AbstainReason.LANGUAGE),
]


async def by_call(served: WebStage, text: str) -> tuple[str, str]:
    history = [assistant_pb2.Exchange(question=EARLIER[0], answer=EARLIER[1])]
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        stub = assistant_pb2_grpc.AssistantServiceStub(channel)
        events = [event async for event in stub.Ask(assistant_pb2.AskRequest(question=text, history=history))]
    done = events[-1].done
    reason = assistant_pb2.Done.AbstainReason.Name(done.abstain_reason).removeprefix("ABSTAIN_REASON_").lower()
    return done.answer, "" if reason == "unspecified" else reason


async def by_chat(served: WebStage, text: str, **options: Any) -> tuple[str, str]:
    roles = zip(("user", "assistant", "user"), (*EARLIER, text), strict=True)
    messages = [{"role": role, "content": content} for role, content in roles]
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none is needed", max_retries=0) as client:
        answer: Any = await client.chat.completions.create(model="quizglass", messages=messages, **options)  # type: ignore[arg-type]
    message = answer.choices[0].message
    return message.content or message.refusal, answer.quizglass["abstain_reason"] or ""


async def by_session(served: WebStage, text: str) -> tuple[str, str]:
    async with opened(served.stage.target) as (link, _):
        await link.say(question("a", text))
        done = await link.done("a")
    return done.answer, done.abstain_reason


@pytest.mark.parametrize("door", [by_call, by_chat, by_session])
@pytest.mark.parametrize(("text", "answer", "reason"), AT_ONCE)
async def test_no_engine_is_asked(tmp_path: Path, door: Any, text: str, answer: str, reason: AbstainReason) -> None:
    world = World()
    async with web_serving(tmp_path, world.assistant) as served:
        assert await door(served, text) == (answer, reason)
    assert world.models.calls.made == []


async def test_json_in_another_language_is_refused_in_words(tmp_path: Path) -> None:
    world, wanted = World(), {"type": "json_object"}
    async with web_serving(tmp_path, world.assistant) as served:
        told = await by_chat(served, "Wie oft muss ich die gießen?", response_format=wanted)
    assert told == ("I only answer questions in English.", "language")
    assert world.models.calls.made == []


async def test_in_a_session_small_talk_follows_what_was_asked_before(tmp_path: Path) -> None:
    world = World()
    async with web_serving(tmp_path, world.assistant) as served, opened(served.stage.target) as (link, _):
        await link.say(question("a", EARLIER[0]))
        first, asked = await link.done("a"), len(world.models.calls.made)
        assert (first.answer, asked > 0) == ("45 crowns", True)
        for name, (text, answer, _) in zip("bcde", AT_ONCE, strict=True):
            await link.say(question(name, text))
            assert (await link.done(name)).answer == answer
        assert len(world.models.calls.made) == asked
