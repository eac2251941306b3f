"""The mailbox between the engine thread and the event loop."""

from __future__ import annotations

import asyncio

import pytest

from quizglass_server.engines.llama.child.mailbox import Deliveries, Mailbox


@pytest.fixture
async def outbox() -> Deliveries:
    return Deliveries(asyncio.get_running_loop())


async def test_a_wake_for_what_was_taken_already_brings_no_empty_handful(outbox: Deliveries) -> None:
    mailbox: Mailbox[int] = Mailbox(outbox)
    mailbox.put(1)
    mailbox.put(2)
    outbox.flush()
    assert await mailbox.take() == [1, 2]
    waiting = asyncio.create_task(mailbox.take())

    def put() -> None:
        mailbox.put(3)
        outbox.flush()

    await asyncio.to_thread(put)
    assert await waiting == [3]


async def test_an_error_comes_after_what_came_before_it(outbox: Deliveries) -> None:
    mailbox: Mailbox[int] = Mailbox(outbox)
    mailbox.put(1)
    mailbox.put(ValueError("broken"))
    assert await mailbox.take() == [1]
    with pytest.raises(ValueError, match="broken"):
        await mailbox.take()


async def test_nothing_is_lost_between_the_threads(outbox: Deliveries) -> None:
    mailbox: Mailbox[int] = Mailbox(outbox)

    def fill() -> None:
        for number in range(20_000):
            mailbox.put(number, urgent=number % 3 == 0)
            outbox.flush(number % 7 == 0)
        outbox.flush()

    filling = asyncio.create_task(asyncio.to_thread(fill))
    taken: list[int] = []
    while len(taken) < 20_000:
        handful = await mailbox.take()
        assert handful
        taken += handful
    await filling
    assert taken == list(range(20_000))


async def test_tokens_that_come_together_travel_together(outbox: Deliveries, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one and the end go at once, what is between waits for more or for its time."""
    now = 5.0
    monkeypatch.setattr("quizglass_server.engines.llama.child.mailbox.monotonic", lambda: now)
    mailbox: Mailbox[int] = Mailbox(outbox)

    async def told() -> bool:
        """Whether the event loop has been told of anything since it last took."""
        await asyncio.sleep(0)
        return mailbox._arrived.is_set()

    def step(item: int, *, urgent: bool = False, everything: bool = False) -> None:
        mailbox.put(item, urgent=urgent)
        outbox.flush(everything)

    step(0, urgent=True)
    assert await told()
    assert await mailbox.take() == [0]
    mailbox._arrived.clear()
    for number in range(1, 20):
        step(number)
    assert not await told()
    now += 1.0
    step(20)
    assert await told()
    assert await mailbox.take() == list(range(1, 21))
    mailbox._arrived.clear()
    step(21)
    assert not await told()
    step(22, everything=True)
    assert await told()
    assert await mailbox.take() == [21, 22]


async def test_one_wake_up_serves_all_that_a_step_gave(outbox: Deliveries, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    calls: list[object] = []
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *call: calls.append(call))
    mailboxes: list[Mailbox[int]] = [Mailbox(outbox) for _ in range(4)]
    for mailbox in mailboxes:
        mailbox.put(1)
    outbox.flush(False)
    assert len(calls) == 1


def test_a_loop_that_was_closed_is_not_told() -> None:
    loop = asyncio.new_event_loop()
    outbox = Deliveries(loop)
    mailbox = Mailbox[int](outbox)
    mailbox.put(1, urgent=True)
    loop.close()
    outbox.flush()
