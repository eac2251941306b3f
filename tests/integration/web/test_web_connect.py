"""The services over Connect and gRPC-Web: a real client, and the bytes of browsers."""

import asyncio
import base64
import gzip
import json
from contextlib import aclosing
from urllib.parse import unquote_to_bytes

import pytest
from connectrpc.client import ConnectClient
from connectrpc.code import Code
from connectrpc.compat import google_protobuf_binary_codec, google_protobuf_json_codec
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2

from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, session_pb2, types_pb2
from quizglass_server import errors
from quizglass_server.rpc.connect import connect_methods
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, HeldScript, png
from tests.support.web import ASK, CAPABILITIES, JSON, Wire, ask, enveloped, envelopes

ADD = "/quizglass.v1.KnowledgeService/AddEntries"
SEARCH = "/quizglass.v1.KnowledgeService/SearchEntries"
KINDS = {
    (False, False): StreamType.UNARY,
    (False, True): StreamType.SERVER_STREAM,
    (True, False): StreamType.CLIENT_STREAM,
}


@pytest.fixture(params=["connect", "connect as JSON", "gRPC-Web"])
async def client(served, request):
    codec = google_protobuf_json_codec() if "JSON" in request.param else google_protobuf_binary_codec()
    protocol = ProtocolType.GRPC_WEB if "gRPC" in request.param else ProtocolType.CONNECT
    return ConnectClient(served.url, codec=codec, protocol=protocol)


def method(module, service, name):
    described = module.DESCRIPTOR.services_by_name[service].methods_by_name[name]
    return MethodInfo(
        name=name,
        service_name=described.containing_service.full_name,
        input=GetMessageClass(described.input_type),
        output=GetMessageClass(described.output_type),
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=KINDS[described.client_streaming, described.server_streaming],
    )


ASKING = method(assistant_pb2, "AssistantService", "Ask")
GETTING = method(knowledge_pb2, "KnowledgeService", "GetEntry")
ADDING = method(knowledge_pb2, "KnowledgeService", "AddEntries")


def question(**fields):
    return assistant_pb2.AskRequest(question="How much does this cost?", **fields)


async def asked(client, request, **options):
    return [event async for event in client.execute_server_stream(request=request, method=ASKING, **options)]


def details_of(error):
    """The details of an error by the name of their message."""
    told = {}
    for detail in error.details:
        name = detail.type_name.rpartition(".")[2]
        told[name] = getattr(error_details_pb2, name).FromString(detail.message_bytes)
    return told


async def test_a_turn_is_told_as_over_grpc(client, served):
    events = await asked(client, question(frames=[types_pb2.Frame(encoded=png())], explain=True))
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds == ["accepted", "step", "plan", "query", "evidence", "answer_delta", "verdict", "done"]
    assert [event.seq for event in events] == list(range(1, 9))
    assert events[-1].done.answer == "45 crowns"
    assert served.stage.assistant.turns[0].picture.width == 64


async def test_events_come_as_they_happen(client, served):
    gate = Gate()

    async def waits(turn, policy, budget):
        yield EVENTS[0]
        await gate()
        for event in EVENTS[1:]:
            yield event

    served.stage.assistant.script = waits
    stream = client.execute_server_stream(request=question(), method=ASKING)
    async with asyncio.timeout(60):
        assert [(await anext(stream)).WhichOneof("event") for _ in range(2)] == ["accepted", "plan"]
        await gate.reached.wait()
        gate.open.set()
        assert [event.WhichOneof("event") async for event in stream][-1] == "done"


async def test_calls_of_every_kind_work(client, served):
    async def entries():
        for number in range(3):
            entry = knowledge_pb2.Entry(id=f"e{number}", title=f"Entry {number}", pictures=[png()])
            yield knowledge_pb2.AddEntriesRequest(entry=entry)

    added = await client.execute_client_stream(request=entries(), method=ADDING)
    assert added.added == 3
    entry = await client.execute_unary(request=knowledge_pb2.GetEntryRequest(id="e1"), method=GETTING)
    assert entry.entry.title == "Entry 1"
    capabilities = method(assistant_pb2, "AssistantService", "GetCapabilities")
    told = await client.execute_unary(request=assistant_pb2.GetCapabilitiesRequest(), method=capabilities)
    assert told.bundle == "starter 0.1.0"


