"""How long a question waits before its turn begins: for its place, and for what is done ahead for its picture."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from quizglass.values import AbstainReason, Accepted, AnswerDelta, Done, TurnEvent, Verdict
from quizglass_server.assistant.asking import Asking, TurnRequest
from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.config.settings import RequestLimits
from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.domain.turns import Turn
from quizglass_server.errors import InvalidInput, Overloaded
from quizglass_server.policies import POLICIES
from quizglass_server.policies.table import PolicyStatus
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.time_left import Budget
from tests.support.gate import Gate
from tests.support.turn_fakes import World, done, picture, turn

PATIENCE_S = 120.0


async def asked(world: World, about: Turn, look_ahead: LookAhead | None = None) -> list[TurnEvent]:
    """A turn of little time."""
    events: list[TurnEvent] = []
    asking = Asking(world.assistant, cast("PictureCache", None), RequestLimits(), 10.0, look_ahead)
    request = TurnRequest(about, "both", Budget(0.05))
    async with asyncio.timeout(PATIENCE_S):
        await asking.run(request, None, events.append, lambda _, __, end: end)
    return events


async def test_a_turn_whose_time_is_over_while_it_waits_for_its_place_ends_then() -> None:
    world = World()
    admission = world.assistant.admission = Admission(1, 4)
    async with admission.admit():
        events = await asked(world, turn())
        assert (admission.running, admission.waiting) == (1, 0)
    assert [type(event) for event in events] == [Accepted, AnswerDelta, Verdict, Done]
    assert (done(events).answer, done(events).abstain_reason) == ("I don't know", AbstainReason.BUDGET)
    assert world.models.calls.made == []
    assert admission.running == 0


async def test_who_names_no_policy_is_offered_those_that_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    asking = Asking(world.assistant, cast("PictureCache", None), RequestLimits(), 10.0)
    statuses = tuple(PolicyStatus(name, () if name in ("quote", "both") else ("generator",)) for name in POLICIES)
    monkeypatch.setattr(type(world.assistant), "policy_statuses", property(lambda _: statuses))
    with pytest.raises(
        InvalidInput, match=r"there is no policy 'qoute'; did you mean 'quote'\? choose one of \w+, \w+$"
    ):
        asking.policy("qoute")
    assert asking.policy("adaptive") == "adaptive"  # what it lacks is for the turn to say


async def test_what_a_picture_depends_on_is_found_out_under_a_permit_and_within_its_time() -> None:
    world = World()
    admission = world.assistant.admission = Admission(1, 0)
    asking = Asking(world.assistant, cast("PictureCache", None), RequestLimits(), 10.0)
    running: list[int] = []

    async def quick() -> str:
        running.append(admission.running)
        return "found"

    assert await asking.beforehand(picture().sha256, quick, Budget(10.0), 10.0) == "found"
    for budget, most_s in ((Budget(0.01), 10.0), (Budget(10.0), 0.01)):
        assert await asking.beforehand(picture().sha256, Gate(), budget, most_s) is None
    async with admission.admit():
        with pytest.raises(Overloaded):
            await asking.beforehand(picture().sha256, quick, Budget(10.0), 10.0)
    assert (running, admission.running) == ([1], 0)


async def test_a_turn_waits_no_longer_than_its_time_for_what_is_done_ahead_for_its_picture() -> None:
    world, gate = World(), Gate()
    before: dict[str, Any] = world.models.before
    before["reader"] = gate
    ahead = LookAhead(world.assistant)
    ahead.add("a session", picture())
    await gate.reached.wait()
    assert done(await asked(world, turn(), ahead)).abstain_reason is AbstainReason.BUDGET
    await ahead.close()
