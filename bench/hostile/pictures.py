"""24 pictures at once of few bytes and 40 megapixels each, in every form, and what the turns beside them take."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc

from bench.hostile.inputs import SIDE, bombs
from bench.hostile.sections import Setup
from bench.hostile.stage import Victim, repeated, victim
from bench.sections import Part
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2

_AT_ONCE = 24
_BUDGET_S, _PATIENCE_S = 10, 20


async def run(setup: Setup) -> Part:
    """Every form in turn against one server."""
    part = Part()
    async with victim(setup) as served:
        for name, encoded in bombs(setup.count(SIDE, 1000)).items():
            setup.say(f"{_AT_ONCE} at once: {name}, {len(encoded)} bytes")
            sent = Sent()
            found = await served.under(f"{_AT_ONCE} at once, {name} of {len(encoded)} bytes", sent.attack([encoded]))
            part.rows += found.rows()
            part.data[name] = found.record() | {"bytes": len(encoded), "sent": dict(sent.became)}
    return part


class Sent:
    """Turns about hostile pictures, sent as raw messages: the SDK would resize them first."""

    def __init__(self) -> None:
        self.became: Counter[str] = Counter()
        """By status."""
        self._number = 0

    def attack(self, pictures: list[bytes], at_once: int = _AT_ONCE) -> Callable[[Victim], Awaitable[None]]:
        """Pictures in turn, so many at once, over and over."""

        async def attack(served: Victim) -> None:
            number = 0
            async with stub(served.target) as assistant:

                async def send() -> None:
                    nonlocal number
                    number += 1
                    await self.one(assistant, pictures[number % len(pictures)])

                await repeated(send, at_once)

        return attack

    async def one(self, assistant: Any, encoded: bytes) -> None:
        """One turn. Bytes are added after the picture's end, so that no cache has seen it."""
        self._number += 1
        frame = types_pb2.Frame(encoded=encoded + self._number.to_bytes(8))
        request = assistant_pb2.AskRequest(question="What is this?", frames=[frame], budget_us=_BUDGET_S * 1_000_000)
        try:
            async for _ in assistant.Ask(request, timeout=_PATIENCE_S):
                pass
        except grpc.aio.AioRpcError as error:
            self.became[error.code().name] += 1
        else:
            self.became["OK"] += 1


@asynccontextmanager
async def stub(target: str) -> AsyncIterator[Any]:
    """A channel of its own, for messages of any size."""
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(target, options=options) as channel:
        yield assistant_pb2_grpc.AssistantServiceStub(channel)  # type: ignore[no-untyped-call]
