"""When time gets short, fine reranking goes first, then further rounds, then verification, by name and round."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

import pytest

from quizglass.values import Done
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.domain.state import Draft
from quizglass_server.policies import POLICIES
from quizglass_server.policies.tools import Tools
from quizglass_server.roles.reader import READER
from quizglass_server.scheduling.time_left import Budget
from tests.support.turn_fakes import World, turn

COSTS = {"act": 1.0, "text_search": 1.0, "rerank": 1.0, "generate": 2.0, "judge": 1.0}
"""Seconds of every step, on a clock that they move themselves."""

STEPS = {"choose": "act", "text_encoder": "text_search", "reranker": "rerank", "answer": "generate"}
"""Which role's work is which step."""


class Action(Enum):
    NONE, TEXT = "none", "text"


class TwoHops:
    """Two rounds of deciding and searching, then the answer."""

    name = "two-hops"
    needs: tuple[str, ...] = ("generator",)
    likes: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    ending: tuple[str, ...] = ("generate",)

    async def answer(self, tools: Tools) -> Draft:
        state = tools.start()
        for _ in tools.rounds(2, "act", "text_search"):
            await tools.decide(Action, state, by="act", otherwise=Action.NONE)
            state = state.having(await tools.search_text(["Velmora"]))
        return await tools.answer(state)


class Judge:
    needs: frozenset[str] = frozenset()
    shows_several = False

    async def look_at(self, picture: object) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: Any, values: Any) -> list[tuple[str, float]]:
        return [("supported", 1.0)]


@pytest.fixture
def given_up(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Awaitable[Done]]:
    """The end of a turn of so many seconds, in which every step takes its usual cost."""

    async def ended(budget_s: float) -> Done:
        monkeypatch.setitem(POLICIES, "two-hops", TwoHops())
        world, now = World(), [0.0]
        world.models.deciders["verifier"] = Judge()  # type: ignore[assignment]
        world.models[READER] = None
        world.assistant = Assistant(world.resources)
        for name, seconds in COSTS.items():
            world.resources.costs.took(name, seconds, 3.0 if name == "rerank" else 1.0)
        for role, name in {
            "choose": "act",
            "text_encoder": "text_search",
            "reranker": "rerank",
            "answer": "generate",
        }.items():

            async def pass_time(seconds: float = COSTS[name]) -> None:
                now[0] += seconds

            world.models.before[role] = pass_time
        budget = Budget(budget_s, now=lambda: now[0])
        async with world.following(turn(), "two-hops", budget) as events:
            last = [event async for event in events][-1]
        assert isinstance(last, Done)
        return last

    return ended


RERANK, ROUNDS, JUDGE = "rerank", "rounds", "judge"


# A round takes 2 s and its reranking 1, the answer 2, the verifier 1: all of it takes 9.
@pytest.mark.parametrize(
    ("budget_s", "skipped"),
    [
        (9.5, []),
        (8.5, [(RERANK, 2)]),
        (7.5, [(RERANK, 1), (RERANK, 2)]),
        (6.5, [(ROUNDS, 2)]),  # without reranking there would be no time for a second round either
        (5.75, [(RERANK, 1), (ROUNDS, 2)]),
        (4.25, [(RERANK, 1), (ROUNDS, 2), (JUDGE, 0)]),
        (3.25, [(ROUNDS, 1)]),  # nothing was looked up, so there is nothing to verify by
    ],
)
async def test_what_is_given_up_for_what(given_up: Any, budget_s: float, skipped: list[tuple[str, int]]) -> None:
    done = await given_up(budget_s)
    assert [(each.step, each.round) for each in done.skipped] == skipped
    assert {each.reason for each in done.skipped} <= {"BUDGET"}
    assert done.answer == "45 crowns"


class Concluding:
    """Searches and writes a reason before an answer that is sent when it is whole, as QA-Dragon does."""

    name = "concluding"
    needs: tuple[str, ...] = ("generator",)
    likes: tuple[str, ...] = ()
    tasks = ("reason", "conclude")
    ending = tasks

    async def answer(self, tools: Tools) -> Draft:
        state = tools.start()
        state = state.having(await tools.search_text(["Velmora"]))
        reason = await tools.write("reason", state)
        draft = await tools.write("conclude", state, reason=reason.text)
        await tools.decide(Action, state, by="verifier", otherwise=Action.NONE)
        return tools.tell(draft)


# Searching, reason, conclusion and check take 1 s each, reranking 3; what other policies generate would take 2.
@pytest.mark.parametrize(
    ("budget_s", "skipped"), [(7.5, []), (5.5, ["rerank"]), (4.25, ["rerank"]), (3.25, ["rerank", "verifier"])]
)
async def test_searches_leave_time_for_the_steps_that_write_the_answer(
    monkeypatch: pytest.MonkeyPatch, budget_s: float, skipped: list[str]
) -> None:
    monkeypatch.setitem(POLICIES, "concluding", Concluding())
    world, now = World(), [0.0]
    world.models[READER] = None
    world.assistant = Assistant(world.resources)
    costs = {"text_search": 1.0, "rerank": 3.0, "reason": 1.0, "conclude": 1.0, "verifier": 1.0, "generate": 2.0}
    for name, seconds in costs.items():
        world.resources.costs.took(name, seconds, 3.0 if name == "rerank" else 1.0)
    roles = {"text_encoder": "text_search", "reranker": "rerank", "choose": "verifier"}
    for role, name in (roles | {"reason": "reason", "conclude": "conclude"}).items():

        async def pass_time(seconds: float = costs[name]) -> None:
            now[0] += seconds

        world.models.before[role] = pass_time
    budget = Budget(budget_s, now=lambda: now[0])
    async with world.following(turn(), "concluding", budget) as events:
        last = [event async for event in events][-1]
    assert isinstance(last, Done)
    assert (last.answer, [each.step for each in last.skipped]) == ("45 crowns", skipped)
