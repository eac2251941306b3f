"""What the log says of every change and export: who, and how many; never what."""

import asyncio
import io
import json
import logging
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import grpc
import pytest

from quizglass.v1 import knowledge_pb2, knowledge_pb2_grpc
from quizglass_client import AsyncClient
from quizglass_client.types import Entry
from quizglass_server.config.logs import JsonFormatter
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from quizglass_server.rpc.transport.sockets import name_of
from quizglass_server.web.routes import open_listener
from tests.support.gate import Gate
from tests.support.knowledge.fakes import open_base
from tests.support.knowledge.memory_stage import remembering, saw
from tests.support.rpc_fakes import EVENTS, Stage, serve_stage
from tests.support.sessions.session_links import eventually
from tests.support.web import CHAT, JSON, WebStage, Wire, ask, web_serving

Lines = Callable[[], list[dict]]


@pytest.fixture
def lines():
    """The info lines so far that name a count, as a machine reads them."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel("INFO")

    def read() -> list[dict]:
        every = [json.loads(line) for line in stream.getvalue().splitlines()]
        return [line for line in every if line["level"] == "info" and "count" in line]

    yield read
    root.removeHandler(handler)
    root.setLevel(level)


@asynccontextmanager
async def knowing(folder, **settings):
    """A server with a real store."""
    base = await open_base(folder / "store")
    stage = Stage(folder, web_port=0, **settings)
    stage.services = replace(stage.services, knowledge=base)
    try:
        async with serve_stage(stage), AsyncClient(stage.target) as client:
            yield stage, client
    finally:
        await base.close()


def said(lines: Lines) -> list[tuple[str, int]]:
    """Messages and counts; each line has the peer's address and port."""
    for line in lines():
        host, _, port = line["peer"].rpartition(":")
        assert (host, port.isdecimal()) == ("127.0.0.1", True), line
    assert "anary" not in json.dumps(lines())
    return [(line["message"], line["count"]) for line in lines()]


def entry(id: str, title: str = "Canary") -> Entry:
    return Entry(id, title, "Canary sings.")


async def test_changes_and_exports_of_knowledge_are_logged_with_peer_and_count(tmp_path, lines):
    async with knowing(tmp_path) as (_, client):
        await client.add_entries([entry("a"), entry("b"), entry("c", title="")])
        assert [each.id async for each in client.list_entries()] == ["a", "b"]
        await client.delete_entry("a")
        await client.compact()
    assert said(lines) == [
        ("entries added", 2),
        ("entries listed", 2),
        ("entry deleted", 1),
        ("knowledge compacted", 1),
    ]
    assert lines()[0]["refused"] == 1


async def test_the_same_over_http(tmp_path, lines):
    async with knowing(tmp_path) as (stage, client):
        await client.add_entries([entry("a")])
        web = await open_listener(stage.services, stage.rpc, stage.services.settings)
        async with await Wire.to(WebStage(stage, web)) as wire:
            for call, body in (("ListEntries", {}), ("DeleteEntry", {"id": "a"})):
                answer = await wire.ask(
                    "POST", f"/quizglass.v1.KnowledgeService/{call}", json.dumps(body).encode(), JSON
                )
                assert answer.status == 200
        await web.stop(0)
    assert said(lines)[1:] == [("entries listed", 1), ("entry deleted", 1)]


async def test_behind_a_trusted_proxy_the_client_is_named_beside_it(tmp_path, lines):
    proxied = knowing(tmp_path, trusted_proxies=["127.0.0.1"])
    async with proxied as (stage, _), grpc.aio.insecure_channel(stage.target) as channel:
        stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)
        for forwarded in ((), (("x-forwarded-for", "192.0.2.7"),)):
            await stub.ListEntries(knowledge_pb2.ListEntriesRequest(), metadata=forwarded)
    assert [line.get("client") for line in lines()] == [None, "192.0.2.7"]


