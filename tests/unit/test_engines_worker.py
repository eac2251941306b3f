"""The mailbox between the engine thread and the event loop."""

from __future__ import annotations

import asyncio

import pytest

from quizglass_server.engines.llama.worker import Mailbox


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
