"""The asyncio client against a real socket."""

import asyncio
import inspect
from contextlib import aclosing

import pytest

from bench.session.cutting_proxy import Cut, cutting_proxy
from quizglass import values
from quizglass_client import (
    AsyncClient,
    Cancelled,
    Client,
    Confirmed,
    Decided,
    Entry,
    InvalidRequest,
    NotFound,
    Provisional,
    Queries,
    ServerError,
    ServerUnavailable,
    Withdrawn,
)
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, png, serving
from tests.support.sessions.session_links import words


@pytest.fixture
async def stage(tmp_path):
    async with serving(tmp_path) as made:
        yield made


@pytest.fixture
async def client(stage):
    async with AsyncClient(stage.target) as made:
        yield made


async def test_a_question_streams_its_events(stage, client):
    events = [event async for event in client.ask("How much?", png(), policy="both", budget=5)]
    assert [event.seq for event in events] == list(range(1, 8))
    assert (await client.answer("How much?")).text == "45 crowns"
    assert stage.assistant.turns[0].picture.width == 64


async def test_what_policies_tell_on_the_way_comes_with_its_round_and_branch(stage, client):
    skipped = (values.SkippedStep("rounds", "BUDGET", 2),)

    async def tells(turn, policy, budget):
        yield values.Decided("act", "text", "prompt", {"text": 0.75, "none": 0.25}, round=1)
        yield values.Queries("split", ("Who made it?", "When?"), round=1, branch="2.1")
        for event in (values.Provisional("45"), values.Withdrawn(), values.Provisional("46"), values.Confirmed()):
            yield event
        unsure, complete = values.AbstainReason.UNSURE, values.FinishReason.COMPLETE
        yield values.Done(
            "", complete, abstain_reason=unsure, skipped=skipped, all_prompt_tokens=60, all_written_tokens=9
        )

    stage.assistant.script = tells
    _, *events, last = [event async for event in client.ask("How much?")]
    assert [event.payload for event in events] == [
        Decided("act", "text", "prompt", {"text": 0.75, "none": 0.25}, round=1),
        Queries("split", ("Who made it?", "When?"), round=1, branch="2.1"),
        *(Provisional("45"), Withdrawn(), Provisional("46"), Confirmed()),
    ]
    assert [(event.round, event.branch) for event in events[:3]] == [(1, ""), (1, "2.1"), (0, "")]
    done = last.payload
    assert (done.abstain_reason, done.skipped) == ("unsure", skipped)
    assert (done.all_prompt_tokens, done.all_written_tokens) == (60, 9)


class Waiting:
    """A turn that waits after its first event, and says when it was closed."""

    def __init__(self):
        self.gate, self.closed = Gate(), asyncio.Event()

    async def __call__(self, turn, policy, budget):
        try:
            yield EVENTS[0]
            await self.gate()
        finally:
            self.closed.set()


async def test_closing_the_generator_closes_the_turn_in_the_server(stage, client):
    stage.assistant.script = waiting = Waiting()
    async with aclosing(client.ask("How much?")) as events:
        assert (await anext(events)).seq == 1
    async with asyncio.timeout(60):
        await waiting.closed.wait()


async def test_cancelling_the_task_closes_the_turn_in_the_server(stage, client):
    stage.assistant.script = waiting = Waiting()
    task = asyncio.create_task(client.answer("How much?"))
    await waiting.gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(60):
        await waiting.closed.wait()
    stage.assistant.script = stage.assistant.usual
    assert (await client.answer("And now?")).text == "45 crowns"


async def test_closing_the_client_fails_the_calls_that_run_and_those_that_come(stage, client):
    stage.assistant.script = waiting = Waiting()
    task = asyncio.create_task(client.answer("How much?"))
    await waiting.gate.reached.wait()
    await client.close()
    calls = (task, client.answer("And now?"), client.memory.stats(), client.add_entries([Entry("a", "A")]))
    for call in calls:
        with pytest.raises(Cancelled) as caught:
            await call
        assert caught.value.reason == "CLOSED"
    assert not await client.healthy()
    async with asyncio.timeout(60):
        await waiting.closed.wait()


async def test_errors_are_of_the_same_tree(stage, client):
    with pytest.raises(InvalidRequest) as caught:
        await client.answer("What is this?", b"no picture")
    assert caught.value.field == "frames[0].encoded"
    with pytest.raises(NotFound):
        await client.get_entry("none")

    async def silent(turn, policy, budget):
        return
        yield

    stage.assistant.script = silent
    with pytest.raises(ServerError, match="done"):
        await client.answer("How much?")


async def test_an_unreachable_server_is_reported():
    async with AsyncClient("127.0.0.1:1") as client:
        assert not await client.healthy()
        with pytest.raises(ServerUnavailable):
            await client.answer("How much?")


def test_it_is_made_inside_a_running_loop():
    with pytest.raises(RuntimeError, match="loop"):
        AsyncClient("127.0.0.1:1")


