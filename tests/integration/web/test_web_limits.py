"""Who may ask, how much, and for how long: over a real socket, as pages from elsewhere and hostile clients would."""

import asyncio
import gc
import json
import socket
import threading
import tracemalloc
from contextlib import AsyncExitStack, suppress

import pytest

from quizglass_server.config.load import Settings
from quizglass_server.errors import SettingsError
from quizglass_server.web.chat import reading
from quizglass_server.web.chat.request import read_chat
from quizglass_server.web.http import connection, gate, server
from quizglass_server.web.http.asgi import body_of
from quizglass_server.web.http.gate import Route
from quizglass_server.web.http.server import WebServer
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS
from tests.support.web import ASK, CAPABILITIES, CHAT, JSON, Wire, ask, enveloped, web_serving

SOUND = enveloped(b'{"question": "What?"}')
SEARCH = "/quizglass.v1.KnowledgeService/SearchEntries"
STREAM = {"content-type": "application/connect+json"}


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
async def test_the_names_of_this_machine_are_taken(served, name):
    assert (await ask(served, "GET", "/", headers={"host": f"{name}:{served.web.port}"})).status == 200


@pytest.mark.parametrize(
    "name", ["glasses.example", "127.0.0.1.evil.example", "evil.example:80", "10.0.0.1", "", "[::1", "localhost@evil"]
)
@pytest.mark.parametrize("path", ["/", CAPABILITIES, CHAT, "/v1/models"])
async def test_a_foreign_host_is_refused(served, name, path):
    answer = await ask(served, "POST", path, b"{}", {**JSON, "host": name})
    assert answer.status == 403
    assert "--web-origins" in answer.json["error"]["message"]


async def test_a_request_without_a_host_is_refused(served):
    async with await Wire.to(served) as wire, asyncio.timeout(60):
        await wire.say(b"GET / HTTP/1.0\r\n\r\n")
        assert (await wire.answer()).status == 403


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost:1",
        "http://127.0.0.1",
        "file://",
        "http://localhost.evil.example",
    ],
)
@pytest.mark.parametrize(("path", "content_type"), [(ASK, "application/connect+json"), (CHAT, "text/plain")])
async def test_a_page_from_elsewhere_is_refused_before_anything_is_done(served, origin, path, content_type):
    answer = await ask(served, "POST", path, SOUND, {"content-type": content_type, "origin": origin})
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers
    assert served.stage.assistant.turns == []


async def test_a_page_from_elsewhere_may_not_ask_whether_it_may(served):
    asking = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = await ask(served, "OPTIONS", ASK, headers=asking)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_the_servers_own_page_may_ask(served):
    answer = await ask(served, "POST", CAPABILITIES, b"{}", {**JSON, "origin": served.url})
    assert answer.status == 200
    assert "access-control-allow-origin" not in answer.headers


async def test_origins_that_the_operator_names_may_ask(tmp_path):
    async with web_serving(tmp_path, web_origins="https://glasses.example") as served:
        named = {"host": "glasses.example", "origin": "https://glasses.example"}
        answer = await ask(served, "POST", CAPABILITIES, b"{}", {**JSON, **named})
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "https://glasses.example")
        asking = {"access-control-request-headers": "connect-protocol-version,content-type"}
        allowed = await ask(served, "OPTIONS", ASK, headers={**asking, "origin": "https://glasses.example"})
        assert allowed.status == 204
        assert allowed.headers["access-control-allow-headers"] == asking["access-control-request-headers"]
        assert allowed.headers["access-control-allow-methods"] == "POST"
        other = await ask(served, "POST", CAPABILITIES, b"{}", {**JSON, "origin": "https://other.example"})
        assert other.status == 403


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing", 404), ("GET", ASK, 405), ("POST", "/", 405), ("PUT", CHAT, 405)]
)
async def test_what_is_not_there_is_said_so(served, method, path, status):
    answer = await ask(served, method, path)
    assert answer.status == status
    assert path in answer.json["error"]["message"]
    assert answer.headers.get("allow") == ({"/": "GET, HEAD"}.get(path, "POST") if status == 405 else None)


