"""One address that opens, asks and holds as much as it can, and clients of another one, over real sockets."""

import asyncio
import hashlib
import socket
import sys
from collections import Counter
from contextlib import AsyncExitStack, suppress

import grpc
import pytest

from bench.hostile.http2 import HEADERS, http2
from quizglass.convert import client_message
from quizglass.session import Close, FrameBegin, FrameState, FrameStatus, Open, Ping
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, knowledge_pb2, session_pb2
from quizglass_server.rpc.transport import connections
from quizglass_server.scheduling.admission import Admission
from quizglass_server.session import directory
from tests.support.rpc_fakes import EVENTS, serving
from tests.support.sessions.session_links import HOLDER, WAIT_S, eventually, link, opened, parts

ATTACKER = "127.0.0.2"
ASK = "/quizglass.v1.AssistantService/Ask"
ADD = "/quizglass.v1.KnowledgeService/AddEntries"
CONVERSE = "/quizglass.v1.SessionService/Converse"
ATTACH = "/quizglass.v1.SessionService/Attach"
QUESTION = assistant_pb2.AskRequest(question="What is this?")
HOLD = assistant_pb2.AskRequest(question="Hold!").SerializeToString()
OPEN = session_pb2.AttachRequest(open=session_pb2.Open(holder=HOLDER)).SerializeToString()


@pytest.fixture(autouse=True)
def _addresses():
    with socket.socket() as probe:
        try:
            probe.bind((ATTACKER, 0))
        except OSError:
            pytest.skip(f"there is no {ATTACKER} here")