async def test_errors_have_the_status_and_the_details_that_they_have_over_grpc(client, served):
    with pytest.raises(ConnectError) as caught:
        await client.execute_unary(request=knowledge_pb2.GetEntryRequest(id="none"), method=GETTING)
    assert caught.value.code is Code.NOT_FOUND
    assert details_of(caught.value)["ErrorInfo"].reason == "NOT_FOUND"
    with pytest.raises(ConnectError, match="frames") as caught:
        await asked(client, question(frames=[types_pb2.Frame(encoded=b"no picture")]))
    assert caught.value.code is Code.INVALID_ARGUMENT
    assert details_of(caught.value)["ErrorInfo"].reason == "INVALID_PICTURE"
    assert details_of(caught.value)["BadRequest"].field_violations[0].field == "frames[0].encoded"
    memory = method(memory_pb2, "MemoryService", "GetMemoryStats")
    with pytest.raises(ConnectError) as caught:
        await client.execute_unary(request=memory_pb2.GetMemoryStatsRequest(), method=memory)
    assert caught.value.code is Code.FAILED_PRECONDITION


async def test_an_unexpected_failure_keeps_its_text_to_itself(client, served):
    async def fails(turn, policy, budget):
        yield EVENTS[0]
        raise ValueError("a secret")

    served.stage.assistant.script = fails
    with pytest.raises(ConnectError, match="incident") as caught:
        await asked(client, question())
    assert caught.value.code is Code.INTERNAL
    assert "secret" not in str(caught.value)


async def test_no_room_says_when_to_try_again(client, served):
    async def busy(turn, policy, budget):
        raise errors.Overloaded("no room", 2.5)
        yield

    served.stage.assistant.script = busy
    with pytest.raises(ConnectError) as caught:
        await asked(client, question())
    assert caught.value.code is Code.RESOURCE_EXHAUSTED
    assert details_of(caught.value)["RetryInfo"].retry_delay.ToMilliseconds() == 2500


async def test_the_clients_time_bounds_the_turns_budget(client, served):
    for timeout_ms in (3_000_000, 9_000):
        await asked(client, question(), timeout_ms=timeout_ms)
    (_, default), (_, bounded) = served.stage.assistant.asked
    assert (default.total_s, 5 < bounded.total_s < 9) == (10.0, True)


async def test_a_client_that_leaves_ends_its_turn(client, served):
    held = HeldScript()
    served.stage.assistant.script = held

    async def leave():
        async for _ in client.execute_server_stream(request=question(), method=ASKING):
            pass

    leaving = asyncio.create_task(leave())
    async with asyncio.timeout(60):
        await held.gate.reached.wait()
        leaving.cancel()
        await held.closed.wait()
    assert await served.stage.rpc.guard.drain(60)


async def test_a_session_is_attached_to_and_sent_to(client, served):
    attaching, sending = (method(session_pb2, "SessionService", name) for name in ("Attach", "Send"))
    opening = session_pb2.AttachRequest(open=session_pb2.Open(holder=bytes(16)))
    async with asyncio.timeout(60), aclosing(client.execute_server_stream(request=opening, method=attaching)) as link:
        opened = (await anext(link)).opened
        ask = session_pb2.SessionAsk(id="a", request=question())
        said = [session_pb2.ClientMessage(ask=ask)]
        request = session_pb2.SendRequest(session_id=opened.session_id, holder=bytes(16), messages=said)
        await client.execute_unary(request=request, method=sending)
        async for message in link:
            if message.turn.event.WhichOneof("event") == "done":
                break
        assert message.turn.event.done.answer == "45 crowns"
    assert await served.stage.rpc.guard.drain(60)


