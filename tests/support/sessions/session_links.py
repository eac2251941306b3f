"""A session spoken by hand, message by message, over a real socket."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google_crc32c import value as crc32c

from quizglass.convert import client_message, server_value
from quizglass.session import (
    ClientSaid,
    FrameBegin,
    FrameName,
    FramePart,
    FrameState,
    FrameStatus,
    Notice,
    Open,
    Opened,
    Overlap,
    Question,
    ServerSaid,
    SessionAsk,
    TurnUpdate,
)
from quizglass.v1 import session_pb2_grpc
from quizglass.values import AnswerDelta, Done, FinishReason, TurnEvent
from quizglass_server.domain import turns as domain
from quizglass_server.scheduling.time_left import Budget
from tests.support.gate import Gate
from tests.support.rpc_fakes import Script

HOLDER, OTHER = b"h" * 16, b"o" * 16
WAIT_S = 120.0
"""Longer than anything takes, on however busy a machine: only what never comes is waited for so long."""


class RawLink:
    """One `Converse`."""

    def __init__(self, channel: grpc.aio.Channel, token: str = "") -> None:
        carried = (("authorization", f"Bearer {token}"),) if token else ()
        self.call: Any = session_pb2_grpc.SessionServiceStub(channel).Converse(metadata=carried)
        self.heard: list[tuple[int, ServerSaid]] = []
        """Numbers and messages, as they came."""
        self.state = b""

    async def say(self, *said: ClientSaid, id: int = 0) -> None:
        for each in said:
            await self.call.write(client_message(each, id))

    async def hear(self) -> ServerSaid:
        """The next message."""
        async with asyncio.timeout(WAIT_S):
            message = await self.call.read()
        assert message is not grpc.aio.EOF, await self.call.code()
        said = server_value(message)
        assert said is not None
        self.state = message.state or self.state
        self.heard.append((message.seq, said))
        return said

    async def until(self, kind: type, fits: Callable[[Any], bool] = lambda _: True) -> Any:
        """The next message of a kind; others are passed over."""
        while True:
            said = await self.hear()
            if isinstance(said, kind) and fits(said):
                return said

    async def done(self, ask_id: str) -> Done:
        """The end of a turn."""
        said = await self.until(TurnUpdate, lambda said: said.ask_id == ask_id and isinstance(said.event, Done))
        return said.event  # type: ignore[no-any-return]

    async def notice(self) -> Notice:
        return await self.until(Notice)  # type: ignore[no-any-return]

    async def ended(self) -> grpc.StatusCode:
        """How the call ends, whatever still comes before."""
        async with asyncio.timeout(WAIT_S):
            try:
                while (message := await self.call.read()) is not grpc.aio.EOF:
                    said = server_value(message)
                    if said is not None:
                        self.heard.append((message.seq, said))
            except grpc.aio.AioRpcError:
                pass
            return await self.call.code()  # type: ignore[no-any-return]

    async def open(self, *, holder: bytes = HOLDER, **fields: Any) -> Opened:
        await self.say(Open(holder, **fields))
        opened = await self.hear()
        assert isinstance(opened, Opened)
        return opened

    async def show(self, data: bytes, *, piece: int = 32 * 1024, pinned: bool = False) -> bytes:
        """Send a whole frame; its name."""
        name = hashlib.sha256(data).digest()
        await self.say(FrameBegin(name, len(data), pinned=pinned), *parts(data, piece))
        await self.until(FrameStatus, lambda said: said.sha256 == name and said.state is FrameState.HELD)
        return name

    @property
    def numbered(self) -> list[int]:
        """Numbers of the messages that have one of their own."""
        passing = {"Opened", "Progress", "GoAway", "Pong"}
        return [seq for seq, said in self.heard if type(said).__name__ not in passing]


def parts(data: bytes, piece: int = 32 * 1024, begin: int = 0) -> list[FramePart]:
    name = hashlib.sha256(data).digest()
    return [
        FramePart(name, at, data[at : at + piece], crc32c(data[at : at + piece]))
        for at in range(begin, len(data), piece)
    ]


def question(
    id: str, text: str = "What?", frame: bytes | None = None, overlap: Overlap = Overlap.UNKNOWN, **fields: Any
) -> SessionAsk:
    frames = () if frame is None else (FrameName(frame),)
    return SessionAsk(id, Question(text, frames, **fields), overlap)


@asynccontextmanager
async def link(target: str) -> AsyncIterator[RawLink]:
    """A link over a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(target, options=options) as channel:
        made = RawLink(channel)
        try:
            yield made
        finally:
            made.call.cancel()


@asynccontextmanager
async def opened(target: str, **fields: Any) -> AsyncIterator[tuple[RawLink, Opened]]:
    """A link with its session."""
    async with link(target) as made:
        yield made, await made.open(**fields)


def sender(target: str) -> tuple[grpc.aio.Channel, session_pb2_grpc.SessionServiceStub]:
    """For `Attach` and `Send`."""
    channel = grpc.aio.insecure_channel(target)
    return channel, session_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call]


def words(count: int, gates: Sequence[tuple[int, Gate]] = ()) -> Script:
    """An answer of so many sentences of one word, which waits at some of them."""
    waits = dict(gates)

    async def script(turn: domain.Turn, policy: str, budget: Budget) -> AsyncGenerator[TurnEvent, None]:
        for at in range(count):
            if at in waits:
                await waits[at]()
            await asyncio.sleep(0)
            yield AnswerDelta(f" w{at}.")
        yield Done(text(count), FinishReason.COMPLETE)

    return script


def text(count: int) -> str:
    """The answer of `words`."""
    return " ".join(f"w{at}." for at in range(count))


async def eventually(fits: Callable[[], object]) -> None:
    """Wait for something that no event reports."""
    async with asyncio.timeout(WAIT_S):
        while not fits():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def usable(said: RawLink) -> None:
    """Fail where the session does not answer any more."""
    await said.say(question("still", "Still?"))
    assert (await said.done("still")).answer
