"""Clients that send what is no request, do not finish what they send, or do not read what they asked for."""

import asyncio
import logging
from contextlib import AsyncExitStack

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from bench.hostile.http2 import http2
from quizglass.v1 import (
    assistant_pb2,
    assistant_pb2_grpc,
    knowledge_pb2,
    knowledge_pb2_grpc,
    memory_pb2,
    types_pb2,
)
from quizglass_server.rpc import server
from quizglass_server.rpc.transport import calls
from tests.support.rpc_fakes import EVENTS, HeldScript, png, serving

ASK = "/quizglass.v1.AssistantService/Ask"
ADD = "/quizglass.v1.KnowledgeService/AddEntries"
LIST = "/quizglass.v1.KnowledgeService/ListEntries"
PICTURE = "/quizglass.v1.KnowledgeService/GetPicture"
QUESTION = assistant_pb2.AskRequest(question="What is this?")
METHODS = [
    f"/{service.full_name}/{method.name}"
    for module in (assistant_pb2, knowledge_pb2, memory_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if not method.client_streaming
]
UNKNOWN_FIELD = b"\xfa\x07"  # number 127, bytes


def unknown(size):
    """A field that no message has, of `size` bytes and a few."""
    length, encoded = size, b""
    while length > 127:
        encoded, length = encoded + bytes((length & 127 | 128,)), length >> 7
    return UNKNOWN_FIELD + encoded + bytes((length,)) + bytes(size)


async def answered(target):
    async with grpc.aio.insecure_channel(target) as channel, asyncio.timeout(60):
        events = [event async for event in assistant_pb2_grpc.AssistantServiceStub(channel).Ask(QUESTION)]
        return events[-1].done.answer == "45 crowns"


async def refusal(target, method, request):
    """The status of a call whose request is these bytes, and its ErrorInfo."""
    async with grpc.aio.insecure_channel(target) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            _ = [each async for each in channel.unary_stream(method)(request, timeout=60)]
    info = error_details_pb2.ErrorInfo()
    assert any(packed.Unpack(info) for packed in rpc_status.from_call(caught.value).details)
    return caught.value, info


def adding(id, title="Velmora"):
    return knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id=id, title=title)).SerializeToString()


async def test_turns_with_unread_events_give_their_places_up(tmp_path):
    ended = asyncio.Semaphore(0)

    async def says(turn, policy, budget):
        for event in EVENTS:
            yield event
        ended.release()

    async with serving(tmp_path) as stage, http2(stage.target, window=0) as unread, asyncio.timeout(60):
        stage.assistant.script = says
        for _ in range(24):
            await unread.message(await unread.call(ASK), QUESTION.SerializeToString())
            await ended.acquire()
        assert await answered(stage.target)
        assert not unread.closed, "the places are free though the streams still stand"


async def test_pages_that_a_connection_does_not_read_are_not_made(tmp_path, monkeypatch):
    made = []

    async def page(after, limit):
        made.append(limit)
        return []

    def limits(*sizes):
        return [size + 1 for size in sizes]  # one more, to know whether there are more

    async with serving(tmp_path) as stage, http2(stage.target, window=0) as unread, asyncio.timeout(60):
        monkeypatch.setattr(stage.knowledge, "list", page)
        streams = {await unread.call(LIST): size for size in range(1, 9)}
        for stream, size in streams.items():
            await unread.message(stream, knowledge_pb2.ListEntriesRequest(page_size=size).SerializeToString())
        first = await unread.first_begun(streams)
        assert made == limits(streams[first])

        async with grpc.aio.insecure_channel(stage.target) as channel:
            listing = knowledge_pb2_grpc.KnowledgeServiceStub(channel).ListEntries
            await asyncio.gather(*(listing(knowledge_pb2.ListEntriesRequest(page_size=100)) for _ in range(4)))
        assert made == limits(streams.pop(first), 100, 100, 100, 100), "another connection does not wait for this one"

        left = first
        while streams:
            await unread.reset(left)
            left = await unread.first_begun(streams)
            assert made[-1:] == limits(streams.pop(left)), "a page is made once the one before was given up"
        assert len(made) == 8 + 4