@pytest.mark.parametrize("path", [ASK, CHAT, CAPABILITIES])
async def test_a_body_of_ten_gigabytes_is_refused_by_its_length(served, path):
    async with await Wire.to(served) as wire, asyncio.timeout(60):
        await wire.begin("POST", path, {**STREAM, "content-length": str(10 << 30), "expect": "100-continue"})
        answer = await wire.answer()
        assert answer.status == 413
        assert await wire.closed()


@pytest.mark.parametrize("path", [CAPABILITIES, CHAT])
async def test_a_body_without_a_length_is_refused_where_it_becomes_too_large(tmp_path, path, monkeypatch):
    monkeypatch.setattr(gate, "_DISCARDED_BYTES", 1 << 20)
    async with (
        web_serving(tmp_path, max_frame_bytes=1 << 20) as served,
        await Wire.to(served) as wire,
        asyncio.timeout(60),
    ):
        await wire.begin("POST", path, {**JSON, "transfer-encoding": "chunked"})
        piece = b"10000\r\n" + bytes(1 << 16) + b"\r\n"

        async def pour():
            while True:
                await wire.say(piece)

        pouring = asyncio.create_task(pour())
        assert (await wire.answer()).status == 413
        with pytest.raises(ConnectionError):
            await pouring
        assert served.stage.assistant.turns == []


async def test_a_message_that_says_it_is_too_large_is_refused_by_that(served):
    async with await Wire.to(served) as wire, asyncio.timeout(60):
        await wire.begin("POST", ASK, {**STREAM, "transfer-encoding": "chunked"})
        await wire.say(b"5\r\n" + bytes([0]) + (1 << 31).to_bytes(4, "big") + b"\r\n")
        answer = await wire.answer()
        assert b"resource_exhausted" in answer.body
        assert await wire.closed()


async def test_headers_have_a_time(served, monkeypatch):
    async with asyncio.timeout(60), await Wire.to(served) as again:
        assert (await again.ask("GET", "/")).status == 200
        monkeypatch.setattr(connection, "HEADER_S", 0.1)
        await again.say(b"GET / HT")
        assert await again.closed()
        async with await Wire.to(served) as silent, await Wire.to(served) as slow:
            with suppress(ConnectionError):  # its time may be over
                await slow.say(b"POST / HTTP/1.1\r\nhost: ")
            assert await silent.closed()
            assert await slow.closed()


async def test_headers_have_a_size(served):
    async with asyncio.timeout(60), await Wire.to(served) as wire:
        await wire.say(b"GET / HTTP/1.1\r\n" + b"x-long: " + b"a" * 100_000)
        answer = await wire.answer()
        assert answer.status == 431
        assert b"32768 bytes" in answer.body
        assert await wire.closed()


async def test_an_encoding_of_bodies_that_is_unknown_is_refused(served):
    async with asyncio.timeout(60), await Wire.to(served) as wire:
        await wire.say(b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n")
        assert (await wire.answer()).status == 501
        assert await wire.closed()


async def test_a_body_has_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "_DISCARDED_S", 0.1)
    async with web_serving(tmp_path, message_s=2) as served, await Wire.to(served) as wire, asyncio.timeout(60):
        await wire.begin("POST", ASK, {**STREAM, "content-length": "1000"})
        await wire.say(SOUND[:10])
        answer = await wire.answer()
        assert answer.status == 408
        assert "2 s" in answer.json["error"]["message"]
        assert (await ask(served, "POST", ASK, SOUND, STREAM)).status == 200


@pytest.mark.parametrize(("path", "headers"), [(CHAT, JSON), (CAPABILITIES, JSON), (ASK, STREAM)])
async def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_failure_of_the_server(
    served, path, headers, caplog
):
    async with asyncio.timeout(60):
        async with await Wire.to(served) as wire:
            await wire.begin("POST", path, {**headers, "content-length": "100", "expect": "100-continue"})
            assert (await wire.reader.readuntil(b"\r\n\r\n")).split()[1] == b"100"  # the body is waited for
            await wire.say(b"{")
        while served.web._server.server_state.tasks:  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(0.01)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_the_largest_of_too_many_unfinished_bodies_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "_DISCARDED_S", 0.1)
    async with web_serving(tmp_path, message_bytes=300_000) as served, asyncio.timeout(60):
        async with await Wire.to(served) as small, await Wire.to(served) as large:
            for wire, size in ((small, 100_000), (large, 190_000)):
                await wire.begin("POST", CHAT, {**JSON, "content-length": "1000000"})
                await wire.say(bytes(size))
            await large.say(bytes(100_000))
            answer = await large.answer()
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            small.writer.close()
        assert (await ask(served, "POST", ASK, SOUND, STREAM)).status == 200