async def test_entries_are_added_listed_and_deleted(stage, client, tmp_path):
    entries = [Entry("a", "t"), Entry("b", ""), Entry("c", "t", pictures=(tmp_path / "none.png",)), Entry("d", "t")]
    seen = []
    report = await client.add_entries(entries, on_progress=seen.append, batch=2)
    assert report.added == 2
    assert [(r.index, r.field) for r in report.refused] == [(1, "title"), (2, "pictures[0]")]
    assert [progress.added for progress in seen] == [1, 2]
    assert [entry.id async for entry in client.list_entries()] == ["a", "d"]
    await client.delete_entry("a")
    assert (await client.get_entry("d")).title == "t"


async def test_pages_follow_each_other(stage, client):
    stage.knowledge.entries = {f"e{i:03}": values.Entry(f"e{i:03}", "t") for i in range(150)}
    assert len([entry async for entry in client.list_entries()]) == 150


async def test_search_health_and_capabilities(client):
    assert (await client.search(picture=png()))[0].entry_id == "velmora"
    assert await client.healthy()
    assert (await client.capabilities()).bundle == "starter 0.1.0"


async def test_many_turns_share_a_connection(client):
    answers = await asyncio.gather(*(client.answer(f"How much is {i}?") for i in range(4)))
    assert [answer.text for answer in answers] == ["45 crowns"] * 4


def test_both_clients_have_the_same_calls():
    def calls(cls):
        return {
            name: list(inspect.signature(member).parameters.values())
            for name, member in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")
        }

    assert calls(AsyncClient) == calls(Client)


async def test_an_answer_keeps_the_steps_that_were_asked_for(stage, client):
    async def script(turn, policy, budget):
        if turn.explain:
            yield values.StepEnded("plan", "planner", 0.001, 0.002, 0.0005, round=2)
        for event in EVENTS:
            yield event

    stage.assistant.script = script
    (step,) = (await client.answer("How much?", explain=True)).steps
    assert (step.name, step.role, step.round, step.reason) == ("plan", "planner", 2, "")
    assert (step.started, step.duration, step.engine) == (0.001, 0.002, 0.0005)
    assert (await client.answer("How much?")).steps == ()


async def test_a_question_of_which_nothing_was_done_is_asked_again(tmp_path):
    gate = Gate()
    async with serving(tmp_path) as one, serving(tmp_path) as two, cutting_proxy(one.rpc.port) as proxy:
        one.assistant.script = words(2, [(1, gate)])
        async with AsyncClient(proxy.target) as client:
            running = asyncio.create_task(client.answer("First?"))
            await gate.reached.wait()
            stopping = asyncio.create_task(one.rpc.stop(20))
            while not one.rpc.guard.draining:  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(0)
            proxy.move(two.rpc.port)
            second = asyncio.create_task(client.answer("Second?"))
            await asyncio.sleep(0)
            gate.open.set()
            assert (await running).text == "w0. w1."
            assert (await second).text == "45 crowns"
            await stopping
    assert [turn.question for turn in (*one.assistant.turns, *two.assistant.turns)] == ["First?", "Second?"]


async def test_a_question_that_a_server_had_is_not_asked_again(tmp_path):
    gate = Gate()

    async def begins(turn, policy, budget):
        yield EVENTS[0]
        await gate()

    async with serving(tmp_path) as stage, cutting_proxy(stage.rpc.port) as proxy:
        stage.assistant.script = begins
        async with AsyncClient(proxy.target) as client, aclosing(client.ask("First?")) as events:
            await anext(events)
            proxy.cut(Cut.RST)
            with pytest.raises(ServerUnavailable):
                _ = [event async for event in events]
    assert len(stage.assistant.turns) == 1


@pytest.mark.parametrize("how", [Cut.RST, Cut.FIN])
async def test_nor_is_one_whose_server_could_not_say_that_it_has_it(tmp_path, how):
    gate = Gate()
    async with serving(tmp_path) as stage, cutting_proxy(stage.rpc.port) as proxy:
        stage.assistant.script = words(1, [(0, gate)])
        async with AsyncClient(proxy.target) as client:
            assert await client.healthy()  # connected, so that only the answer is kept back
            proxy.mute()
            asked = asyncio.create_task(client.answer("First?"))
            await gate.reached.wait()
            proxy.cut(how)
            with pytest.raises(ServerUnavailable):
                await asked
    assert len(stage.assistant.turns) == 1


@pytest.mark.parametrize("target", ["127.0.0.1:1", "unix:/nowhere/socket"])
async def test_a_question_that_was_not_accepted_was_not_begun(target):
    async with AsyncClient(target) as client:
        with pytest.raises(ServerUnavailable) as caught:
            await client.answer("How much?")
    assert not caught.value.begun


async def test_a_connection_that_fails_before_it_carries_a_question_is_made_again(tmp_path):
    async with serving(tmp_path) as stage, cutting_proxy(stage.rpc.port) as proxy, AsyncClient(proxy.target) as client:
        proxy.refusing = True
        asked = asyncio.create_task(client.answer("First?"))
        while not proxy.connections:  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(0.01)
        proxy.refusing = False
        assert (await asked).text == "45 crowns"
    assert len(stage.assistant.turns) == 1
