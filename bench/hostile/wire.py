"""Requests whose few bytes become much: what others wait for meanwhile, and the memory that they take."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import grpc

from bench.hostile.http2 import http2
from bench.hostile.neighbour import neighbour
from bench.hostile.sections import Setup
from bench.hostile.stage import MemoryWatch, Victim, repeated, tree_mib, victim
from bench.results import Row, at_most
from bench.sections import Part
from quizglass.v1 import assistant_pb2, session_pb2

_SERVICE = "/quizglass.v1."
_ASK = f"{_SERVICE}AssistantService/Ask"
_ADD = f"{_SERVICE}KnowledgeService/AddEntries"
_SEARCH = f"{_SERVICE}KnowledgeService/SearchEntries"
_LIST = f"{_SERVICE}KnowledgeService/ListEntries"
_CONVERSE = f"{_SERVICE}SessionService/Converse"
_PROTO, _JSON = "application/proto", "application/json"
_STREAM_PROTO, _STREAM_JSON = "application/connect+proto", "application/connect+json"
_MIB = 1 << 20
_PATIENCE_S = 60.0
LONGEST_S, PEAK_MIB = 0.25, 256.0
"""The bars of requests that come one by one: what others wait at most, and memory beyond before."""
MANY_PEAK_MIB, KEPT_MIB, KEPT_AFTER_S = 1024.0, 128.0, 60.0
"""Those of many at once: memory beyond before, what is left of it, and after how long."""

Send = Callable[[Victim, Counter[str]], Awaitable[None]]
"""Sends one request, and counts what became of it."""


@dataclass(frozen=True)
class Attack:
    """One row: what is sent, by how many clients at once."""

    name: str
    send: Send
    at_once: int = 2
    many: bool = False
    """Whether it is about memory that many take at once."""


async def run(setup: Setup) -> Part:
    """Every attack in turn against one server."""
    part = Part()
    async with victim(setup, ["--web-port", "0"]) as served:
        for attack in _attacks(setup):
            setup.say(attack.name)
            rows, data = await under(setup, served, attack)
            part.rows += rows
            part.data[attack.name] = data
    return part


async def under(setup: Setup, served: Victim, attack: Attack) -> tuple[list[Row], dict[str, object]]:
    """What others wait for, and the memory that the server takes, while an attack goes on; with what became of it."""
    became: Counter[str] = Counter()
    before = tree_mib(served.pid)
    watch = MemoryWatch(served.pid)
    async with neighbour(served.target) as waits:
        attacking = asyncio.ensure_future(repeated(lambda: attack.send(served, became), attack.at_once))
        await asyncio.wait({attacking}, timeout=setup.count(10, 2))
        while not attacking.done():  # a library may have taken the cancellation for its call's
            attacking.cancel()
            await asyncio.wait({attacking}, timeout=5)
    peak = watch.end() - before
    await asyncio.sleep(setup.count(int(KEPT_AFTER_S), 1) if attack.many else 2)
    kept = tree_mib(served.pid) - before
    rows = [
        at_most(f"{attack.name}: others wait at most", waits.longest, "s", LONGEST_S),
        at_most(f"{attack.name}: peak beyond before", peak, "MiB", MANY_PEAK_MIB if attack.many else PEAK_MIB),
        at_most(f"{attack.name}: kept after a minute", kept, "MiB", KEPT_MIB)
        if attack.many
        else Row(f"{attack.name}: kept afterwards", kept, "MiB"),
    ]
    return rows, {"became": dict(became), "calls": waits.calls, "p99_s": waits.p99}


def _attacks(setup: Setup) -> Sequence[Attack]:
    small = setup.count(4_200_000, 1000)  # of two bytes each
    large = setup.count(15 * _MIB, 1000)
    history = b"\x0a\x01?" + b"\x1a\x00" * small
    frames = b"\x0a\x01?" + b"\x12\x00" * small
    kinds = b"\x0a\x01?" + _field(4, b"\x12\x00" * large)
    attributes = _field(1, b"".join(_field(6, b"\x0a\x06%06x" % i) for i in range(setup.count(3_000_000, 1000))))
    json_history = _json(question="?", history=[{}] * setup.count(3_500_000, 1000))
    json_kinds = _json(text="?", filter={"kinds": [""] * setup.count(10_000_000, 1000)})
    return [
        Attack("Ask, 8 MB of empty history", _grpc(_ASK, history)),
        Attack("Ask, 8 MB of empty history by gRPC's gzip", _grpc_gzip(_ASK, history)),
        Attack("Ask, 8 MB of empty frames", _grpc(_ASK, frames)),
        Attack("AddEntries, 3 million attributes", _grpc(_ADD, attributes)),
        Attack("SearchEntries, 30 MiB of empty kinds", _grpc(_SEARCH, kinds)),
        Attack("Connect JSON Ask, 10 MB of empty history", over_http(_ASK, _STREAM_JSON, _enveloped(json_history))),
        Attack("the same gzipped", over_http(_ASK, _STREAM_JSON, _enveloped(json_history, packed=True), packed=True)),
        Attack(
            "Connect JSON SearchEntries, empty kinds gzipped",
            over_http(_SEARCH, _JSON, gzip.compress(json_kinds), packed=True),
        ),
        Attack("Connect JSON SearchEntries, empty kinds", over_http(_SEARCH, _JSON, json_kinds)),
        Attack("Connect SearchEntries, 30 MiB of empty kinds", over_http(_SEARCH, _PROTO, kinds)),
        Attack("a session's questions with 120,000 empty exchanges", _conversing(setup.count(120_000, 1000))),
        Attack("48 questions of 30 MB of unknown fields", _grpc(_ASK, _unknown(setup.count(30_000_000, 1000))), 48),
        Attack("200 unread pages of entries over HTTP", _unread_page, 200),
        Attack("4,000 pipelined pages of entries", _pipelined(setup.count(4000, 10)), 1),
        Attack(
            "64 gzipped requests of 31 KB over HTTP",
            over_http(_SEARCH, _PROTO, gzip.compress(kinds), packed=True),
            64,
            many=True,
        ),
        Attack("8 SearchEntries of 30 MiB of empty kinds", _grpc(_SEARCH, kinds), 8, many=True),
        Attack("16 SearchEntries of 30 MiB of empty kinds", _grpc(_SEARCH, kinds), 16, many=True),
    ]


def _grpc(path: str, request: bytes) -> Send:
    """One message of a call over a connection of its own."""

    async def send(served: Victim, became: Counter[str]) -> None:
        options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(served.target, options=options) as channel:
            call: Any = channel.stream_stream(path)
            await _counted(call(iter([request]), timeout=_PATIENCE_S), became)

    return send


def _grpc_gzip(path: str, request: bytes) -> Send:
    """The same, compressed as gRPC has it."""
    packed = gzip.compress(request)

    async def send(served: Victim, became: Counter[str]) -> None:
        async with http2(served.target) as client:
            stream = await client.call(path, headers=[("grpc-encoding", "gzip")])
            await client.part(stream, b"\x01" + len(packed).to_bytes(4, "big") + packed, end=True)
            await client.ended(stream)
        became["ended"] += 1

    return send


def _conversing(exchanges: int) -> Send:
    """A session that asks over and over, each time with so many exchanges that say nothing."""
    opening = session_pb2.ClientMessage(open=session_pb2.Open(holder=bytes(range(32))))

    async def send(served: Victim, became: Counter[str]) -> None:
        async def messages() -> AsyncIterator[bytes]:
            yield opening.SerializeToString()
            for number in range(20):
                ask = _field(1, b"q%d" % number) + _field(3, b"\x0a\x01?" + b"\x1a\x00" * exchanges)
                yield _field(6, ask)

        async with grpc.aio.insecure_channel(served.target) as channel:
            call: Any = channel.stream_stream(_CONVERSE)
            await _counted(call(messages(), timeout=_PATIENCE_S), became)

    return send


async def _counted(call: Any, became: Counter[str]) -> None:
    try:
        async for _ in call:
            pass
    except grpc.aio.AioRpcError as error:
        became[error.code().name] += 1
    else:
        became["OK"] += 1


def over_http(path: str, content_type: str, body: bytes, *, packed: bool = False) -> Send:
    """One request over HTTP/1.1."""
    encoding = "connect-content-encoding" if "connect" in content_type else "content-encoding"
    headers = [("content-type", content_type), *([(encoding, "gzip")] if packed else [])]

    async def send(served: Victim, became: Counter[str]) -> None:
        async with _connection(served) as (reader, writer):
            writer.write(_head(path, body, [*headers, ("connection", "close")]) + body)
            said = await reader.read()
        became[said.split(b"\r\n", 1)[0].decode()] += 1

    return send


async def _unread_page(served: Victim, became: Counter[str]) -> None:
    """A page of 1,000 entries over a connection of its own, of which nothing is read for a while."""
    body = b'{"pageSize":1000}'
    async with _connection(served, limit=1024) as (_, writer):
        writer.write(_head(_LIST, body, [("content-type", _JSON)]) + body)
        await asyncio.sleep(5)
    became["sent"] += 1


def _pipelined(count: int) -> Send:
    """So many pages over one connection, asked for at once and not read."""
    body = b'{"pageSize":1000}'

    async def send(served: Victim, became: Counter[str]) -> None:
        async with _connection(served, limit=1024) as (_, writer):
            writer.write((_head(_LIST, body, [("content-type", _JSON)]) + body) * count)
            await asyncio.sleep(20)
        became["sent"] += 1

    return send


@asynccontextmanager
async def _connection(
    served: Victim, limit: int = 1 << 16
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    web = urlsplit(served.server.web)
    reader, writer = await asyncio.open_connection(web.hostname, web.port, limit=limit)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def _head(path: str, body: bytes, headers: Sequence[tuple[str, str]]) -> bytes:
    about = [("host", "127.0.0.1"), ("content-length", str(len(body))), *headers]
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in about)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _enveloped(message: bytes, *, packed: bool = False) -> bytes:
    """A message of a stream, as Connect has it."""
    content = gzip.compress(message) if packed else message
    return bytes((packed,)) + len(content).to_bytes(4, "big") + content


def _json(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _unknown(size: int) -> bytes:
    """A question with a field 127, which no message has."""
    return assistant_pb2.AskRequest(question="?").SerializeToString() + _field(127, bytes(size))


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes, a text or a message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])