async def test_bodies_that_wait_to_be_read_leave_less_for_others(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "_DISCARDED_S", 0.1)
    begun, release = threading.Event(), threading.Event()

    def slow(body, *args):
        begun.set()
        assert release.wait(60)
        return read_chat(body, *args)

    monkeypatch.setattr(reading, "read_chat", slow)
    body = b'{"messages": [{"role": "user", "content": "What?"}]}'.ljust(200_000)
    async with web_serving(tmp_path, message_bytes=300_000) as served, asyncio.timeout(60):
        first = asyncio.create_task(ask(served, "POST", CHAT, body, JSON))
        await asyncio.to_thread(begun.wait)
        assert (await ask(served, "POST", CHAT, body, JSON)).status == 503
        release.set()
        assert (await first).status == 200
        assert (await ask(served, "POST", CHAT, body, JSON)).status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SEARCH, {"text": "?", "filter": {"kinds": [""] * 700_000}}),
        (CHAT, {"messages": [{"role": "user", "content": "?"}], **{f"k{number}": 1 for number in range(160_000)}}),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "?" * 2**21}}]}]}),
    ],
    ids=["too many items", "too many keys", "no picture"],
)
async def test_refused_bodies_are_freed_without_the_garbage_collector(served, path, body):
    sent = json.dumps(body).encode()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(8):
            assert (await ask(served, "POST", path, sent, JSON)).status == 400
        assert tracemalloc.get_traced_memory()[0] < 3 * len(sent)
    finally:
        tracemalloc.stop()
        gc.enable()


async def test_bodies_whose_clients_pause_are_given_up_too(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "_DISCARDED_S", 0.1)
    async with web_serving(tmp_path, message_bytes=300_000) as served, asyncio.timeout(60), AsyncExitStack() as wires:
        pausing = []
        for _ in range(5):  # of one size: none of them is the largest by itself
            wire = await wires.enter_async_context(await Wire.to(served))
            await wire.begin("POST", CHAT, {**JSON, "content-length": "1000000"})
            await wire.say(bytes(90_000))
            pausing.append(asyncio.create_task(wire.answer()))
        for _ in range(2):
            done, pausing = await asyncio.wait(pausing, return_when=asyncio.FIRST_COMPLETED)
            assert {task.result().status for task in done} == {503}
            if len(pausing) <= 3:
                break
        assert len(pausing) == 3, "they fit"
        for task in pausing:
            task.cancel()


async def test_a_client_that_reads_nothing_is_cut_off_and_its_turn_ends(served, monkeypatch):
    monkeypatch.setattr(connection, "UNREAD_S", 0.1)
    closed = asyncio.Event()

    async def talks(turn, policy, budget):
        try:
            for _ in range(1000):
                yield EVENTS[2].__class__(tuple(EVENTS[2].items) * 200)
                await asyncio.sleep(0)
        finally:
            closed.set()

    served.stage.assistant.script = talks
    async with asyncio.timeout(60), await Wire.to(served) as wire:
        wire.reader._transport.pause_reading()
        await wire.begin("POST", ASK, {**STREAM, "content-length": str(len(SOUND))})
        await wire.say(SOUND)
        await closed.wait()
    assert await served.stage.rpc.guard.drain(60)


async def test_a_connection_serves_one_request_after_the_other(served):
    async with asyncio.timeout(60), await Wire.to(served) as wire:
        for _ in range(3):
            assert (await wire.ask("POST", CAPABILITIES, b"{}", JSON)).status == 200
            assert (await wire.ask("GET", "/style.css")).status == 200
        answer = await wire.ask("POST", CHAT, b'{"messages": 5}', JSON)
        assert (answer.status, answer.json["error"]["param"]) == (400, "messages")
        assert (await wire.ask("GET", "/")).status == 200


