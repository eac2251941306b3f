"""When the client takes its link for dead, by a clock that the test turns."""

import asyncio
from dataclasses import fields
from types import SimpleNamespace

import pytest

from quizglass.session import SessionLimits
from quizglass_client.session import liveness
from quizglass_client.session.liveness import LinkLiveness, Silence

PING, PROGRESS = 600.0, 200.0
"""Seconds, long enough that nothing happens by itself."""


def limits(**given):
    return SessionLimits(**{**dict.fromkeys((each.name for each in fields(SessionLimits)), 0), **given})


LIMITS = limits(ping=PING, progress=PROGRESS)


class Watched:
    """An unread link, with a question under way."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(liveness, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.pings = 0
        self.liveness = LinkLiveness()
        self.liveness.heard()
        self.task = asyncio.create_task(
            self.liveness.watch(lambda: Silence.within(LIMITS, None, turns=True), self.ping)
        )

    def ping(self):
        self.pings += 1

    async def after(self, seconds, *, heard=False):
        """So much later, without that anything ran meanwhile."""
        await asyncio.sleep(0)
        self.now += seconds
        if heard:
            self.liveness.heard()
        self.liveness._stirred.set()
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
async def watched(monkeypatch):
    watched = Watched(monkeypatch)
    yield watched
    watched.task.cancel()
    await asyncio.wait({watched.task})


async def test_a_silent_link_is_asked_once_and_then_dead(watched):
    await watched.after(240)
    assert watched.pings == 0
    await watched.after(10)
    await watched.after(240)
    assert (watched.pings, watched.task.done()) == (1, False)
    await watched.after(10)
    assert "is silent" in str(watched.task.exception())


async def test_a_hint_without_a_waiter_is_heard_at_once(watched):
    watched.liveness.hint()  # as by a hint in the middle of a probe or of an attempt to connect
    async with asyncio.timeout(120):
        await watched.liveness.wait(PING)


async def test_a_program_that_stood_still_asks_before_it_takes_its_link_for_dead(watched):
    await watched.after(10_000)
    assert (watched.pings, watched.task.done()) == (1, False)
    await watched.after(240, heard=True)
    await watched.after(240)
    assert (watched.pings, watched.task.done()) == (1, False)
    await watched.after(10)
    assert watched.pings == 2


def test_a_link_is_silent_for_less_long_during_a_turn_than_between_turns():
    assert Silence.within(LIMITS, None, turns=True) == Silence(unasked=1.25 * PROGRESS, longest=2.5 * PROGRESS)
    assert Silence.within(LIMITS, None, turns=False) == Silence(unasked=PING, longest=2 * PING)


async def test_an_attempt_that_is_cancelled_leaves_nothing_that_waits():
    before = asyncio.all_tasks()
    attempt = asyncio.create_task(LinkLiveness().hurried(asyncio.Event().wait()))
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(asyncio.all_tasks() - before) == 3  # it, what it runs, and what waits for a hint
    attempt.cancel()
    await asyncio.wait({attempt})
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
