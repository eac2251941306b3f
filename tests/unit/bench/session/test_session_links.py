"""Where frames of HTTP/2 end, and what the benchmark of sessions counts of turns through cuts."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.session.closer import lost_between
from bench.session.cutting_proxy import Cut, cutting_proxy
from bench.session.frame_ends import FrameEnds, rst_stream
from bench.session.told import TurnLog, told_of
from quizglass.session import Segment, SegmentState, TurnUpdate
from quizglass.values import AnswerDelta, Done, FinishReason
from quizglass_client import AsyncTurn, ClientError

HEADERS, DATA, SETTINGS = 1, 0, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, 0]) + stream.to_bytes(4, "big") + payload


def chunks(whole: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    return [whole[one:other] for one, other in pairwise(places)]


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8), st.lists(st.integers(0, 10_000), max_size=8))
def test_ends_of_frames_are_found_however_the_bytes_come(payloads: list[bytes], cuts: list[int]) -> None:
    frames = [frame(HEADERS, 2 * at + 1, payload) for at, payload in enumerate(payloads)]
    ends = {len(PREFACE) + sum(map(len, frames[:count])) for count in range(len(frames) + 1)}
    follower, passed = FrameEnds(FrameEnds.PREFACE), 0
    for chunk in chunks(PREFACE + b"".join(frames), cuts):
        found = follower.feed(chunk)
        within = [end for end in ends if passed < end <= passed + len(chunk)]
        assert found == (max(within) - passed if within else None)
        passed += len(chunk)
        assert follower.whole == (passed in ends)
    assert follower.newest == 2 * len(frames) - 1
    assert follower.count == len(frames)


async def test_a_stream_is_reset_between_frames_on_both_sides_and_the_connection_stays() -> None:
    """The server answers with a frame whose second half it holds back until the stream was reset."""
    said = frame(DATA, 1, b"first and second half")
    held, received = asyncio.Event(), bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(frame(SETTINGS, 0) + said[:15])
        await held.wait()
        writer.write(said[15:] + frame(DATA, 1, b"late"))
        received.extend(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with cutting_proxy(port) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.target.rpartition(":")[2]))
            sent = PREFACE + frame(SETTINGS, 0) + frame(HEADERS, 1, b"headers")
            writer.write(sent)
            assert await reader.readexactly(9 + 15) == frame(SETTINGS, 0) + said[:15]
            while proxy.up < len(sent):  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(0)
            assert proxy.cut(Cut.STREAM_RESET) == 1
            assert proxy.cuts == {Cut.STREAM_RESET: 1}
            held.set()
            rest = said[15:] + rst_stream(1) + frame(DATA, 1, b"late")
            read = await reader.readexactly(len(rest))
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
    # After its second half, or after all that came with that: between frames, whichever it was.
    assert read in (rest, said[15:] + frame(DATA, 1, b"late") + rst_stream(1))
    assert bytes(received) == sent + rst_stream(1)


async def test_a_connection_without_a_stream_has_none_to_be_reset() -> None:
    async with (
        await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server,
        cutting_proxy(server.sockets[0].getsockname()[1]) as proxy,
    ):
        _, writer = await asyncio.open_connection("127.0.0.1", int(proxy.target.rpartition(":")[2]))
        assert proxy.cut(Cut.STREAM_RESET) == 0
        writer.close()


def update(seq: int, event: Any, *segments: Segment) -> TurnUpdate:
    return TurnUpdate("ask", "turn", seq, 0.0, event, segments)


DONE = Done("two words", FinishReason.COMPLETE)
DRAFT = Segment(0, SegmentState.DRAFT, "two")
CONFIRMED = Segment(0, SegmentState.CONFIRMED, "two words")


def turn_of(*said: object) -> AsyncTurn:
    async def follow() -> AsyncIterator[object]:
        for each in said:
            if isinstance(each, Exception):
                raise each
            yield each

    return cast(AsyncTurn, follow())


@pytest.mark.parametrize(
    ("said", "whole", "same"),
    [
        ((update(1, AnswerDelta("two"), DRAFT), update(2, DONE, CONFIRMED)), True, True),
        ((update(1, AnswerDelta("two"), DRAFT), update(3, DONE, CONFIRMED)), False, True),
        ((update(1, AnswerDelta("two"), DRAFT), update(1, None), update(2, DONE, CONFIRMED)), False, True),
        ((update(1, DONE, Segment(0, SegmentState.CONFIRMED, "other words")),), True, False),
        ((update(1, AnswerDelta("two"), DRAFT),), False, False),
        ((update(1, AnswerDelta("two"), DRAFT), ClientError("lost")), False, False),
    ],
)
async def test_a_turn_is_whole_if_every_event_came_once_and_the_same_if_what_was_confirmed_is_its_answer(
    said: tuple[object, ...], whole: bool, same: bool
) -> None:
    told = await told_of(turn_of(*said))
    assert (told.turn_id, told.whole, told.same) == ("turn", whole, same)


def line(message: str, **fields: str) -> str:
    return json.dumps({"message": message, **fields}) + "\n"


async def test_turns_are_counted_from_the_log_as_often_as_they_were_inferred(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(line("turn finished", turn="before"))
    log = TurnLog(path)
    with path.open("a") as file:
        file.write("a traceback\n" + line("turn finished", turn="one") + line("turn cancelled", turn="two"))
        file.write(line("turn finished", turn="two") + line("bundle is whole") + '{"message": "turn fin')
    assert await log.inferred({"one", "two"}) == {"one": 1, "two": 2}


def test_what_thumbnails_lose_is_judged_question_by_question() -> None:
    assert lost_between([True, False, True], [True, False, True]) == (0.0, 0.0)
    low, high = lost_between([False] * 4 + [True] * 96, [True] * 100)
    assert 0 <= low < 4 < high < 10
