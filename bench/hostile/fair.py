"""One address, or eight, that open, ask and hold as much as they can, and newcomers of another address beside them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import cycle
from time import perf_counter
from urllib.parse import urlsplit

import grpc

from bench.engine.figures import percentile
from bench.hostile.http2 import http2
from bench.hostile.sections import Setup
from bench.hostile.stage import Victim, victim
from bench.results import Row, at_most
from bench.sections import Part
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, session_pb2, types_pb2
from quizglass_client import AsyncSession, ClientError

ONE, EIGHT = ("127.0.0.2",), tuple(f"127.0.0.{last}" for last in range(2, 10))
LONGEST_S = 2.0
_ASK = "/quizglass.v1.AssistantService/Ask"
_ATTACH = "/quizglass.v1.SessionService/Attach"
_CHAT = "/v1/chat/completions"
_SESSIONS, _SESSION_CONNECTIONS = 1019, 12
_UNREAD_S = 1.0
_BUDGET_US = 5_000_000
_PATIENCE_S = 30.0
_SETTLE_S = 1.0
_AGAIN_S = 0.1

Source = Callable[[], str]
"""The address of the next connection."""
Hold = Callable[[Victim, Source], Awaitable[None]]
"""Opens one connection, does its worst until the server ends that, and returns."""


async def run(setup: Setup) -> Part:
    """Every attack in turn, each against a server of its own: from one address, then spread over eight."""
    part = Part()
    attacks: dict[str, tuple[int, Hold]] = {
        "48 callers over 48 connections": (48, _call),
        "24 unread streams of chat": (24, _unread),
        "256 idle Attach": (256, _attach),
        "512 connections kept alive": (512, _keep_alive),
        "256 bodies that drip": (256, _drip),
        "1,100 bare prefaces of HTTP/2": (1100, _preface),
        "1,019 sessions over 12 connections": (_SESSION_CONNECTIONS, _sessions),
    }
    for addresses in (ONE, EIGHT):
        async with victim(setup, ["--web-port", "0"]) as served:
            for name, (count, hold) in attacks.items():
                title = f"{name}, from {len(addresses)} address{'es' if len(addresses) > 1 else ''}"
                setup.say(title)
                count = setup.count(count, min(count, 24))
                found = await _beside(served, count, hold, cycle(addresses), setup.count(200, 8))
                part.rows += found.rows(title, bars=addresses == ONE)
                part.data[title] = {"kinds": found.kinds, "took_s": found.took}
    return part


class Newcomers:
    """What became of turns, each over a connection of its own."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.took: list[float] = []

    def rows(self, title: str, *, bars: bool) -> list[Row]:
        """Turns that were not answered, and the time of those that were."""
        total = self.kinds.total()
        lost, p99 = total - self.kinds["answered"], percentile(self.took, 0.99) if self.took else float("inf")
        refused = f"{title}: others not answered"
        if not bars:
            return [Row(refused, lost, f"of {total}"), Row(f"{title}: others, p99", p99, "s")]
        return [
            Row(refused, lost, f"of {total}", bar="0", ok=not lost),
            at_most(f"{title}: others, p99", p99, "s", LONGEST_S),
        ]

    async def turn(self, ask: Callable[[], Awaitable[str]]) -> None:
        """One turn."""
        began = perf_counter()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                kind = await ask()
        except grpc.aio.AioRpcError as error:
            kind = error.code().name
        except (OSError, EOFError, TimeoutError, ClientError) as error:
            kind = type(error).__name__
        self.kinds[kind] += 1
        if kind == "answered":
            self.took.append(perf_counter() - began)


async def _beside(served: Victim, count: int, hold: Hold, addresses: Iterator[str], turns: int) -> Newcomers:
    """Turns of two newcomers at a time beside so many attackers, which come again as soon as they are thrown out."""

    async def attacker() -> None:
        while True:
            with suppress(OSError, EOFError):
                await hold(served, lambda: next(addresses))
            await asyncio.sleep(_AGAIN_S)

    attacking = [asyncio.create_task(attacker()) for _ in range(count)]
    await asyncio.sleep(_SETTLE_S)
    found = Newcomers()
    try:
        left = iter(range(turns))
        await asyncio.gather(*(_come(served, found, left) for _ in range(2)))
    finally:
        for each in attacking:
            each.cancel()
        await asyncio.wait(attacking)
    await asyncio.sleep(_SETTLE_S)
    return found


async def _come(served: Victim, found: Newcomers, left: Iterator[int]) -> None:
    """One newcomer after the other, of every kind in turn."""
    for number in left:
        question, picture = next(served.stock)
        await found.turn(partial(_WAYS[number % len(_WAYS)], served, question.text, picture))


