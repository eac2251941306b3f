"""KnowledgeService over a real socket, with a dictionary behind it."""

import asyncio
from contextlib import AsyncExitStack

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from quizglass import values
from quizglass.v1 import knowledge_pb2, knowledge_pb2_grpc
from quizglass_server.errors import RoleMissing
from quizglass_server.scheduling.deadline import deadline
from quizglass_server.scheduling.memory import WorkMemory
from tests.support.gate import Gate
from tests.support.rpc_fakes import png


@pytest.fixture
async def knowledge(stage):
    async with grpc.aio.insecure_channel(stage.target) as channel:
        yield knowledge_pb2_grpc.KnowledgeServiceStub(channel)


def adding(id, title="Velmora", **fields):
    return knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id=id, title=title, **fields))


async def failure(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def field_of(error):
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    bad = error_details_pb2.BadRequest()
    assert any(packed.Unpack(bad) for packed in rpc_status.from_call(error).details)
    return bad.field_violations[0].field


async def test_good_entries_are_added_and_bad_ones_named(stage, knowledge):
    response = await knowledge.AddEntries(iter([adding("a", pictures=[b"png"]), adding("b", title=""), adding("c")]))
    assert response.added == 2
    refused = response.refused[0]
    assert (refused.id, refused.index, refused.field, refused.message) == ("b", 1, "title", "is missing")
    assert stage.knowledge.pictures["a"] == (b"png",)


async def test_an_empty_stream_and_an_empty_message(knowledge):
    assert (await knowledge.AddEntries(iter([]))).added == 0
    response = await knowledge.AddEntries(iter([knowledge_pb2.AddEntriesRequest()]))
    assert (response.added, response.refused[0].index) == (0, 0)


async def test_an_entry_can_be_read_and_deleted(knowledge):
    await knowledge.AddEntries(iter([adding("a", attributes={"year": "1974"}, pictures=[b"png"])]))
    entry = (await knowledge.GetEntry(knowledge_pb2.GetEntryRequest(id="a"))).entry
    assert dict(entry.attributes) == {"year": "1974"}
    assert len(entry.picture_sha256[0]) == 32
    assert not entry.pictures
    await knowledge.DeleteEntry(knowledge_pb2.DeleteEntryRequest(id="a"))
    for call in (
        knowledge.GetEntry(knowledge_pb2.GetEntryRequest(id="a")),
        knowledge.DeleteEntry(knowledge_pb2.DeleteEntryRequest(id="a")),
    ):
        assert (await failure(call)).code() is grpc.StatusCode.NOT_FOUND


async def test_pages_follow_each_other(stage, knowledge):
    await knowledge.AddEntries(iter([adding(f"e{i}") for i in range(5)]))
    seen, token = [], ""
    for expected in (2, 2, 1):
        page = await knowledge.ListEntries(knowledge_pb2.ListEntriesRequest(page_size=2, page_token=token))
        assert (len(page.entries), page.total) == (expected, 5)
        seen += [entry.id for entry in page.entries]
        token = page.next_page_token
    assert seen == ["e0", "e1", "e2", "e3", "e4"]
    assert token == ""


async def test_an_exact_last_page_has_no_next(knowledge):
    await knowledge.AddEntries(iter([adding(f"e{i}") for i in range(2)]))
    assert not (await knowledge.ListEntries(knowledge_pb2.ListEntriesRequest(page_size=2))).next_page_token


async def test_a_page_of_long_entries_fits_the_message_of_a_usual_client(stage, knowledge):
    for i in range(12):
        stage.knowledge.entries[f"e{i:02}"] = values.Entry(f"e{i:02}", "long", text="ä" * 200_000)
    seen, token, pages = [], "", 0
    while True:
        page = await knowledge.ListEntries(knowledge_pb2.ListEntriesRequest(page_token=token))
        seen += [entry.id for entry in page.entries]
        token, pages = page.next_page_token, pages + 1
        if not token:
            break
    assert seen == sorted(stage.knowledge.entries)
    assert pages > 1


async def test_search_by_text_by_picture_and_by_both(stage, knowledge):
    for fields in ({"text": " cost? "}, {"picture": png()}, {"text": "cost?", "picture": png(), "limit": 9}):
        response = await knowledge.SearchEntries(knowledge_pb2.SearchEntriesRequest(**fields))
        assert response.results[0].entry_id == "velmora"
    (by_text, by_picture, by_both) = stage.assistant.searches
    assert (by_text[0], by_text[1], by_text[2]) == ("cost?", None, 5)
    assert by_picture[1] is not None
    assert by_picture[1].width == 64
    assert (by_both[0], by_both[1], by_both[2]) == ("cost?", by_picture[1], 9)


BAD = {
    "get without an id": ("GetEntry", knowledge_pb2.GetEntryRequest(), "id"),
    "get with a long id": ("GetEntry", knowledge_pb2.GetEntryRequest(id="x" * 201), "id"),
    "delete without an id": ("DeleteEntry", knowledge_pb2.DeleteEntryRequest(), "id"),
    "a negative page": ("ListEntries", knowledge_pb2.ListEntriesRequest(page_size=-1), "page_size"),
    "a huge page": ("ListEntries", knowledge_pb2.ListEntriesRequest(page_size=1001), "page_size"),
    "a long token": ("ListEntries", knowledge_pb2.ListEntriesRequest(page_token="x" * 201), "page_token"),
    "a search for nothing": ("SearchEntries", knowledge_pb2.SearchEntriesRequest(), "text"),
    "a search for blanks": ("SearchEntries", knowledge_pb2.SearchEntriesRequest(text=" \x00"), "text"),
    "a long search": ("SearchEntries", knowledge_pb2.SearchEntriesRequest(text="x" * 2001), "text"),
    "a search for no picture": ("SearchEntries", knowledge_pb2.SearchEntriesRequest(picture=b"no"), "picture"),
    "too many results": ("SearchEntries", knowledge_pb2.SearchEntriesRequest(text="x", limit=101), "limit"),
    "negative results": ("SearchEntries", knowledge_pb2.SearchEntriesRequest(text="x", limit=-1), "limit"),
}


@pytest.mark.parametrize(("method", "request_", "field"), BAD.values(), ids=BAD)
async def test_a_bad_field_is_named(knowledge, method, request_, field):
    assert field_of(await failure(getattr(knowledge, method)(request_))) == field


async def test_too_many_searches_are_refused_before_their_pictures_are_decoded(stage, knowledge):
    async with AsyncExitStack() as permits:
        for _ in range(4):
            await permits.enter_async_context(stage.assistant.admission.admit())
        error = await failure(knowledge.SearchEntries(knowledge_pb2.SearchEntriesRequest(picture=b"no picture")))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await knowledge.SearchEntries(knowledge_pb2.SearchEntriesRequest(text="a"))).results


