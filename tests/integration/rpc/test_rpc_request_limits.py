"""Requests whose few bytes would become much: refused by their bytes, by name, and others go on."""

import asyncio
import gzip

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from bench.hostile.http2 import http2
from quizglass.session import Notice
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc, session_pb2
from tests.support.rpc_fakes import png, serving
from tests.support.sessions.session_links import link, usable

ASK = "/quizglass.v1.AssistantService/Ask"
ADD = "/quizglass.v1.KnowledgeService/AddEntries"
SEARCH = "/quizglass.v1.KnowledgeService/SearchEntries"
SEND = "/quizglass.v1.SessionService/Send"
QUESTION = assistant_pb2.AskRequest(question="What is this?")
NO_MESSAGE = b"\xff" * 20
"""What no message goes on with: whoever parses a request before it is counted finds that it is none."""


def piece(number, content):
    """A field of bytes, a text or a message, of up to 16 KiB."""
    size = len(content)
    length = bytes((size,)) if size < 128 else bytes((size & 127 | 128, size >> 7))
    return bytes((number << 3 | 2,)) + length + content


async def refusal(target, method, request):
    """What a call is refused for: its field, and the text."""
    async with grpc.aio.insecure_channel(target) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            _ = [each async for each in channel.unary_stream(method)(request, timeout=60)]
    info = error_details_pb2.ErrorInfo()
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert any(packed.Unpack(info) for packed in rpc_status.from_call(caught.value).details)
    return info.metadata["field"], caught.value.details()


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        (ASK, b"\x0a\x01?" + b"\x1a\x00" * 100, "history"),
        (ASK, b"\x0a\x01?" + b"\x12\x00" * 100, "frames"),
        (SEARCH, b"\x0a\x01?" + piece(4, b"\x12\x00" * 1000), "filter.kinds"),
        (SEARCH, b"\x0a\x01?" + piece(4, b"\x0a\x00" * 1000), "filter.attributes"),
        (SEARCH, b"\x0a\x01?" + b"\x2a\x00" * 100, "more_pictures"),
        (SEND, b"\x1a\x00" * 1000, "messages"),
        (SEND, piece(3, piece(6, piece(3, b"\x1a\x00" * 100))), "messages.ask.request.history"),
        (ASK, b"\x0a\x01?" + b"\xfa\x07\x00" * 5000, "request"),
    ],
)
async def test_what_a_request_has_too_many_of_is_known_before_it_is_parsed(tmp_path, method, request_, field):
    async with serving(tmp_path) as stage:
        found, told = await refusal(stage.target, method, request_ + NO_MESSAGE)
        assert (found, "allowed" in told) == (field, True)


async def test_a_few_too_many_are_counted(tmp_path):
    request = assistant_pb2.AskRequest(question="?", history=[assistant_pb2.Exchange(question="?")] * 9)
    async with serving(tmp_path) as stage:
        assert await refusal(stage.target, ASK, request.SerializeToString()) == (
            "history",
            "history: 9 is more than the 8 allowed",
        )


async def test_the_dialogue_has_a_size_of_its_own_beside_the_picture(tmp_path):
    frame, long = {"encoded": png()}, "a" * 1_000_000
    request = assistant_pb2.AskRequest(question="?", frames=[frame], history=[{"question": long, "answer": long}])
    async with serving(tmp_path) as stage:
        field, told = await refusal(stage.target, ASK, request.SerializeToString())
        assert (field, "beside its pictures" in told) == ("request", True)


async def test_an_entry_of_too_many_attributes_is_refused_at_its_place_and_stops_no_other(tmp_path):
    entries = [{"id": name, "title": name} for name in "abc"]
    entries[1]["attributes"] = {str(number): "" for number in range(1000)}
    async with serving(tmp_path) as stage, grpc.aio.insecure_channel(stage.target) as channel:
        adding = knowledge_pb2_grpc.KnowledgeServiceStub(channel).AddEntries
        response = await adding(iter([knowledge_pb2.AddEntriesRequest(entry=entry) for entry in entries]))
    assert [(each.index, each.field) for each in response.refused] == [(1, "attributes")]
    assert (response.added, set(stage.knowledge.entries)) == (2, {"a", "c"})


async def test_a_session_says_which_part_of_a_question_was_too_much_and_goes_on(stage):
    ask = piece(1, b"a") + piece(3, b"\x0a\x01?" + b"\x1a\x00" * 2000)
    async with link(stage.target) as said:
        await said.call.write(session_pb2.ClientMessage(open={"holder": b"h" * 16}))
        await said.call.write(session_pb2.ClientMessage.FromString(piece(6, ask)))
        notice = await said.until(Notice)
        assert (notice.reason, notice.field) == ("INVALID_FIELD", "ask.request.history")
        await usable(said)


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_compressed_requests_are_taken(tmp_path, compression):
    async with serving(tmp_path) as stage, grpc.aio.insecure_channel(stage.target) as channel:
        asking = assistant_pb2_grpc.AssistantServiceStub(channel).Ask(QUESTION, compression=compression)
        assert [event async for event in asking][-1].done.answer == "45 crowns"
        adding = knowledge_pb2_grpc.KnowledgeServiceStub(channel).AddEntries
        entry = knowledge_pb2.Entry(id="a", title="A", text="A sentence of ordinary words. " * 3000, pictures=[png()])
        response = await adding(iter([knowledge_pb2.AddEntriesRequest(entry=entry)]), compression=compression)
        assert (response.added, stage.knowledge.entries["a"].text) == (1, entry.text)


async def test_what_is_compressed_to_a_thousandth_is_not_unpacked(tmp_path):
    packed = gzip.compress(QUESTION.SerializeToString() + b"\x1a\x00" * 4_000_000)
    async with serving(tmp_path) as stage, http2(stage.target) as client, asyncio.timeout(60):
        stream = await client.call(ASK, headers=[("grpc-encoding", "gzip")])
        await client.part(stream, b"\x01" + len(packed).to_bytes(4, "big") + packed, end=True)
        assert b"compressed bytes hold more than the" in await client.ended(stream)
