"""One address that opens and holds as many connections as it can, and clients of another one, over real sockets."""

import asyncio
import socket
from contextlib import AsyncExitStack

import pytest

from quizglass.convert import to_message
from quizglass.session import Open
from quizglass.v1 import session_pb2
from quizglass_server import descriptors
from tests.support.rpc_fakes import EVENTS
from tests.support.sessions.session_links import HOLDER
from tests.support.web import ASK, CAPABILITIES, CHAT, JSON, Wire, enveloped, web_serving

ATTACKER = "127.0.0.2"
PROXY = "127.0.0.1"
ATTACH = "/quizglass.v1.SessionService/Attach"
STREAM = {"content-type": "application/connect+json"}
PROTO = {"content-type": "application/connect+proto"}
OPEN = enveloped(session_pb2.AttachRequest(open=to_message(Open(HOLDER), session_pb2.Open)).SerializeToString())


@pytest.fixture(autouse=True)
def _addresses():
    with socket.socket() as probe:
        try:
            probe.bind((ATTACKER, 0))
        except OSError:
            pytest.skip(f"there is no {ATTACKER} here")


@pytest.fixture
async def served(tmp_path, monkeypatch):
    """A server with 16 places for connections, of which one address gets 14."""
    monkeypatch.setattr(descriptors, "MOST_WEB_CONNECTIONS", 16)
    async with web_serving(tmp_path) as served, asyncio.timeout(60):
        yield served


async def idle(wire):
    assert (await wire.ask("GET", "/v1/models")).status == 200


async def attach(wire):
    await wire.begin("POST", ATTACH, {**PROTO, "content-length": str(len(OPEN))})
    await wire.say(OPEN)
    assert (await wire.head())[0] == 200


async def drip(wire):
    await wire.begin("POST", CHAT, {**JSON, "content-length": "1000"})
    await wire.say(b"{")


HOLDS = pytest.mark.parametrize("hold", [idle, attach, drip])


async def everything_answers(served, source="127.0.0.1"):
    async with await Wire.to(served, source) as wire:
        assert (await wire.ask("GET", "/")).status == 200
        question = b'{"messages": [{"role": "user", "content": "What?"}]}'
        assert (await wire.ask("POST", CHAT, question, JSON)).status == 200


async def held(served, stack, hold, count, source=ATTACKER):
    wires = [await stack.enter_async_context(await Wire.to(served, source)) for _ in range(count)]
    for wire in wires:
        await hold(wire)
    return wires


@HOLDS
async def test_an_address_that_holds_all_it_may_leaves_places_for_others(served, hold):
    async with AsyncExitStack() as stack:
        await held(served, stack, hold, 14)
        async with await Wire.to(served, ATTACKER) as wire:
            answer = await wire.ask("GET", "/")
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert "your address has 14 of the 16 connections" in answer.json["message"]
            assert await wire.closed()
        for _ in range(10):
            await everything_answers(served)


@HOLDS
async def test_what_several_addresses_hold_makes_room_for_another(served, hold):
    async with AsyncExitStack() as stack:
        for last, count in ((2, 14), (3, 2)):
            await held(served, stack, hold, count, f"127.0.0.{last}")
        for _ in range(10):
            await everything_answers(served)


async def test_a_dripped_body_that_makes_room_is_told_so(served):
    async with AsyncExitStack() as stack:
        first, *_ = await held(served, stack, drip, 14)
        await held(served, stack, drip, 2, "127.0.0.3")
        async with await Wire.to(served) as wire:
            assert (await wire.ask("GET", "/")).status == 200
            answer = await first.answer()
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_a_connection_that_is_working_is_not_closed_to_make_room(served):
    end, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def waits(turn, policy, budget):
        begun.release()
        await end.wait()
        for event in EVENTS:
            yield event

    served.stage.assistant.script = waits
    question = enveloped(b'{"question": "What?"}')
    async with AsyncExitStack() as stack:
        working = await stack.enter_async_context(await Wire.to(served, ATTACKER))
        answering = asyncio.create_task(working.ask("POST", ASK, question, STREAM))
        await begun.acquire()
        wires = await held(served, stack, idle, 13)
        await held(served, stack, idle, 4, "127.0.0.3")
        end.set()
        assert (await answering).status == 200
        assert await wires[0].closed()


async def test_a_phone_with_six_connections_and_four_glasses_behind_one_address_are_all_served(served):
    async with AsyncExitStack() as stack:
        wires = await held(served, stack, idle, 6)
        await held(served, stack, attach, 4)
        for wire in wires:
            assert (await wire.ask("POST", CAPABILITIES, b"{}", JSON)).status == 200


async def test_idle_connections_of_one_address_make_room_for_its_next(served):
    """As where all come through an untrusted proxy."""
    async with AsyncExitStack() as stack:
        first, *_ = await held(served, stack, idle, 14)
        while (answer := await ask_from(served, ATTACKER)).status == 503:
            pass
        assert answer.status == 200
        assert await first.closed()


async def ask_from(served, source, headers=None):
    async with await Wire.to(served, source) as wire:
        return await wire.ask("GET", "/v1/models", headers=headers)


@pytest.fixture
async def behind_a_proxy(tmp_path, monkeypatch):
    monkeypatch.setattr(descriptors, "MOST_WEB_CONNECTIONS", 16)
    async with web_serving(tmp_path, trusted_proxies=PROXY) as served, asyncio.timeout(60):
        yield served


async def test_clients_behind_a_trusted_proxy_are_distinguished(behind_a_proxy):
    async with AsyncExitStack() as stack:
        for number in range(14):
            wire = await stack.enter_async_context(await Wire.to(behind_a_proxy, PROXY))
            named = {"x-forwarded-for": f"10.1.1.{number}, 192.0.2.7"}  # what the client itself sent stands before
            assert (await wire.ask("GET", "/v1/models", headers=named)).status == 200
        assert (await ask_from(behind_a_proxy, PROXY, {"x-forwarded-for": "192.0.2.7"})).status == 503
        assert (await ask_from(behind_a_proxy, PROXY, {"x-forwarded-for": "192.0.2.8"})).status == 200


async def test_no_other_peer_is_believed(served):
    """A client that says it is many is one."""
    async with AsyncExitStack() as stack:
        for number in range(14):
            wire = await stack.enter_async_context(await Wire.to(served, ATTACKER))
            await wire.ask("GET", "/v1/models", headers={"x-forwarded-for": f"192.0.2.{number}"})
        answer = await ask_from(served, ATTACKER, {"x-forwarded-for": "192.0.2.99"})
        assert answer.status == 503
        await everything_answers(served)
