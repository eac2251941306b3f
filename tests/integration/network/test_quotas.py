"""Quotas over real sockets: refused with their name and a delay, on both ports, and no one else is."""

import asyncio
import json
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from quizglass.v1 import knowledge_pb2, knowledge_pb2_grpc, pairing_pb2, pairing_pb2_grpc
from quizglass_client import AsyncClient, Entry
from quizglass_client.errors import Overloaded
from quizglass_server.knowledge.database.disk import bytes_in
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import load_tokens, made
from quizglass_server.scheduling.allowances import Quota
from tests.support.knowledge.tenant_stage import tenants_serving
from tests.support.rpc_fakes import png
from tests.support.sessions.session_links import eventually
from tests.support.web import CHAT, JSON, Wire, ask

ADD = "/quizglass.v1.KnowledgeService/AddEntries"
SEARCH = "/quizglass.v1.KnowledgeService/SearchEntries"


@pytest.fixture
async def served(tmp_path):
    async with tenants_serving(tmp_path, "anna", "bert") as (_, web):
        yield web


def client_of(served, tenant):
    return AsyncClient(served.stage.target, token=served.stage.tokens[tenant])


async def limit(served, tenant, **quota):
    """Give a tenant a quota, and wait until the server follows."""
    stage, logins = served.stage, served.stage.services.network.logins
    stage.file.limit(tenant, Quota(**quota))
    stage.services.network.reload()
    await eventually(lambda: logins.tokens.quotas == load_tokens(stage.file.path).quotas)


def bearer(served, tenant):
    return {"authorization": f"Bearer {served.stage.tokens[tenant]}"}


async def refused_over_grpc(served, tenant, quota):
    """That a search is refused by a quota's name; its delay in seconds, or None."""
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await stub.SearchEntries(
                knowledge_pb2.SearchEntriesRequest(text="What?"), metadata=tuple(bearer(served, tenant).items())
            )
    assert refusal.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    packed = dict(refusal.value.trailing_metadata())["grpc-status-details-bin"]
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    details = status_pb2.Status.FromString(packed).details
    assert any(each.Unpack(info) for each in details)
    assert (info.reason, info.metadata["quota"]) == ("QUOTA_EXCEEDED", quota)
    assert any(each.Unpack(retry) for each in details)
    return retry.retry_delay.ToTimedelta().total_seconds()


async def refused_over_http(served, tenant):
    """That a search and a chat are refused with 429 and a delay."""
    chat = json.dumps({"messages": [{"role": "user", "content": "What?"}]}).encode()
    for path, body in ((SEARCH, b'{"text": "What?"}'), (CHAT, chat)):
        answer = await ask(served, "POST", path, body, {**JSON, **bearer(served, tenant)})
        assert answer.status == 429, (path, answer.body)
        assert int(answer.headers["retry-after"]) >= 1, path
        assert "quota" in answer.json.get("message", "") + str(answer.json.get("error", ""))


async def test_engine_seconds_are_refused_by_name_on_both_ports_and_only_to_their_tenant(served):
    await limit(served, "anna", engine_s=0.000001)
    async with client_of(served, "anna") as anna, client_of(served, "bert") as bert:
        assert (await anna.answer("What?", png())).text  # its cost is known when it is over
        assert await refused_over_grpc(served, "anna", "engine_s") > 0
        await refused_over_http(served, "anna")
        assert (await bert.answer("What?", png())).text
        with pytest.raises(Overloaded, match="engine_s"):
            await anna.add_entries([Entry("one", "One")])
        speech = await ask(
            served, "POST", "/v1/audio/speech", b'{"input": "Hello."}', {**JSON, **bearer(served, "anna")}
        )
        assert speech.status == 429
        assert (await anna.capabilities()).entries == 0, "what computes nothing is answered"
        await limit(served, "anna")
        assert (await anna.answer("What?", png())).text


async def test_turns_at_once_are_bounded_by_tenant(served):
    await limit(served, "anna", turns=1)
    services, going_on = served.stage.services, asyncio.Event()
    gate = asyncio.Event()

    async def held() -> None:
        going_on.set()
        await gate.wait()

    # The models are shared by all tenants.
    services.models.before["answer"] = held
    async with client_of(served, "anna") as anna, client_of(served, "bert") as bert:
        turn = asyncio.create_task(anna.answer("What?", policy="none"))
        async with asyncio.timeout(60):
            await going_on.wait()
        await refused_over_grpc(served, "anna", "turns")
        await refused_over_http(served, "anna")
        assert await bert.search("What?") == []
        gate.set()
        assert (await turn).text
        assert await anna.search("What?") == []


async def test_uploads_are_bounded_by_token_and_tenant(served):
    text, record = made("small", Permission, None, "bert", Quota(upload_bytes=1000))
    served.stage.file.add(record)
    served.stage.services.network.reload()
    await eventually(lambda: record in served.stage.services.network.logins.tokens)
    served.stage.tokens["small"] = text
    await limit(served, "anna", upload_bytes=1000)
    for tenant, other in (("anna", "bert"), ("small", "bert")):
        async with client_of(served, tenant) as client, client_of(served, other) as free:
            assert await client.search("x " * 900) == []
            assert 0 < await refused_over_grpc(served, tenant, "upload_bytes") <= 60
            await refused_over_http(served, tenant)
            assert await free.search("x " * 900) == []


async def test_a_body_that_is_larger_than_the_quota_is_taken_as_over_grpc_and_the_next_is_not(served):
    await limit(served, "anna", upload_bytes=100_000)
    body = json.dumps({"text": "What?", "filter": {"sources": ["x" * 900_000]}}).encode()
    answers = [await ask(served, "POST", SEARCH, body, {**JSON, **bearer(served, "anna")}) for _ in range(2)]
    assert [answer.status for answer in answers] == [400, 429], (
        "it was read, and refused for what it says; then the quota is used up"
    )


