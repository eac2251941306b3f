"""The mailbox between the engine thread and the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from quizglass_server.engines.llama.engine import Engine
from quizglass_server.engines.llama.prompt import Finished, Piece, Usage
from quizglass_server.engines.llama.worker import EngineWorker, Mailbox


async def test_a_wake_for_what_was_taken_already_brings_no_empty_handful() -> None:
    mailbox: Mailbox[int] = Mailbox()
    mailbox.put(1)
    mailbox.put(2)
    assert await mailbox.take() == [1, 2]
    waiting = asyncio.create_task(mailbox.take())
    await asyncio.to_thread(mailbox.put, 3)
    assert await waiting == [3]


async def test_an_error_comes_after_what_came_before_it() -> None:
    mailbox: Mailbox[int] = Mailbox()
    mailbox.put(1)
    mailbox.put(ValueError("broken"))
    assert await mailbox.take() == [1]
    with pytest.raises(ValueError, match="broken"):
        await mailbox.take()


async def test_nothing_is_lost_between_the_threads() -> None:
    mailbox: Mailbox[int] = Mailbox()

    def fill() -> None:
        for number in range(20_000):
            mailbox.put(number)

    filling = asyncio.create_task(asyncio.to_thread(fill))
    taken: list[int] = []
    while len(taken) < 20_000:
        handful = await mailbox.take()
        assert handful
        taken += handful
    await filling
    assert taken == list(range(20_000))


async def test_tokens_that_come_together_travel_together(monkeypatch: pytest.MonkeyPatch) -> None:
    class Burst:
        """An engine whose tokens take no time."""

        def generate(self, prompt: object, count: int, emit: Callable[[Piece], None], cancelled: object) -> Finished:
            for number in range(count):
                emit(Piece(str(number), 1.0))
            return Finished("stop", Usage(1))

    monkeypatch.setattr("quizglass_server.engines.llama.worker.monotonic", lambda: 5.0)
    worker = EngineWorker()
    await worker.load(lambda: cast("Engine", Burst()))
    handfuls = [items async for items in worker.generate([], 50)]
    pieces = [item.text for items in handfuls for item in items if isinstance(item, Piece)]
    assert pieces == [str(number) for number in range(50)]
    assert len(handfuls) <= 2
