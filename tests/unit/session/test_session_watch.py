"""When the client takes its link for dead, by a clock that the test turns."""

import asyncio
from dataclasses import fields
from types import SimpleNamespace

import pytest

from quizglass.session import Ping, SessionLimits
from quizglass_client.session import core
from quizglass_client.session.core import SessionCore
from quizglass_client.session.turns import TurnFeed
from quizglass_client.session.values import SessionOptions

PING, PROGRESS = 600.0, 200.0
"""Seconds, long enough that nothing happens by itself."""


class Watched:
    """A session with a link that nobody reads, and a question under way."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(core, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.core = SessionCore("127.0.0.1:1", SessionOptions())
        nothing = dict.fromkeys((each.name for each in fields(SessionLimits)), 0)
        self.core._limits = SessionLimits(**{**nothing, "ping": PING, "progress": PROGRESS})
        self.core._turns["a"] = TurnFeed("a")
        self.core._heard = self.now
        self.task = asyncio.create_task(self.core._watch())

    async def after(self, seconds, *, heard=False):
        """So much later, without that anything ran meanwhile."""
        await asyncio.sleep(0)
        self.now += seconds
        if heard:
            self.core._heard = self.now
        self.core._stirred.set()
        for _ in range(5):
            await asyncio.sleep(0)

    @property
    def pings(self):
        return self.core._outgoing._waiting.count(Ping())


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


async def test_a_hint_that_came_while_nobody_waited_is_heard_at_once(watched):
    watched.core._hinted = True  # as by a hint in the middle of a probe or of an attempt to connect
    async with asyncio.timeout(120):
        await watched.core._wait(PING)


async def test_a_program_that_stood_still_asks_before_it_takes_its_link_for_dead(watched):
    await watched.after(10_000)
    assert (watched.pings, watched.task.done()) == (1, False)
    await watched.after(240, heard=True)
    await watched.after(240)
    assert (watched.pings, watched.task.done()) == (1, False)
    await watched.after(10)
    assert watched.pings == 2