async def test_the_connection_over_which_a_browser_asks_whether_it_may_is_the_one_over_which_it_asks(tmp_path):
    origin = {"origin": "http://glasses.example"}
    async with (
        web_serving(tmp_path, web_origins="http://glasses.example") as served,
        await Wire.to(served) as wire,
        asyncio.timeout(60),
    ):
        for path, status in (("/nothing", 404), (CAPABILITIES, 204), (CAPABILITIES, 204)):
            assert (await wire.ask("OPTIONS", path, headers=origin)).status == status
        assert (await wire.ask("POST", CAPABILITIES, b"{}", {**JSON, **origin})).status == 200


async def test_an_idle_connection_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "IDLE_S", 0.1)
    async with web_serving(tmp_path) as served, await Wire.to(served) as wire, asyncio.timeout(60):
        assert (await wire.ask("GET", "/")).status == 200
        assert await wire.closed()


async def test_what_is_not_http_is_refused(served):
    async with asyncio.timeout(60), await Wire.to(served) as wire:
        await wire.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        assert (await wire.answer()).status == 400
        assert await wire.closed()


async def test_a_port_in_use_is_named(served):
    with pytest.raises(SettingsError, match="web_port: cannot listen on"):
        WebServer(lambda *_: None, "127.0.0.1", served.web.port)


async def test_a_port_is_taken_before_anything_is_served():
    web = WebServer(lambda *_: None, "127.0.0.1", 0)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", web.port))
    web._socket.close()


@pytest.mark.parametrize("host", ["no.such.host.invalid", "no..host"])
async def test_an_address_that_is_none_is_named_by_its_setting(host):
    with pytest.raises(SettingsError, match=f"web_host: there is no address {host} .*; take another --web-host"):
        WebServer(lambda *_: None, host, 0)


async def test_a_failure_waits_for_nothing_more_where_the_whole_request_came(served, monkeypatch):
    async def failing(scope, receive, send):
        assert await body_of(receive) == b"{}"
        raise RuntimeError("a bug")

    monkeypatch.setattr(gate, "_DISCARDED_S", 3600)
    served.web._server.config.app._routes["/v1/models"] = Route(failing, most_bytes=9)
    async with await Wire.to(served) as wire, asyncio.timeout(60):
        answer = await wire.ask("POST", "/v1/models", b"{}", JSON)
        assert answer.status == 500
        assert "a bug" not in answer.json["error"]["message"]
        assert (await wire.ask("GET", "/")).status == 200, "on the same connection"


async def test_a_door_that_cannot_open_says_so_instead_of_waiting(monkeypatch):
    async def fails(*_, **__):
        raise OSError("no room for another socket")

    web = WebServer(lambda *_: None, "127.0.0.1", 0)
    monkeypatch.setattr(asyncio.get_running_loop(), "create_server", fails)
    try:
        async with asyncio.timeout(60):
            with pytest.raises(OSError, match="no room"):
                await web.start()
    finally:
        web._socket.close()


async def test_loopback_is_the_default_and_nothing_listens_unasked(tmp_path):
    settings = Settings(bundle=tmp_path, knowledge=tmp_path)
    assert (settings.web_port, settings.web_host) == (None, "127.0.0.1")


async def test_a_stopping_server_lets_a_running_answer_finish(tmp_path):
    held = Gate()

    async def waits(turn, policy, budget):
        yield EVENTS[0]
        await held()
        for event in EVENTS[1:]:
            yield event

    async with web_serving(tmp_path) as served, asyncio.timeout(60):
        served.stage.assistant.script = waits
        asking = {"model": "both", "messages": [{"role": "user", "content": "What?"}]}
        running = asyncio.create_task(ask(served, "POST", CHAT, json.dumps(asking).encode(), JSON))
        await held.reached.wait()
        stopping = asyncio.create_task(served.web.stop(60))
        held.open.set()
        assert (await running).json["choices"][0]["message"]["content"] == "45 crowns"
        await stopping
        with pytest.raises(OSError, match="Connect call failed"):
            await Wire.to(served)
