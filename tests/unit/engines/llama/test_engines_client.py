"""Typed calls to a generator process, over a real socket with a stand-in for the process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from hashlib import sha256

import pytest

from quizglass_server.engines.llama.child.service import to_failure
from quizglass_server.engines.llama.link import frames
from quizglass_server.engines.llama.link.frames import Answering
from quizglass_server.engines.llama.link.pixels import PixelStore
from quizglass_server.engines.llama.link.prompt import Finished, Part, PicturePart, TextPart, Urgency, Usage
from quizglass_server.engines.llama.process.client import GeneratorClient, PromptRefused
from quizglass_server.scheduling.ledger import ByteLedger, entered_in

PIXELS = bytes(range(12))
PICTURE = PicturePart(sha256(PIXELS).digest(), 2, 2, PIXELS)
PROMPT: list[Part] = [PICTURE, TextPart("What?", trusted=False)]
PATIENCE_S = 120


class Process:
    """Takes prompts in, and answers none before there are as many as it `awaits`."""

    def __init__(self) -> None:
        self.awaits = 1
        self.prompts: list[list[Part]] = []
        self.complete: list[list[Part]] = []
        self.pixels = PixelStore()
        self.answers = asyncio.Event()
        self.over = asyncio.Event()
        """Until then no call ends that has given all it gives."""
        self.over.set()
        self.cancelled = 0

    async def answer(self, method: str, arguments: list[list[Part]]) -> AsyncGenerator[object, None]:
        self.prompts.append(arguments[0])
        self.complete.append(self.pixels.complete(arguments[0]))
        if len(self.prompts) >= self.awaits:
            self.answers.set()
        await self.answers.wait()
        yield Usage(1) if method == "prefill" else [Finished("stop", Usage(1))]
        try:
            await self.over.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


@pytest.fixture
async def process() -> Process:
    return Process()


@pytest.fixture
async def client(process: Process) -> AsyncIterator[GeneratorClient]:
    here, there = socket.socketpair()
    made = GeneratorClient(lambda: None)
    loop = asyncio.get_running_loop()
    await loop.create_unix_connection(lambda: Answering(process.answer, to_failure), sock=there)
    await made.connect(here)
    async with asyncio.timeout(PATIENCE_S):
        yield made
    made.lose()


async def generated(client: GeneratorClient) -> list[object]:
    return [item async for item in client.generate(PROMPT, 4)]


async def test_a_question_that_follows_its_picture_at_once_does_not_send_it_again(
    client: GeneratorClient, process: Process
) -> None:
    process.awaits = 2
    _, answer = await asyncio.gather(client.prefill(PROMPT[:1], Urgency(background=True)), generated(client))
    assert answer == [Finished("stop", Usage(1))]
    assert process.prompts == [[PICTURE], [replace(PICTURE, rgb=b""), PROMPT[1]]]
    assert process.complete == [[PICTURE], PROMPT]


async def test_the_ledger_counts_what_crosses_the_socket(client: GeneratorClient, process: Process) -> None:
    ahead, turn = ByteLedger(), ByteLedger()
    process.awaits = 2
    with entered_in(ahead):
        looking = asyncio.create_task(client.prefill(PROMPT[:1], Urgency(background=True)))
    await asyncio.sleep(0)
    with entered_in(turn):
        await generated(client)
    await looking
    assert ahead.settle() == {"generator": len(PICTURE.rgb)}
    assert turn.settle() == {"generator": len(b"What?")}


async def test_a_call_is_over_with_its_last_response_and_is_not_cancelled(
    client: GeneratorClient, process: Process
) -> None:
    process.over.clear()
    assert await generated(client) == [Finished("stop", Usage(1))]
    assert await client.prefill(PROMPT, Urgency()) == Usage(1)
    process.over.set()
    assert await generated(client) == [Finished("stop", Usage(1))]
    assert process.cancelled == 0


async def test_a_prompt_that_is_too_much_for_a_message_is_refused_and_costs_nobody_the_process(
    client: GeneratorClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as small:
        small.setattr(frames, "_MOST_BYTES", 100)
        with pytest.raises(PromptRefused, match="at most can be sent"):
            await generated(client)
        with pytest.raises(PromptRefused, match="at most can be sent"):
            await client.choose(PROMPT, ["a"])
    assert await generated(client) == [Finished("stop", Usage(1))]
