"""What a turn tells of its steps when it is to be explained, and that it keeps nothing when it is not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest

from quizglass.values import Done, EvidenceFound, Exchange, Region, StepEnded, TurnEvent, VerdictOutcome
from quizglass_server.assistant.turn.branches import in_branches, in_rounds
from quizglass_server.assistant.turn.journal import MOST_DETAILS, Journal
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.turns import StepDetail, Turn
from quizglass_server.errors import EngineFailed, EngineLost
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import LONGEST
from tests.support.turn_fakes import World, turn


def explained(question: str = "How much does this cost?", *, shown: bool = True, **fields: object) -> Turn:
    return replace(turn(question, shown=shown), explain=True, **fields)  # type: ignore[arg-type]


def steps(events: Sequence[TurnEvent]) -> dict[str, StepEnded]:
    return {event.name: event for event in events if isinstance(event, StepEnded)}


def texts(details: Sequence[StepDetail], label: str) -> list[str]:
    return [detail.text for detail in details if detail.label == label]


async def test_every_step_tells_what_it_was_given_and_what_it_brought() -> None:
    world = World()
    world.models.lines = ["Bakery"]
    told = steps(await world.ask(explained(history=(Exchange("What is this?", "A Velmora"),))))
    assert list(told) == [
        *("gate", "read", "plan", "embed", "image_search", "rewrite", "text_search", "rerank", "generate", "verify"),
    ]
    assert told["gate"].outputs == (StepDetail("words may be here", region=Region(0.0, 0.0, 1.0, 0.5)),)
    assert told["read"].outputs == (StepDetail("words", "Bakery"),)
    assert told["embed"].inputs == (StepDetail("part", region=Region(0.0, 0.0, 1.0, 1.0)),)
    assert (told["plan"].role, told["plan"].outputs) == ("planner", (StepDetail("label", "both", 1.0),))
    assert texts(told["plan"].inputs, "history") == ["What is this?: A Velmora"]
    assert texts(told["rewrite"].inputs, "seen") == ["Velmora: Velmora is a red car made by Tandric."]
    assert texts(told["rewrite"].outputs, "text") == ["How much does the Velmora cost?"]
    assert texts(told["text_search"].inputs, "query") == ["How much does the Velmora cost?"]
    assert texts(told["generate"].inputs, "prompt") == ["answer"]
    assert texts(told["generate"].outputs, "tokens") == ["20 read, 2 written"]
    assert texts(told["verify"].outputs, "outcome") == [VerdictOutcome.SUPPORTED.value]
    assert all(not each.reason and each.duration >= each.engine for each in told.values())
    begun = [each.started for name, each in told.items() if name != "embed"]  # which begins while words are read
    assert begun == sorted(begun)
    assert begun[0] >= 0


async def test_what_steps_brought_has_the_numbers_of_the_evidence() -> None:
    events = await World().ask(explained())
    told = steps(events)
    texts_of = {item.id: item for event in events if isinstance(event, EvidenceFound) for item in event.items}
    for name in ("image_search", "text_search", "rerank"):
        numbers = [detail.evidence_id for detail in told[name].outputs]
        assert numbers
        assert set(numbers) <= set(texts_of)
    ranked = [(detail.evidence_id, detail.score) for detail in told["rerank"].outputs]
    assert ranked == [("3", 0.9), ("4", 0.6), ("5", 0.1)]


async def test_an_unexplained_turn_reports_and_asks_nothing() -> None:
    asked: list[str] = []

    def told(*_: object) -> Telling:
        asked.append("told")
        return (), ()

    @step("look", told=told)
    async def look(_: object) -> int:
        return 1

    world, events = World(), list[TurnEvent]()
    for explains in (False, True):
        journal = Journal(events.append, explains=explains)
        assert await StepRunner(Budget(60), world.resources, journal, "the test").run_on(object(), look) == 1
        assert (len(asked), len(events)) == (int(explains), int(explains))
    assert not any(isinstance(event, StepEnded) for event in await world.ask())


async def test_what_is_left_out_says_why() -> None:
    world = World()
    world.resources.costs.took("rerank", 100.0)
    world.models.scores = {}
    told = steps(await world.ask(explained(), policy="text"))
    assert (told["rerank"].reason, told["rerank"].duration) == ("BUDGET", 0)
    assert texts(told["rerank"].inputs, "query") == ["How much does the Velmora cost?"]
    assert told["rerank"].outputs == ()

    world = World()
    world.knowledge.entries = []
    told = steps(await world.ask(explained(shown=False), policy="both"))
    assert {name: each.reason for name, each in told.items() if each.reason} == {
        "image_search": "NO_PICTURE",
        "text_search": "EMPTY_KNOWLEDGE",
    }

    world = World()

    async def fail() -> None:
        raise EngineFailed("broken")

    world.models.before["reranker"] = fail
    assert steps(await world.ask(explained(), policy="text"))["rerank"].reason == "FAILED"


async def test_an_answer_that_is_cut_off_tells_what_there_was() -> None:
    world = World()
    world.models.end = "deadline"
    told = steps(await world.ask(explained(), policy="none"))["generate"]
    assert told.reason == "BUDGET"
    assert texts(told.outputs, "text") == ["45 crowns"]


async def test_a_turn_that_fails_tells_of_the_step_that_failed_and_of_those_without_numbers() -> None:
    world, told = World(), list[TurnEvent]()

    async def die() -> None:
        raise EngineLost("gone")

    world.models.before["reranker"] = die

    async def follow() -> None:
        async with world.following(explained(), "text", Budget(60)) as events:
            async for event in events:
                told.append(event)

    with pytest.raises(EngineLost):
        await follow()
    by_name = steps(told)
    assert by_name["rerank"].reason == "FAILED"
    assert [detail.evidence_id for detail in by_name["text_search"].outputs] == ["", "", ""]
    assert not any(isinstance(event, Done) for event in told)


async def test_a_cancelled_step_says_so() -> None:
    world, told = World(), list[TurnEvent]()
    reached = asyncio.Event()

    @step("wait")
    async def wait(_: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    runner = StepRunner(Budget(60), world.resources, Journal(told.append, explains=True), "the test")
    task = runner.begin(runner.run_on(object(), wait))
    await reached.wait()
    await runner.end()
    assert task.cancelled()
    assert [(each.name, each.reason) for each in steps(told).values()] == [("wait", "CANCELLED")]


async def test_steps_say_their_round_and_branch_and_wait_for_their_own_evidence_alone() -> None:
    world, told = World(), list[TurnEvent]()
    journal = Journal(told.append, explains=True)
    runner = StepRunner(Budget(60), world.resources, journal, "the test")

    @step("look")
    async def look(_: object) -> None: ...

    with in_rounds() as current:
        current.set(2)
        await in_branches([runner.run_on(object(), look), runner.run_on(object(), look)])
    assert [(each.round, each.branch) for each in told] == [(2, "1"), (2, "2")]


async def test_texts_are_short_and_not_too_many() -> None:
    world = World()
    world.models.answer = ["word "] * 200
    told = steps(await world.ask(explained("Why? " * 200), policy="none"))["generate"]
    assert max(len(detail.text) for detail in (*told.inputs, *told.outputs)) == LONGEST
    world = World(text_candidates=60)
    world.knowledge.chunks = [replace(world.knowledge.chunks[0], text=f"Chunk {i}.") for i in range(60)]
    told = steps(await world.ask(explained(), policy="text"))["rerank"]
    assert len(told.outputs) == MOST_DETAILS


async def test_nothing_of_it_goes_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await World().ask(explained("Where is my secret garden?"))
    assert "secret" not in caplog.text
    assert "secret" not in " ".join(str(record.__dict__) for record in caplog.records)


async def test_a_policy_with_rounds_and_branches_has_its_steps_in_them() -> None:
    world = World()
    world.models.query = ["Velmora price"]
    told = [
        event for event in await world.ask(explained(), policy="cogplanner-parallel+") if isinstance(event, StepEnded)
    ]
    places = {(each.round, each.branch) for each in told if each.name in ("reformulate", "act")}
    assert {(1, "1"), (1, "2")} <= places
    assert {each.role for each in told if each.name in ("reformulate", "act")} == {"generator"}
    assert {each.round for each in told if each.name == "generate"} == {0}


async def test_a_turn_that_is_left_is_cancelled_like_any_other() -> None:
    world, gate = World(), asyncio.Event()

    async def wait() -> None:
        gate.set()
        await asyncio.Event().wait()

    world.models.before["reranker"] = wait
    async with world.following(explained(), "text", Budget(60)) as events:

        async def follow() -> None:
            async for _ in events:
                pass

        task = asyncio.create_task(follow())
        await gate.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert world.models.cancelled == ["reranker"]