def test_every_method_but_those_that_need_http2_is_there(served):
    paths = {each.path for each in connect_methods(served.stage.rpc.served, served.stage.rpc.limits, 1)}
    every = {f"/{s.service.full_name}/{m.name}" for s in served.stage.rpc.served for m in s.service.methods}
    assert every - paths == {"/quizglass.v1.SessionService/Converse"}


async def test_a_browser_asks_in_json(served):
    message = {"question": "What?", "frames": [{"encoded": base64.b64encode(png()).decode()}]}
    headers = {"content-type": "application/connect+json", "connect-protocol-version": "1", "origin": served.url}
    answer = await ask(served, "POST", ASK, enveloped(json.dumps(message).encode()), headers)
    assert answer.status == 200
    *events, (flags, end) = envelopes(answer.body)
    assert (flags, json.loads(end)) == (2, {})
    assert json.loads(events[-1][1])["done"]["answer"] == "45 crowns"
    assert answer.headers["quizglass-turn"] == json.loads(events[0][1])["turnId"]
    capabilities = await ask(served, "POST", CAPABILITIES, b"{}", JSON)
    assert capabilities.json["usefulPictureSide"] == 672


async def test_a_browser_asks_over_grpc_web(served):
    headers = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1", "origin": served.url}
    answer = await ask(served, "POST", ASK, enveloped(question().SerializeToString()), headers)
    *events, (flags, trailers) = envelopes(answer.body)
    assert flags == 0x80
    assert b"grpc-status: 0" in trailers.replace(b":0", b": 0")
    assert assistant_pb2.AskResponse.FromString(events[-1][1]).done.answer == "45 crowns"


async def test_a_tab_that_is_closed_ends_its_turn(served):
    held = HeldScript()
    served.stage.assistant.script = held
    async with asyncio.timeout(60):
        async with await Wire.to(served) as wire:
            body = enveloped(b'{"question": "What?"}')
            length = {"content-length": str(len(body)), "content-type": "application/connect+json"}
            await wire.begin("POST", ASK, length)
            await wire.say(body)
            assert (await wire.head())[0] == 200
            await held.gate.reached.wait()
        await held.closed.wait()
    assert await served.stage.rpc.guard.drain(60)


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/json", b"{", 400),
        ("application/json", b'{"id": 5}', 400),
        ("application/json", b'"id"', 400),
        ("application/proto", b"\xff\xff", 400),
        ("text/plain", b"{}", 415),
        ("application/grpc", enveloped(b""), 415),
    ],
)
async def test_what_is_no_message_is_refused(served, content_type, body, status, caplog):
    answer = await ask(served, "POST", "/quizglass.v1.KnowledgeService/GetEntry", body, {"content-type": content_type})
    assert answer.status == status
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    ("path", "content_type", "wanted"),
    [
        (ASK, "application/json", "application/connect+json or application/connect+proto, whose messages are in envel"),
        (CAPABILITIES, "application/connect+json", "application/json or application/proto"),
        (CAPABILITIES, "", "application/json or application/proto"),
    ],
)
async def test_a_content_type_that_is_not_taken_names_those_that_are(served, path, content_type, wanted):
    answer = await ask(served, "POST", path, b'{"question": "What?"}', {"content-type": content_type})
    assert (answer.status, answer.body.startswith(f"the content type has to be {wanted}".encode())) == (415, True)


async def test_json_that_is_no_message_is_told_what_is_wrong_with_it(served):
    answer = await ask(served, "POST", SEARCH, b'{"text": "?", "limit": "many"}', JSON)
    assert (answer.status, "Failed to parse limit field" in answer.json["message"]) == (400, True)


async def test_a_stopping_server_says_so(client, served):
    await served.stage.rpc.guard.drain(0)
    with pytest.raises(ConnectError, match="is stopping") as caught:
        await asked(client, question())
    assert caught.value.code is Code.UNAVAILABLE