async def answered(target, metadata=()):
    """Whether a client of 127.0.0.1 gets an answer over a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(target, options=options) as channel, asyncio.timeout(60):
        call = assistant_pb2_grpc.AssistantServiceStub(channel).Ask(QUESTION, metadata=metadata)
        events = [event async for event in call]
        return events[-1].done.answer == "45 crowns"


class Holding:
    """A script whose turns go on until told, where their question says so."""

    def __init__(self):
        self.held = 0
        self.end = asyncio.Event()

    async def __call__(self, turn, policy, budget):
        if turn.question == "Hold!":
            self.held += 1
            await self.end.wait()
        for event in EVENTS:
            yield event


async def flood(stack, target, count, path=ASK, message=HOLD, source=ATTACKER):
    """So many calls, each over a connection of its own."""
    calls = []
    for _ in range(count):
        client = await stack.enter_async_context(http2(target, source=source))
        calls.append((client, await begun(client, path, message)))
    return calls


async def begun(client, path, message):
    stream = await client.call(path)
    await client.message(stream, message)
    return stream


def ends(calls):
    """What calls that have ended ended with."""
    said = [payload for client, stream in calls for payload in client.of(stream, HEADERS)]
    return [payload for payload in said if b"grpc-status" in payload]


async def test_48_turns_over_48_connections_refuse_no_turn_of_another_address(tmp_path):
    async with serving(tmp_path) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        stage.assistant.admission, script = Admission(8, 16), Holding()
        stage.assistant.script = script
        calls = await flood(stack, stage.target, 48)
        await eventually(lambda: script.held == 7 and stage.assistant.admission.waiting == 16)
        for _ in range(10):
            assert await answered(stage.target)
        await eventually(lambda: len(ends(calls)) == 48 - 7 - 16)
        assert all(b"try again later" in end for end in ends(calls))
        script.end.set()


async def test_where_all_come_from_one_address_connections_share_as_they_did(tmp_path):
    async with serving(tmp_path) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        stage.assistant.admission, script = Admission(8, 4), Holding()
        stage.assistant.script = script
        (greedy,) = [client for client, _ in await flood(stack, stage.target, 1, source="127.0.0.1")]
        for _ in range(15):
            await begun(greedy, ASK, HOLD)
        await eventually(lambda: script.held == 7 and stage.assistant.admission.waiting == 4)
        waiting = asyncio.create_task(answered(stage.target))
        await asyncio.sleep(0)
        script.end.set()
        assert await waiting, "it took the place of the latest of the connection that has most"


@pytest.mark.parametrize(("trusted", "waits"), [("127.0.0.0/8", False), ("10.0.0.0/8", True)])
async def test_only_a_trusted_proxy_names_its_client(tmp_path, trusted, waits):
    async with serving(tmp_path, trusted_proxies=trusted) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        stage.assistant.admission, script = Admission(8, 1), Holding()
        stage.assistant.script = script
        client = await stack.enter_async_context(http2(stage.target, source="127.0.0.1"))
        for number in range(8):
            named = [("x-forwarded-for", f"192.0.2.{number if waits else 7}")]
            await client.message(await client.call(ASK, headers=named), HOLD)
        await eventually(lambda: (script.held, stage.assistant.admission.waiting) == (7, 1))
        asking = asyncio.create_task(answered(stage.target, [("x-forwarded-for", "192.0.2.8")]))
        if waits:  # until a place of the one address that all come from is free
            await eventually(lambda: stage.assistant.admission.running == 7)
            script.end.set()
        assert await asking
        script.end.set()


async def test_bare_prefaces_leave_room_for_others_and_are_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "SILENT_S", 0.5)
    async with serving(tmp_path, max_connections=16) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        prefaces = [await stack.enter_async_context(http2(stage.target, source=ATTACKER)) for _ in range(60)]
        await eventually(lambda: sum(not each.closed for each in prefaces) <= 14)
        for _ in range(10):
            assert await answered(stage.target)
        await eventually(lambda: all(each.closed for each in prefaces))


async def reopening(target, opened, pause_s):
    """Open a bare connection again each time it is closed, and count that."""
    while True:
        with suppress(OSError):
            async with http2(target, source=ATTACKER) as client:
                opened["again"] += 1
                await client.until_closed()
        await asyncio.sleep(pause_s)


async def test_prefaces_that_come_again_and_again_leave_room_for_others(tmp_path):
    async with serving(tmp_path, max_connections=16) as stage, asyncio.timeout(WAIT_S):
        opened = Counter[str]()
        attacking = [asyncio.create_task(reopening(stage.target, opened, 0.1)) for _ in range(24)]
        await eventually(lambda: opened["again"] > 48)
        for _ in range(10):
            assert await answered(stage.target)
        for each in attacking:
            each.cancel()
        await asyncio.wait(attacking)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds connections back")
async def test_more_prefaces_than_grpc_accepts_are_held_back_and_leave_room_for_others(tmp_path):
    async with serving(tmp_path, max_connections=16) as stage, asyncio.timeout(WAIT_S):
        opened = Counter[str]()

        async def all_wait():
            before = opened["again"]
            await asyncio.sleep(0.2)
            return opened["again"] == before

        attacking = [asyncio.create_task(reopening(stage.target, opened, 0.01)) for _ in range(100)]
        while not await all_wait():
            pass
        for _ in range(20):
            assert await answered(stage.target)
        for each in attacking:
            each.cancel()
        await asyncio.wait(attacking)


async def test_a_call_over_one_connection_too_many_is_told_so(tmp_path):
    async with serving(tmp_path, max_connections=16) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        stage.assistant.script = Holding()
        stage.assistant.admission = Admission(64, 0)
        calls = await flood(stack, stage.target, 19)
        await eventually(lambda: len(ends(calls)) == 5)
        assert all(b"your address has 14 of the 16 connections" in end for end in ends(calls))
        assert await answered(stage.target)


async def test_sessions_without_end_leave_room_for_others(tmp_path):
    async with serving(tmp_path, max_sessions=16) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        (first, _), (second, _) = await flood(stack, stage.target, 2, ATTACH, OPEN)
        for _ in range(9):
            for client in (first, second):
                await begun(client, ATTACH, OPEN)
        await eventually(lambda: len(stage.rpc.sessions) == 14)
        for _ in range(4):  # of which two take the places of idle ones
            await stack.enter_async_context(opened(stage.target))
        assert len(stage.rpc.sessions) == 16


async def test_an_idle_session_that_makes_room_is_told_so_and_the_newest_stay(tmp_path):
    async with serving(tmp_path, max_sessions=2) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        ((client, first),) = await flood(stack, stage.target, 1, ATTACH, OPEN)
        await client.begun(first)
        second = await begun(client, ATTACH, OPEN)
        await client.begun(second)
        said, _ = await stack.enter_async_context(opened(stage.target))
        assert b"made room" in await client.ended(first)
        await said.say(Ping())
        assert not client.of(second, HEADERS)[1:], "that one goes on"
        async with link(stage.target) as third:  # of an address that has one, as the other does
            await third.say(Open(HOLDER))
            assert await third.ended() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_link_over_which_nothing_is_said_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "SILENT_S", 0.1)
    monkeypatch.setattr(directory, "SWEEP_S", 0.05)
    async with serving(tmp_path) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        ((client, stream),) = await flood(stack, stage.target, 1, ATTACH, OPEN)
        assert b"ping to keep a link" in await client.ended(stream)
        assert len(stage.rpc.sessions) == 1, "it may still be resumed"


async def test_imports_that_send_nothing_leave_room_for_others(tmp_path):
    async with serving(tmp_path) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        calls = []
        for _ in range(10):
            client = await stack.enter_async_context(http2(stage.target, source=ATTACKER))
            calls.append((client, await client.call(ADD)))
        await eventually(lambda: len(ends(calls)) == 3)
        async with grpc.aio.insecure_channel(stage.target) as channel:
            add = channel.stream_unary(
                ADD,
                request_serializer=knowledge_pb2.AddEntriesRequest.SerializeToString,
                response_deserializer=knowledge_pb2.AddEntriesResponse.FromString,
            )
            entry = knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id="a", title="A"))
            assert (await add(iter([entry]))).added == 1


async def test_frames_of_one_address_do_not_push_out_those_of_another(tmp_path):
    settings = {"all_frames_bytes": 1 << 20, "session_frames_bytes": 1 << 20, "look_ahead": False}
    async with serving(tmp_path, **settings) as stage, AsyncExitStack() as stack, asyncio.timeout(WAIT_S):
        said, _ = await stack.enter_async_context(opened(stage.target))
        mine = await said.show(b"m" * 200_000)
        client = await stack.enter_async_context(http2(stage.target, source=ATTACKER))
        stream = await client.call(CONVERSE)
        sent = [Open(HOLDER)]
        for number in range(12):  # more than fit beside that of the other
            data = bytes([number]) * 110_000
            sent += [FrameBegin(hashlib.sha256(data).digest(), len(data)), *parts(data)]
        for each in (*sent, Close()):
            await client.message(stream, client_message(each).SerializeToString(), end=False)
        await client.ended(stream)
        await said.say(FrameBegin(mine, 200_000))
        assert (await said.until(FrameStatus)).state is FrameState.HELD