async def _ask_over_grpc(served: Victim, question: str, picture: bytes) -> str:
    options = [("grpc.use_local_subchannel_pool", 1)]
    request = assistant_pb2.AskRequest(
        question=question, frames=[types_pb2.Frame(encoded=picture)], budget_us=_BUDGET_US
    )
    async with grpc.aio.insecure_channel(served.target, options=options) as channel:
        call = assistant_pb2_grpc.AssistantServiceStub(channel).Ask(request)  # type: ignore[no-untyped-call]
        events = [event async for event in call]
    return "answered" if events and events[-1].HasField("done") else "no end"


async def _ask_over_http(served: Victim, question: str, picture: bytes) -> str:
    """The page, then a chat, as a browser that has just come."""
    async with _http(served) as (reader, writer):
        status, _ = await _request(served, reader, writer, "GET", "/")
        if status == 200:
            status, _ = await _request(served, reader, writer, "POST", _CHAT, _chat(question, picture))
    return "answered" if status == 200 else str(status)


async def _ask_in_session(served: Victim, question: str, picture: bytes) -> str:
    async with AsyncSession(served.target, patience=0) as session:
        await session.show(picture)
        await session.answer(question)
    return "answered"


_WAYS = (_ask_over_grpc, _ask_over_http, _ask_in_session)


async def _call(served: Victim, source: Source) -> None:
    question = assistant_pb2.AskRequest(question="What is this?", budget_us=_BUDGET_US).SerializeToString()
    async with http2(served.target, source=source()) as client:
        while not client.closed:
            stream = await client.call(_ASK)
            await client.message(stream, question)
            await client.ended(stream)


async def _unread(served: Victim, source: Source) -> None:
    body = _chat("What is this? Tell me all about it.", stream=True)
    async with _http(served, source()) as (reader, writer):
        reader._transport.pause_reading()  # type: ignore[attr-defined]  # asyncio reads ahead
        writer.write(_head(served, "POST", _CHAT, len(body)) + body)
        await writer.drain()
        await asyncio.sleep(_UNREAD_S)


async def _attach(served: Victim, source: Source) -> None:
    message = _opening()
    enveloped = b"\x00" + len(message).to_bytes(4, "big") + message
    async with _http(served, source()) as (reader, writer):
        writer.write(_head(served, "POST", _ATTACH, len(enveloped), "application/connect+proto") + enveloped)
        await reader.read()


async def _keep_alive(served: Victim, source: Source) -> None:
    async with _http(served, source()) as (reader, writer):
        await _request(served, reader, writer, "GET", "/v1/models")
        await reader.read()


async def _drip(served: Victim, source: Source) -> None:
    async with _http(served, source()) as (reader, writer):
        writer.write(_head(served, "POST", _CHAT, 1000))
        while not reader.at_eof():
            writer.write(b"{")
            await writer.drain()
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1024), 1.0)


async def _preface(served: Victim, source: Source) -> None:
    async with http2(served.target, source=source()) as client:
        await client.until_closed()


async def _sessions(served: Victim, source: Source) -> None:
    async with http2(served.target, source=source()) as client:
        for _ in range(_SESSIONS // _SESSION_CONNECTIONS):
            await client.message(await client.call(_ATTACH), _opening())
        await client.until_closed()


@asynccontextmanager
async def _http(
    served: Victim, source: str = "127.0.0.1"
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    place = urlsplit(served.server.web)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, local_addr=(source, 0))
    try:
        yield reader, writer
    finally:
        writer.close()


async def _request(
    served: Victim,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    method: str,
    path: str,
    body: bytes = b"",
) -> tuple[int, bytes]:
    """One request, and the status and body of its response."""
    writer.write(_head(served, method, path, len(body)) + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:"))
    return int(head.split()[1]), await reader.readexactly(length)


def _head(served: Victim, method: str, path: str, length: int, content_type: str = "application/json") -> bytes:
    host = urlsplit(served.server.web).netloc
    lines = (f"{method} {path} HTTP/1.1", f"host: {host}", f"content-type: {content_type}", f"content-length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _chat(question: str, picture: bytes = b"", *, stream: bool = False) -> bytes:
    content: list[dict[str, object]] = [{"type": "text", "text": question}]
    if picture:
        url = f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"
        content.append({"type": "image_url", "image_url": {"url": url}})
    return json.dumps({"messages": [{"role": "user", "content": content}], "stream": stream}).encode()


def _opening() -> bytes:
    return session_pb2.AttachRequest(open=session_pb2.Open(holder=bytes(16))).SerializeToString()