async def test_an_import_that_is_cut_off_keeps_what_came(served):
    body = enveloped(knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id="a", title="A")).SerializeToString())
    came = asyncio.Event()

    async def arrived():
        came.set()

    served.stage.knowledge.before = arrived
    async with asyncio.timeout(60):
        async with await Wire.to(served) as wire:
            headers = {"content-type": "application/connect+proto", "transfer-encoding": "chunked"}
            await wire.begin("POST", ADD, headers)
            await wire.say(f"{len(body):x}\r\n".encode() + body + b"\r\n")
            await came.wait()
        assert await served.stage.rpc.guard.drain(60)
    assert set(served.stage.knowledge.entries) == {"a"}


NO_MESSAGE = b"\xff" * 20


@pytest.mark.parametrize(
    ("path", "content_type", "body", "field"),
    [
        (ASK, "application/connect+proto", enveloped(b"\x0a\x01?" + b"\x1a\x00" * 100 + NO_MESSAGE), "history"),
        (ASK, "application/grpc-web+proto", enveloped(b"\x0a\x01?" + b"\x12\x00" * 100 + NO_MESSAGE), "frames"),
        (ASK, "application/connect+json", enveloped(b'{"question":"?","history":[' + b"{}," * 20_000), "request"),
        (ASK, "application/connect+json", enveloped(b'{"question":"?","history":[' + b"{}," * 99 + b"{}]}"), "history"),
        (SEARCH, "application/json", b'{"text":"?","filter":{"kinds":[' + b'"",' * 20_000, "request"),
        (
            SEARCH,
            "application/proto",
            b"\x22\x82\x01" + b"\x12\x00" * 65 + b"\x2a\x00" * 50 + NO_MESSAGE,
            "more_pictures",
        ),
    ],
)
async def test_what_a_request_has_too_many_of_is_known_before_it_is_parsed(served, path, content_type, body, field):
    answer = await ask(served, "POST", path, body, {"content-type": content_type})
    assert f"{field}: more than the".encode() in unquote_to_bytes(answer.body)


@pytest.mark.parametrize("content_type", ["application/connect+proto", "application/connect+json"])
async def test_an_entry_that_cannot_be_read_is_refused_at_its_place_and_stops_no_other(served, content_type):
    entries = [{"entry": {"id": name, "title": name}} for name in "ac"]
    messages = [knowledge_pb2.AddEntriesRequest(**each).SerializeToString() for each in entries]
    if content_type.endswith("json"):
        messages = [json.dumps(each).encode() for each in entries]
    body = b"".join(map(enveloped, [messages[0], NO_MESSAGE, messages[1]]))
    answer = await ask(served, "POST", ADD, body, {"content-type": content_type})
    (_, content), _ = envelopes(answer.body)
    if content_type.endswith("json"):
        content = json.loads(content)
        assert [(each["index"], each["field"]) for each in content["refused"]] == [("1", "entry")]
    else:
        response = knowledge_pb2.AddEntriesResponse.FromString(content)
        assert [(each.index, each.field) for each in response.refused] == [(1, "entry")]
    assert set(served.stage.knowledge.entries) == {"a", "c"}


@pytest.mark.parametrize("content_type", ["application/proto", "application/json"])
async def test_compressed_requests_are_taken_and_answers_are_not_compressed(served, content_type):
    request = b'{"text":"Velmora"}' if "json" in content_type else b"\x0a\x07Velmora"
    headers = {"content-type": content_type, "content-encoding": "gzip", "accept-encoding": "gzip"}
    answer = await ask(served, "POST", SEARCH, gzip.compress(request), headers)
    assert (answer.status, answer.headers.get("content-encoding", "identity")) == (200, "identity")
    assert served.stage.assistant.searches == [("Velmora", None, 5)]


@pytest.mark.parametrize("request_", [b'{"text":"?","filter":{"kinds":[' + b'"",' * 3_000_000, b"\x0a\x00" * 4_000_000])
async def test_what_is_compressed_to_a_thousandth_is_not_unpacked(served, request_):
    content_type = "application/json" if request_.startswith(b"{") else "application/proto"
    headers = {"content-type": content_type, "content-encoding": "gzip"}
    answer = await ask(served, "POST", SEARCH, gzip.compress(request_), headers)
    assert (answer.status, answer.json["code"]) == (400, "invalid_argument")
    assert "compressed bytes hold more than the" in answer.json["message"]