async def test_the_caller_is_named_by_its_token_which_is_not_shown(tmp_path, lines):
    text, token = made("glasses", Permission, None)
    TokenFile(tmp_path / "tokens").add(token)
    async with (
        knowing(tmp_path, tokens=tmp_path / "tokens") as (stage, _),
        AsyncClient(stage.target, token=text) as client,
    ):
        await client.add_entries([entry("a")])
        await client.delete_entry("a")
        await client.compact()
    assert [(line["message"], line["caller"]) for line in lines()] == [
        ("entries added", "glasses"),
        ("entry deleted", "glasses"),
        ("knowledge compacted", "glasses"),
    ]
    assert text not in json.dumps(lines())


async def test_whoever_chats_is_named_too(tmp_path, lines):
    text, token = made("glasses", Permission, None)
    TokenFile(tmp_path / "tokens").add(token)

    async def logging_script(turn, policy, budget):
        logging.getLogger("turns").info("asked", extra={"count": 1})
        yield EVENTS[-1]

    async with web_serving(tmp_path, tokens=tmp_path / "tokens") as served:
        served.stage.assistant.script = logging_script
        body = json.dumps({"model": "quizglass", "messages": [{"role": "user", "content": "What?"}]}).encode()
        headers = {**JSON, "authorization": f"Bearer {text}"}
        assert (await ask(served, "POST", CHAT, body, headers)).status == 200
    (line,) = lines()
    assert (line["caller"], line["peer"].rpartition(":")[0]) == ("glasses", "127.0.0.1")


async def test_what_was_added_before_an_import_broke_off_is_logged(tmp_path, lines):
    gate = Gate()

    async def broken():
        for number in range(200):
            yield knowledge_pb2.AddEntriesRequest(
                entry=knowledge_pb2.Entry(id=f"e{number:03}", title="Canary", text="Canary sings.")
            )
        await gate()

    async with knowing(tmp_path) as (stage, _), grpc.aio.insecure_channel(stage.target) as channel:
        call = knowledge_pb2_grpc.KnowledgeServiceStub(channel).AddEntries(broken())
        await gate.reached.wait()
        await eventually(lambda: stage.services.knowledge.count() == 128)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await eventually(lines)
    assert said(lines) == [("entries added", 128)]


async def test_a_deletion_is_logged_though_its_client_left_meanwhile(tmp_path, lines, monkeypatch):
    async with knowing(tmp_path) as (stage, client):
        await client.add_entries([entry("a")])
        gate, delete = Gate(), stage.services.knowledge.delete

        async def slow(id: str):
            await gate()
            return await delete(id)

        monkeypatch.setattr(stage.services.knowledge, "delete", slow)
        async with grpc.aio.insecure_channel(stage.target) as channel:
            stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)
            call = stub.DeleteEntry(knowledge_pb2.DeleteEntryRequest(id="a"))
            await gate.reached.wait()
            call.cancel()
            gate.open.set()
            await eventually(lambda: not stage.services.knowledge.count())
    assert said(lines)[1:] == [("entry deleted", 1)]


async def test_reading_and_erasing_sightings_is_logged(tmp_path, lines):
    async with remembering(tmp_path) as (stage, client):
        await saw(client, "red", "Canary?")
        await stage.settled()
        (seen,) = await client.memory.search()
        await client.memory.thumbnail(seen.id)
        await client.memory.forget(everything=True)
        await client.memory.compact()
    kept, *rest = lines()
    assert (kept["message"], kept["count"], kept["turn"]) == ("sighting remembered", 1, seen.id)
    told = [(line["message"], line["count"], line["peer"].rpartition(":")[0]) for line in rest if "peer" in line]
    assert told == [
        ("sightings read", 1, "127.0.0.1"),
        ("thumbnail read", 1, "127.0.0.1"),
        ("sightings forgotten", 1, "127.0.0.1"),
        ("memory compacted", 0, "127.0.0.1"),
    ]


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        ("ipv4:192.0.2.7:50123", "192.0.2.7:50123"),
        ("ipv6:%5B2001:db8::1%5D:50123", "[2001:db8::1]:50123"),
        ("ipv4:::1:50123", "[::1]:50123"),
        ("ipv6:%5B::ffff:192.0.2.7%5D:50123", "192.0.2.7:50123"),
        ("unix:/run/quizglass", "unix:/run/quizglass"),
    ],
)
def test_peers_are_named_by_address_and_port(peer: str, name: str) -> None:
    assert name_of(peer) == name