async def test_what_is_stored_is_bounded_and_what_came_before_is_kept(served):
    async with client_of(served, "anna") as anna, client_of(served, "bert") as bert:
        assert (await anna.add_entries([Entry("first", "First", text="The first.")])).added == 1
        stored = bytes_in(served.stage.folder / "tenants" / "anna")
        await limit(served, "anna", stored_bytes=stored + 3000)
        many = [Entry(f"entry-{number}", "Entry", text="x " * 900) for number in range(10)]
        with pytest.raises(Overloaded, match="quota stored_bytes") as refusal:
            await anna.add_entries(many)
        kept = int(refusal.value.metadata["added"])
        assert 0 < kept < 10
        assert len([each async for each in anna.list_entries()]) == 1 + kept
        await limit(served, "anna", stored_bytes=1)
        with pytest.raises(Overloaded, match="delete something"):
            await anna.add_entries(many)
        assert (await bert.add_entries(many)).added == 10
        await anna.delete_entry("first")


async def test_streams_at_once_store_no_more_than_one_after_the_other(served):
    async with client_of(served, "anna") as anna:
        await anna.add_entries([Entry("first", "First", text="The first.")])
        stored = bytes_in(served.stage.folder / "tenants" / "anna")
        await limit(served, "anna", stored_bytes=stored + 3000)
        streams = [
            anna.add_entries([Entry(f"{stream}-{number}", "Entry", text="x " * 900) for number in range(10)])
            for stream in range(6)
        ]
        outcomes = await asyncio.gather(*streams, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {Overloaded}
        assert 1 < len([each async for each in anna.list_entries()]) <= 4


async def paired(served, by, name):
    """Have a device paired over the network by a token, with all that it may do; its token is then of that name."""
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        stub = pairing_pb2_grpc.PairingServiceStub(channel)
        request = pairing_pb2.CreatePairingRequest(name=name, may=[str(each) for each in Permission])
        link = (await stub.CreatePairing(request, metadata=tuple(bearer(served, by).items()))).link
        code = parse_qs(urlsplit(link).fragment)["code"][0]
        served.stage.tokens[name] = (await stub.RedeemPairing(pairing_pb2.RedeemPairingRequest(code=code))).token


async def test_devices_take_from_the_quota_of_the_token_that_paired_them(served):
    network = served.stage.services.network
    served.stage.tokens["boss"], record = made("boss", Permission, None, "anna", Quota(upload_bytes=20_000))
    served.stage.file.add(record)
    network.reload()
    await eventually(lambda: record in network.logins.tokens)
    await paired(served, "boss", "phone")
    await paired(served, "phone", "watch")
    async with client_of(served, "watch") as watch, client_of(served, "anna") as anna:
        for _ in range(20):
            with suppress(Overloaded):
                await watch.search("x " * 900)
        for name in ("boss", "phone", "watch"):
            await refused_over_grpc(served, name, "upload_bytes")
        assert await anna.search("What?") == [], "the same tenant's other token has its own"
        served.stage.file.revoke("boss")
        network.reload()
        await eventually(lambda: record not in network.logins.tokens)
        await refused_over_grpc(served, "phone", "upload_bytes")


async def entries_held(gate, reached):
    """Two entries; the second is sent when the gate opens."""
    yield knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id="first", title="First", text="The first."))
    reached.set()
    await gate.wait()
    yield knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id="second", title="Second", text="The second."))


async def test_an_import_ends_where_its_engine_seconds_do_and_keeps_what_came(served):
    gate, reached = asyncio.Event(), asyncio.Event()
    async with client_of(served, "anna") as anna, grpc.aio.insecure_channel(served.stage.target) as channel:
        add = knowledge_pb2_grpc.KnowledgeServiceStub(channel).AddEntries
        call = add(entries_held(gate, reached), metadata=tuple(bearer(served, "anna").items()))
        async with asyncio.timeout(60):
            await reached.wait()
        await limit(served, "anna", engine_s=0.000001)
        assert (await anna.answer("What?", png())).text  # uses them up
        gate.set()
        with pytest.raises(grpc.aio.AioRpcError, match="quota engine_s"):
            await call
        await limit(served, "anna")
        assert [each.id async for each in anna.list_entries()] == ["first"]


async def test_a_stream_over_http_ends_where_its_upload_quota_does(served):
    await limit(served, "anna", upload_bytes=4000)
    entry = json.dumps({"entry": {"id": "one", "title": "One", "text": "x " * 900}}).encode()
    message = b"\0" + len(entry).to_bytes(4) + entry
    async with await Wire.to(served) as wire:
        head = {"content-type": "application/connect+json", "transfer-encoding": "chunked"}
        await wire.begin("POST", ADD, {**head, **bearer(served, "anna")})
        answering = asyncio.create_task(wire.answer())
        for _ in range(100):  # the stream has not ended when it is refused
            if not answering.done():
                await wire.say(f"{len(message):x}\r\n".encode() + message + b"\r\n")
                await asyncio.wait({answering}, timeout=0.05)
        answer = await answering
    assert (answer.status, b"quota upload_bytes" in answer.body) == (429, True)


async def test_bytes_of_a_refused_body_count(served):
    await limit(served, "anna", upload_bytes=1000)
    async with client_of(served, "anna") as anna:
        assert await anna.search("x " * 900) == []
    before = await refused_over_grpc(served, "anna", "upload_bytes")
    answer = await ask(served, "POST", SEARCH, b" " * 2_000_000, {**JSON, **bearer(served, "anna")})
    assert answer.status == 429
    assert await refused_over_grpc(served, "anna", "upload_bytes") > 2 * before