async def test_searching_without_the_encoder_names_the_role(stage, knowledge):
    stage.assistant.failure = RoleMissing("text_encoder", "searching by text")
    error = await failure(knowledge.SearchEntries(knowledge_pb2.SearchEntriesRequest(text="x")))
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "text_encoder" in error.details()


async def test_cancelling_an_import_stops_it(stage, knowledge):
    gate, closed = Gate(), asyncio.Event()

    async def wait():
        try:
            await gate()
        finally:
            closed.set()

    stage.knowledge.before = wait
    call = knowledge.AddEntries(iter([adding("a")]))
    await gate.reached.wait()
    call.cancel()
    async with asyncio.timeout(60):
        await closed.wait()
    assert stage.knowledge.entries == {}
    assert (await knowledge.ListEntries(knowledge_pb2.ListEntriesRequest())).total == 0


async def test_a_search_waits_for_memory_no_longer_than_its_caller(knowledge, monkeypatch):
    due, reserve = [], WorkMemory.reserve

    async def noted(self, size, **about):
        due.append(deadline())
        return await reserve(self, size, **about)

    monkeypatch.setattr(WorkMemory, "reserve", noted)
    await knowledge.SearchEntries(knowledge_pb2.SearchEntriesRequest(text="a car"), timeout=600)
    assert due
    assert None not in due