async def test_leaving_a_stream_that_was_never_read_stops_its_turn(tmp_path):
    held = HeldScript()
    async with serving(tmp_path) as stage:
        stage.assistant.script = held
        async with http2(stage.target, window=0) as unread:
            await unread.message(await unread.call(ASK), QUESTION.SerializeToString())
            async with asyncio.timeout(60):
                await held.gate.reached.wait()
        async with asyncio.timeout(60):
            await held.closed.wait()
        assert stage.assistant.admission.running == 0


async def test_three_thousand_calls_that_are_taken_back_at_once_leave_nothing_behind(tmp_path):
    running, idle = set(), asyncio.Event()
    idle.set()

    async def waits(turn, policy, budget):
        running.add(id(turn))
        idle.clear()
        try:
            yield EVENTS[0]
            await asyncio.Event().wait()
        finally:
            running.discard(id(turn))
            if not running:
                idle.set()

    async def take_back(target, count):
        """So many calls; how many it came to before the server had enough of the connection."""
        async with http2(target) as connection:
            for number in range(count):
                if connection.closed:
                    return number
                try:
                    stream = await connection.call(ASK)
                    await connection.message(stream, QUESTION.SerializeToString())
                    await connection.reset(stream)
                except ConnectionError:
                    return number
            return count

    async with serving(tmp_path) as stage, asyncio.timeout(120):
        tasks = len(asyncio.all_tasks())
        stage.assistant.script = waits
        left = 3000
        for _ in range(600):
            left -= await take_back(stage.target, min(left, 500))
            if not left:
                break
        assert left == 0
        await idle.wait()
        stage.assistant.script = stage.assistant.usual
        assert await answered(stage.target)
        assert len(asyncio.all_tasks()) <= tasks + 8


@pytest.mark.parametrize("method", [ASK, PICTURE, "/grpc.health.v1.Health/Watch"])
async def test_what_is_not_read_in_time_is_ended_with_its_connection(tmp_path, monkeypatch, method):
    monkeypatch.setattr(server, "_UNREAD_S", 0.2)
    async with serving(tmp_path) as stage, http2(stage.target, window=0) as unread:
        request = QUESTION.SerializeToString() if method == ASK else b""
        if method == PICTURE:
            await add(stage.target, pictures=[png()])
            [entry] = stage.knowledge.entries.values()
            request = knowledge_pb2.GetPictureRequest(sha256=entry.picture_sha256[0]).SerializeToString()
        await unread.message(await unread.call(method), request)
        async with asyncio.timeout(60):
            await unread.until_closed()
        assert await answered(stage.target)


async def add(target, **fields):
    async with grpc.aio.insecure_channel(target) as channel:
        entry = knowledge_pb2.Entry(id="a", title="A", **fields)
        return await knowledge_pb2_grpc.KnowledgeServiceStub(channel).AddEntries(
            iter([knowledge_pb2.AddEntriesRequest(entry=entry)])
        )


async def test_the_oldest_responses_are_given_up_when_too_much_waits_to_be_read(tmp_path):
    async with serving(tmp_path, message_bytes=300_000) as stage:
        await add(stage.target, pictures=[bytes(200_000)])
        [entry] = stage.knowledge.entries.values()
        request = knowledge_pb2.GetPictureRequest(sha256=entry.picture_sha256[0]).SerializeToString()
        async with http2(stage.target, window=0) as first, http2(stage.target, window=0) as second:
            for unread in (first, second):
                stream = await unread.call(PICTURE)
                await unread.message(stream, request)
                async with asyncio.timeout(60):  # its headers are not held back by any window
                    await unread.begun(stream)
            async with asyncio.timeout(60):
                await first.until_closed()
            assert not second.closed


@pytest.mark.parametrize("method", METHODS)
async def test_bytes_that_are_no_message_are_a_wrong_request(tmp_path, caplog, monkeypatch, method):
    monkeypatch.setattr(calls, "logger", calls.RateLimitedLogger(logging.getLogger("test")))
    async with serving(tmp_path) as stage:
        for _ in range(3):
            error, info = await refusal(stage.target, method, b"\xff\xff\xff\xff")
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert (info.reason, info.metadata["field"]) == ("INVALID_FIELD", "request")
    assert [record.getMessage() for record in caplog.records] == ["a request is no message"]
    assert not caplog.records[0].exc_info


