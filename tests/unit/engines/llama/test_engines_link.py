"""Frames and calls between the server and its generator process, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.llama.link.frames import Answering, CallFailed, Frames, Kind, Link, LinkLost
from quizglass_server.engines.llama.link.prompt import Failure

PATIENCE_S = 120
VALUES = st.none() | st.binary(max_size=40) | st.lists(st.text())
FRAMES = st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 2**32 - 1), VALUES))


class Recorder(Frames):
    """Remembers what arrives, and what it was told to send."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[tuple[Kind, int, object]] = []
        self.sent = b""
        self.aborted = False
        self._transport = self  # type: ignore[assignment]

    def frame_received(self, kind: Kind, number: int, value: object) -> None:
        self.received.append((kind, number, value))

    def write(self, data: bytes) -> None:
        self.sent += data

    def abort(self) -> None:
        self.aborted = True


@given(FRAMES, st.data())
def test_frames_arrive_whole_however_they_are_cut(frames: list[tuple[Kind, int, object]], data: st.DataObject) -> None:
    sender, receiver = Recorder(), Recorder()
    for frame in frames:
        sender.send(*frame)
    start = 0
    while start < len(sender.sent):
        size = data.draw(st.integers(1, len(sender.sent)))
        receiver.data_received(sender.sent[start : start + size])
        start += size
    assert receiver.received == frames
    assert not receiver.aborted


@pytest.mark.parametrize(
    "header", [pack("<IIB", 0, 1, 0), pack("<IIB", 0, 1, 6), pack("<IIB", 2**31, 1, 3), pack("<IIB", 4, 1, 3)]
)
def test_a_frame_that_makes_no_sense_ends_the_connection(header: bytes) -> None:
    receiver = Recorder()
    receiver.data_received(header + bytes(100))
    assert receiver.aborted
    assert receiver.received == []


@given(st.binary(max_size=200))
def test_garbage_never_raises(garbage: bytes) -> None:
    Recorder().data_received(garbage)


class Server:
    """Methods that tests call."""

    def __init__(self) -> None:
        self.waiting, self.left = asyncio.Event(), asyncio.Event()
        self.sent = 0

    async def answer(self, method: str, arguments: list[Any]) -> AsyncGenerator[object, None]:
        if method == "Echo":
            for text in arguments:
                yield text
        elif method == "Wait":
            self.waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        elif method == "Flood":
            while True:
                yield "x" * 65536
                self.sent += 1
        else:
            yield arguments
            raise ValueError(method)


@pytest.fixture
async def server() -> Server:
    return Server()


@pytest.fixture
async def answering(server: Server) -> Answering:
    return Answering(server.answer, lambda error: Failure("failed", str(error)))


@pytest.fixture
async def link(answering: Answering, tmp_path: Path) -> AsyncIterator[Link]:
    loop = asyncio.get_running_loop()
    listening = await loop.create_unix_server(lambda: answering, str(tmp_path / "s"))
    _, made = await loop.create_unix_connection(lambda: Link(lambda: None), str(tmp_path / "s"))
    async with asyncio.timeout(PATIENCE_S):
        yield made
    made.lose()
    listening.close()


async def test_many_calls_share_a_connection(link: Link) -> None:
    async def echo(number: int) -> None:
        texts = [f"{number} {index}" for index in range(20)]
        assert [item async for item in link.call("Echo", *texts)] == texts

    await asyncio.gather(*(echo(number) for number in range(50)))


async def test_a_call_without_responses_ends(link: Link) -> None:
    assert [item async for item in link.call("Echo")] == []


async def test_what_cannot_be_sent_fails_its_call_alone(link: Link) -> None:
    with pytest.raises(TypeError, match="object cannot be sent"):
        link.call("Echo", object())
    assert [item async for item in link.call("Echo", "b")] == ["b"]


async def test_what_came_before_a_failure_is_given_first(link: Link) -> None:
    call = link.call("Break", "a")
    assert await anext(call) == ["a"]
    with pytest.raises(CallFailed) as failed:
        await anext(call)
    assert failed.value.failure == Failure("failed", "Break")
    assert [item async for item in link.call("Echo", "b")], "the others go on"


async def test_a_cancelled_call_ends_at_the_other_end(link: Link, server: Server) -> None:
    call = link.call("Wait")
    await server.waiting.wait()
    call.cancel()
    call.cancel()
    await server.left.wait()
    assert [item async for item in link.call("Echo", "b")]


async def test_a_call_that_is_cancelled_before_it_begins_leaves_nothing_behind(
    link: Link, answering: Answering
) -> None:
    for _ in range(100):
        link.call("Echo", "a").cancel()
    assert [item async for item in link.call("Echo", "b")]
    await asyncio.sleep(0)
    assert not answering._tasks


async def test_a_reader_that_does_not_keep_up_slows_the_writer_down(link: Link, server: Server) -> None:
    transport = link._transport
    assert isinstance(transport, asyncio.Transport)
    call = link.call("Flood")
    await anext(call)
    transport.pause_reading()
    before = -1
    while before != server.sent:
        before = server.sent
        for _ in range(50):
            await asyncio.sleep(0)
    assert server.sent < 1000
    transport.resume_reading()
    while server.sent < before + 20:
        await anext(call)
    call.cancel()


async def test_a_lost_connection_ends_every_call_at_both_ends(link: Link, server: Server) -> None:
    waiting = [link.call("Wait") for _ in range(3)]
    await server.waiting.wait()
    reading = [asyncio.ensure_future(anext(call)) for call in waiting]
    await asyncio.sleep(0)
    link.lose()
    assert all(isinstance(end, LinkLost) for end in await asyncio.gather(*reading, return_exceptions=True))
    await server.left.wait()
    with pytest.raises(LinkLost):
        await anext(link.call("Echo", "a"))


async def test_the_client_is_told_when_the_other_end_goes(tmp_path: Path) -> None:
    lost, there = asyncio.Event(), asyncio.Event()
    ends: list[asyncio.BaseTransport] = []

    class Accepting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            ends.append(transport)
            there.set()

    loop = asyncio.get_running_loop()
    listening = await loop.create_unix_server(Accepting, str(tmp_path / "s"))
    _, link = await loop.create_unix_connection(lambda: Link(lost.set), str(tmp_path / "s"))
    async with asyncio.timeout(PATIENCE_S):
        await there.wait()
        reading = asyncio.ensure_future(anext(link.call("Echo", "a")))
        ends[0].close()
        await lost.wait()
        with pytest.raises(LinkLost):
            await reading
    listening.close()
