"""Clients that send no messages, do not finish them, send far too much, or do not read the answers."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from time import perf_counter
from typing import Any

import grpc

from bench.hostile.http2 import http2
from bench.hostile.sections import Setup
from bench.hostile.stage import Attack, Victim, repeated, victim
from bench.results import Row, at_most
from bench.sections import Part
from quizglass.v1 import assistant_pb2

_ASK = "/quizglass.v1.AssistantService/Ask"
_ADD = "/quizglass.v1.KnowledgeService/AddEntries"
_LIST = "/quizglass.v1.KnowledgeService/ListEntries"
_MIB = 1 << 20
_BUDGET_US = 10_000_000
_PATIENCE_S = 30.0
_MESSAGE_S = 5.0
"""The time of a message is shorter than usual, so that a run sees many of them end."""


async def run(setup: Setup) -> Part:
    """Every attack in turn against one server."""
    part = Part()
    large, many = setup.count(30, 4), setup.count(40, 4)
    attacks: dict[str, Attack] = {
        "24 unread turns": _unread(24),
        f"48 questions of {large} MiB of unknown fields": _stuffed(48, large * _MIB),
        f"{many} messages of {large + 1} MiB, {large} sent": _unfinished(many, large * _MIB),
        "8 imports that send nothing": _idle(8, _ADD),
        "300 calls that send nothing": _idle(300, _ASK),
        "bytes that are no message": _garbage(16),
        "64 unread pages of entries": _unread_pages(64),
    }
    async with victim(setup, ["--message-s", f"{_MESSAGE_S}"]) as served:
        for name, attack in attacks.items():
            setup.say(name)
            found = await served.under(name, attack)
            part.rows += found.rows()
            part.data[name] = found.record()
        setup.say("every connection taken")
        part.rows += await _connected(served, setup.count(1200, 20))
    return part


def _unread(streams: int) -> Attack:
    question = assistant_pb2.AskRequest(question="What is this?", budget_us=_BUDGET_US).SerializeToString()
    return _without_window(_ASK, question, streams)


def _unread_pages(streams: int) -> Attack:
    return _without_window(_LIST, b"\x08\xe8\x07", streams)  # page_size 1,000


def _without_window(path: str, request: bytes, streams: int) -> Attack:
    async def attack(served: Victim) -> None:
        while True:
            with suppress(ConnectionError):
                async with http2(served.target, window=0) as client:
                    for _ in range(streams):
                        await client.message(await client.call(path), request)
                    await client.until_closed()

    return attack


def _stuffed(at_once: int, size: int) -> Attack:
    """Field 127, which no message has; every sender has a connection of its own."""
    request = b"\x0a\x01?\xfa\x07" + _varint(size) + bytes(size)

    async def attack(served: Victim) -> None:
        async with AsyncExitStack() as stack:
            options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
            opened = [grpc.aio.insecure_channel(served.target, options=options) for _ in range(8)]
            channels = itertools.cycle([await stack.enter_async_context(channel) for channel in opened])

            async def send() -> None:
                ask: Any = next(channels).unary_stream(_ASK)
                async for _ in ask(request, timeout=_PATIENCE_S):
                    pass

            await repeated(send, at_once)

    return attack


def _unfinished(at_once: int, size: int) -> Attack:
    async def attack(served: Victim) -> None:
        async def send() -> None:
            async with http2(served.target) as client:
                stream = await client.call(_ASK)
                sending = asyncio.ensure_future(client.begin_message(stream, size + _MIB, size))
                try:
                    await client.ended(stream)
                finally:
                    sending.cancel()

        await repeated(send, at_once)

    return attack


def _idle(streams: int, path: str) -> Attack:
    async def attack(served: Victim) -> None:
        async def send() -> None:
            async with http2(served.target) as client:
                await client.ended(await client.call(path))

        await repeated(send, streams, pause_s=0.1)

    return attack


def _garbage(at_once: int) -> Attack:
    async def attack(served: Victim) -> None:
        async with grpc.aio.insecure_channel(served.target) as channel:
            ask: Callable[..., Awaitable[object]] = channel.stream_unary(_ASK)
            await repeated(lambda: ask(iter([b"\xff\xff\xff\xff"]), timeout=_PATIENCE_S), at_once)

    return attack


async def _connected(served: Victim, wanted: int) -> list[Row]:
    """More connections than the server takes: how soon the others are refused, and whether turns go on."""
    refused: list[float] = []
    async with AsyncExitStack() as stack:
        for _ in range(wanted):
            client = await stack.enter_async_context(http2(served.target))
            began = perf_counter()
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(_PATIENCE_S):
                    await client.ended(await client.call(_ASK, end=True))
            if client.closed:
                refused.append(perf_counter() - began)
    outcomes = await served.ordinary(2.0)
    answered = sum(turn.kind == "answered" for turn in outcomes)
    return [
        Row(f"{wanted} connections: refused", len(refused), "connections"),
        at_most("connections beyond the limit: until they are closed", max(refused, default=math.nan), "s", 1.0),
        Row(
            "turns afterwards that were answered",
            answered,
            f"of {len(outcomes)}",
            bar="all of them",
            ok=answered == len(outcomes),
        ),
    ]


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])