async def test_a_text_that_is_not_utf_8_is_a_wrong_request(tmp_path):
    async with serving(tmp_path) as stage:
        error, info = await refusal(stage.target, ASK, b"\x0a\x02\xc3\x28")
        assert (error.code(), info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
        assert "UTF-8" in error.details()


async def test_a_message_that_is_no_entry_is_refused_at_its_place_and_stops_no_other(tmp_path):
    async with serving(tmp_path) as stage, grpc.aio.insecure_channel(stage.target) as channel:
        messages = [adding("a"), b"\xff\xff", adding("b", ""), adding("c"), b"\x0a\xff", adding("d", "")]
        raw = await channel.stream_unary(ADD)(iter(messages))
        response = knowledge_pb2.AddEntriesResponse.FromString(raw)
        assert response.added == 2
        assert [(refused.index, refused.field) for refused in response.refused] == [
            (1, "entry"),
            (2, "title"),
            (4, "entry"),
            (5, "title"),
        ]
        assert set(stage.knowledge.entries) == {"a", "c"}


@pytest.mark.parametrize("method", [*METHODS, "/grpc.health.v1.Health/Check"])
async def test_a_call_that_ends_without_a_message_is_told_so(tmp_path, method):
    async with serving(tmp_path) as stage, http2(stage.target) as client, asyncio.timeout(60):
        end = await client.ended(await client.call(method, end=True))
        assert b"takes one message, and none came" in end


async def test_a_question_is_refused_by_its_size_and_an_entry_may_be_larger(tmp_path):
    async with serving(tmp_path, max_frame_bytes=1000) as stage:
        error, info = await refusal(stage.target, ASK, QUESTION.SerializeToString() + unknown(1_000_000))
        assert (error.code(), info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
        assert "that Ask takes" in error.details()
        assert (await add(stage.target, pictures=[bytes(1_000_000)])).added == 1


async def test_the_largest_question_of_the_settings_fits(tmp_path):
    picture, past = png(), assistant_pb2.Exchange(question="𝄞" * 2000, answer="𝄞" * 2000)
    frames = [types_pb2.Frame(encoded=picture)]
    request = assistant_pb2.AskRequest(question="𝄞" * 2000, history=[past] * 8, frames=frames)
    async with serving(tmp_path, max_frame_bytes=len(picture)) as stage, grpc.aio.insecure_channel(stage.target) as to:
        events = [event async for event in assistant_pb2_grpc.AssistantServiceStub(to).Ask(request)]
        assert events[-1].done.answer == "45 crowns"


async def test_unknown_fields_are_dropped(tmp_path, monkeypatch):
    sizes = []

    async def picture(store, frame, field, peer):
        sizes.append(frame.ByteSize())
        raise calls.InvalidInput(field, "enough")

    monkeypatch.setattr("quizglass_server.rpc.frames.FrameStore.picture", picture)
    frame = types_pb2.Frame(sha256=bytes(32))
    stuffed = types_pb2.Frame.FromString(frame.SerializeToString() + unknown(100_000))
    async with serving(tmp_path) as stage:
        request = assistant_pb2.AskRequest(question="What?", frames=[stuffed]).SerializeToString()
        assert len(request) > 100_000
        await refusal(stage.target, ASK, request)
    assert sizes == [frame.ByteSize()]


async def test_a_message_that_is_not_finished_has_a_time(tmp_path):
    async with serving(tmp_path, message_s=2) as stage, AsyncExitStack() as stack, asyncio.timeout(60):
        clients = [await stack.enter_async_context(http2(stage.target)) for _ in range(5)]
        streams = [await client.call(ASK) for client in clients]
        for client, stream in zip(clients, streams, strict=True):
            await client.begin_message(stream, 3 << 20, 1 << 20)
        for client, stream in zip(clients, streams, strict=True):
            assert b"no whole message came within 2 s" in await client.ended(stream)
        assert await answered(stage.target)


async def test_unfinished_messages_are_cut_off_where_there_is_most_of_them(tmp_path):
    async with serving(tmp_path, message_bytes=2 << 20) as stage, http2(stage.target) as small, asyncio.timeout(60):
        waiting = await small.call(ASK)
        await small.begin_message(waiting, 1000, 500)
        async with http2(stage.target) as large:
            stream = await large.call(ASK)
            await large.begin_message(stream, 8 << 20, 4 << 20)
            assert b"unfinished messages" in await large.ended(stream)
        assert await answered(stage.target)
        assert small.of(waiting, 1) == [], "who sends little is left alone"


async def test_large_messages_take_turns_and_all_become_whole(tmp_path):
    async with serving(tmp_path, message_bytes=64 << 20) as stage, AsyncExitStack() as stack, asyncio.timeout(60):
        clients = [await stack.enter_async_context(http2(stage.target)) for _ in range(8)]

        async def ask(client):
            stream = await client.call(ASK)
            await client.message(stream, QUESTION.SerializeToString() + unknown(4 << 20))
            return await client.ended(stream)

        ended = await asyncio.gather(*map(ask, clients))
        assert not any(b"unfinished" in trailers for trailers in ended)


async def test_what_became_whole_is_not_unfinished(tmp_path):
    async with serving(tmp_path, message_bytes=2 << 20) as stage, http2(stage.target) as client, asyncio.timeout(60):
        for _ in range(6):
            stream = await client.call(ASK)
            await client.message(stream, QUESTION.SerializeToString() + unknown(1 << 20))
            await client.ended(stream)
        waiting = await client.call(ASK)
        await client.begin_message(waiting, 1000, 500)
        for _ in range(6):
            stream = await client.call(ASK)
            await client.message(stream, QUESTION.SerializeToString() + unknown(1 << 20))
            assert b"unfinished messages" not in await client.ended(stream)
        assert client.of(waiting, 1) == []


async def test_an_import_that_pauses_too_long_gives_its_place_up_and_what_it_sent_is_kept(tmp_path):
    async with serving(tmp_path, message_s=0.3, max_turns=2) as stage, AsyncExitStack() as stack:
        for number in range(2):
            idle = await stack.enter_async_context(http2(stage.target))
            await idle.message(await idle.call(ADD), adding(f"idle-{number}"), end=False)
        async with grpc.aio.insecure_channel(stage.target) as channel:

            async def pauses():
                yield adding("kept")
                await asyncio.Event().wait()

            async with asyncio.timeout(60):
                while "kept" not in stage.knowledge.entries:  # refused as long as the others have the places
                    with pytest.raises(grpc.aio.AioRpcError) as caught:
                        await channel.stream_unary(ADD)(pauses())
        error = caught.value
        info = error_details_pb2.ErrorInfo()
        assert any(packed.Unpack(info) for packed in rpc_status.from_call(error).details)
        assert (error.code(), info.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "UNFINISHED")
        assert info.metadata["added"] == "1"


async def test_a_question_beyond_the_places_is_refused_before_its_picture_has_come(tmp_path):
    async with serving(tmp_path) as stage, AsyncExitStack() as permits, http2(stage.target) as client:
        for _ in range(4):
            await permits.enter_async_context(stage.assistant.admission.admit())
        async with asyncio.timeout(60):
            end = await client.ended(await client.call(ASK))
        assert b"try again later" in end


async def test_connections_beyond_the_limit_are_closed_at_once(tmp_path):
    async with serving(tmp_path, max_connections=2) as stage, asyncio.timeout(60):
        async with http2(stage.target) as first, http2(stage.target) as second:
            for client in (first, second):
                await client.ended(await client.call(ASK, end=True))
            async with http2(stage.target) as third:
                await third.until_closed()
            assert not first.closed
            assert not second.closed
        while True:  # once they are gone there is room
            async with http2(stage.target) as later:
                try:
                    stream = await later.call(ASK, end=True)
                except ConnectionError:
                    continue
                if await later.ended(stream) is not None:
                    break
