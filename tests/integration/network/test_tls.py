"""TLS on both ports of a server, over real sockets."""

import asyncio
import logging
import ssl
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import pytest

from quizglass_client import AsyncClient, AsyncSession, ServerUnavailable
from quizglass_server.errors import Overloaded, SettingsError
from quizglass_server.network.network import Network
from quizglass_server.web.http import connection as connections
from quizglass_server.web.http.asgi import respond
from quizglass_server.web.http.connection import Connection
from quizglass_server.web.http.server import WebServer
from tests.support.rpc_fakes import EVENTS, HeldScript, png, serving
from tests.support.sessions.session_links import eventually
from tests.support.tls import certificate, following, issued, replace_files, shown_at, wait_until_shown
from tests.support.web import CAPABILITIES, JSON, Wire, web_serving

HANDSHAKE = bytes.fromhex("1603010200010001fc0303")
"""How a client begins TLS."""


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("first"))


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("second"))


@pytest.fixture
def shown(tmp_path, first):
    """Files of the first certificate that a test may replace."""
    folder = tmp_path / "tls"
    folder.mkdir()
    made = type(first)(folder / "certificate.pem", folder / "key.pem")
    replace_files(made, first)
    return made


def files(shown):
    return {"tls_cert": shown.path, "tls_key": shown.key}


def trusting(shown):
    context = ssl.create_default_context(cafile=shown.path)
    context.set_alpn_protocols(["http/1.1"])
    return context


@asynccontextmanager
async def https(served, context):
    there = await asyncio.open_connection("127.0.0.1", served.web.port, ssl=context, server_hostname="localhost")
    async with Wire(*there, f"localhost:{served.web.port}") as wire, asyncio.timeout(60):
        yield wire


def target(stage):
    return f"localhost:{stage.rpc.port}"


async def test_questions_and_sessions_are_answered_over_tls(tmp_path, shown):
    async with serving(tmp_path, **files(shown)) as stage:
        async with AsyncClient(target(stage), ca=shown.path) as client:
            assert (await client.answer("What?", png())).text == "45 crowns"
        async with AsyncSession(target(stage), ca=shown.path) as session:
            assert (await session.answer("What?", png())).text == "45 crowns"


async def test_a_client_that_does_not_trust_the_certificate_or_speaks_in_clear_gets_nothing(tmp_path, shown, second):
    async with serving(tmp_path, **files(shown)) as stage:
        for access in ({}, {"ca": second.path}):
            async with AsyncClient(target(stage), timeout=20, **access) as client:
                with pytest.raises(ServerUnavailable):
                    await client.capabilities()
        async with AsyncClient(target(stage), ca=shown.path) as client:
            assert await client.healthy()


async def test_a_client_that_expects_tls_of_a_server_in_clear_gets_nothing(tmp_path, first):
    async with serving(tmp_path) as stage:
        async with AsyncClient(target(stage), ca=first.path, timeout=20) as client:
            with pytest.raises(ServerUnavailable):
                await client.capabilities()
        async with AsyncClient(stage.target) as client:
            assert await client.healthy()


async def test_http_is_answered_over_tls_by_any_name_of_the_certificate(tmp_path, shown):
    async with web_serving(tmp_path, **files(shown)) as served, https(served, trusting(shown)) as wire:
        for host in (wire.host, "glasses.example"):
            assert (await wire.ask("POST", CAPABILITIES, b"{}", {**JSON, "host": host})).status == 200
        own = {**JSON, "host": "glasses.example", "origin": "https://glasses.example"}
        assert (await wire.ask("POST", CAPABILITIES, b"{}", own)).status == 200
        foreign = {**own, "origin": "https://evil.example"}
        assert (await wire.ask("POST", CAPABILITIES, b"{}", foreign)).status == 403


async def test_http_in_clear_on_the_port_for_https_is_told_so(tmp_path, shown):
    async with web_serving(tmp_path, **files(shown)) as served, await Wire.to(served) as wire, asyncio.timeout(60):
        answer = await wire.ask("GET", "/health")
    assert (answer.status, b"https://" in answer.body) == (400, True)


async def test_connections_that_do_not_begin_tls_hold_places_and_make_room(tmp_path, shown):
    """Silent ones, those that begin and stop, and those that do neither are counted from the first moment on."""
    async with web_serving(tmp_path, **files(shown), max_connections=0) as served:
        most = 600
        silent = []
        for number in range(most):
            reader, writer = await asyncio.open_connection("127.0.0.1", served.web.port)
            if number % 2:
                writer.write(HANDSHAKE)
            silent.append((reader, writer))
        elsewhere = await asyncio.open_connection(
            "127.0.0.1",
            served.web.port,
            ssl=trusting(shown),
            server_hostname="localhost",
            local_addr=("127.0.0.2", 0),
        )
        async with Wire(*elsewhere, f"localhost:{served.web.port}") as wire, asyncio.timeout(60):
            assert (await wire.ask("POST", CAPABILITIES, b"{}", JSON)).status == 200
        for _, writer in silent:
            writer.close()


async def test_connections_that_are_closed_as_they_come_leave_nothing_behind(shown, monkeypatch):
    """Else each would count for ever, and one that has no place would not learn why any more."""
    admitted, free = [], asyncio.Event()

    async def answer(scope, receive, send):
        connection = Connection.of(scope)
        try:
            connection.admit(connection.client_for(()))
        except Overloaded:
            await respond(send, 503, b"", "text/plain")
            return
        admitted.append(connection)
        await free.wait()
        await respond(send, 200, b"", "text/plain")

    context = Network(_options(**files(shown))).tls.current.context
    web = WebServer(answer, "127.0.0.1", 0, 8, context=lambda: context)
    await web.start()
    try:
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            wires = [await stack.enter_async_context(secure(web.port, shown)) for _ in range(7)]
            for wire in wires:
                await wire.begin("GET", "/")
            await eventually(lambda: len(admitted) == 7)
            monkeypatch.setattr(connections, "TOLD_S", 0.1)
            beyond = [await asyncio.open_connection("127.0.0.1", web.port) for _ in range(40)]
            for _, writer in beyond:
                stack.callback(writer.close)
            assert {await reader.read() for reader, _ in beyond} == {b""}
            monkeypatch.setattr(connections, "TOLD_S", 60.0)
            async with secure(web.port, shown) as wire:
                assert (await wire.ask("GET", "/")).status == 503
            free.set()
            assert [(await wire.answer()).status for wire in wires] == [200] * 7
    finally:
        await web.stop(0)


@asynccontextmanager
async def secure(port, shown):
    there = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(shown), server_hostname="localhost")
    async with Wire(*there, f"localhost:{port}") as wire:
        yield wire


async def test_grpc_shares_its_connections_out_before_tls_is_agreed_on(tmp_path, shown):
    async with serving(tmp_path, **files(shown), max_connections=16) as stage, asyncio.timeout(120):
        silent = [
            await asyncio.open_connection("127.0.0.1", stage.rpc.port, local_addr=("127.0.0.2", 0)) for _ in range(60)
        ]
        for _, writer in silent[::2]:
            writer.write(HANDSHAKE)
        closed = [asyncio.ensure_future(reader.read()) for reader, _ in silent]
        await eventually(lambda: sum(each.done() for each in closed) >= 60 - 14)
        for _ in range(5):
            async with AsyncClient(target(stage), ca=shown.path) as client:
                assert (await client.answer("What?", png())).text == "45 crowns"
        for _, writer in silent:
            writer.close()
        await asyncio.gather(*closed, return_exceptions=True)


async def test_a_new_certificate_is_shown_to_new_connections_and_open_streams_go_on(tmp_path, shown, first, second):
    async with (
        web_serving(tmp_path, **files(shown)) as served,
        following(served.stage.services.network),
        AsyncClient(target(served.stage), ca=first.path) as client,
        https(served, trusting(first)) as wire,
    ):
        script = served.stage.assistant.script = HeldScript()
        events = client.ask("What?")
        await anext(events)
        await script.gate.reached.wait()
        replace_files(shown, second)
        for port in (served.stage.rpc.port, served.web.port):
            await asyncio.to_thread(wait_until_shown, port, second)
        served.stage.assistant.script = served.stage.assistant.usual
        assert (await client.answer("What?", png())).text == "45 crowns"
        assert (await wire.ask("POST", CAPABILITIES, b"{}", JSON)).status == 200
        script.gate.open.set()
        assert [event.payload async for event in events] == [EVENTS[0]]
        async with AsyncClient(target(served.stage), ca=second.path) as other:
            assert await other.healthy()


async def test_what_cannot_be_used_at_a_reload_leaves_the_old_certificate_and_the_log_says_why(
    tmp_path, shown, first, second, caplog
):
    (tmp_path / "expired").mkdir()
    expired = issued(tmp_path / "expired", days=-1)
    broken = {
        "certificate has expired": lambda: replace_files(shown, expired),
        "is not the key of": lambda: shown.key.write_bytes(second.key.read_bytes()),
        "no file of PEM": lambda: shown.key.write_bytes(b""),
        "cannot be used": lambda: shown.path.write_bytes(first.path.read_bytes()[:200]),
        "No such file": shown.path.unlink,
    }
    async with serving(tmp_path, **files(shown)) as stage, following(stage.services.network):
        for why, spoil in broken.items():
            caplog.clear()
            spoil()
            stage.services.network.reload()
            await eventually(lambda why=why: any(why in getattr(each, "why", "") for each in caplog.records))
            assert await asyncio.to_thread(shown_at, stage.rpc.port) == first.path.read_bytes()
            replace_files(shown, first)
        replace_files(shown, second)
        stage.services.network.reload()
        await asyncio.to_thread(wait_until_shown, stage.rpc.port, second)


def test_a_certificate_that_clients_would_refuse_is_refused_at_the_start(tmp_path):
    expired = issued(tmp_path, days=-1)
    made = serving(tmp_path, **files(expired))
    with pytest.raises(SettingsError, match=r"^tls_cert: .*certificate.pem: certificate has expired; have a new one"):
        asyncio.run(made.__aenter__())


def test_one_that_expires_soon_is_warned_about(tmp_path, caplog):
    soon = issued(tmp_path, days=10)
    with caplog.at_level(logging.WARNING):
        made = serving(tmp_path, **files(soon))
        asyncio.run(_entered(made))
    assert [each.message for each in caplog.records] == ["the certificate expires soon"]


async def _entered(made):
    async with made:
        pass


def test_a_key_with_a_password_is_refused_without_a_prompt(tmp_path, first):
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(first.key.read_bytes(), None)
    locked = tmp_path / "locked.pem"
    encryption = serialization.BestAvailableEncryption(b"secret")
    kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked.write_bytes(key.private_bytes(*kinds, encryption))
    with pytest.raises(SettingsError, match=r"locked\.pem has a password"):
        Network(_options(tls_cert=first.path, tls_key=locked))


def _options(**given):
    from quizglass_server.config.settings import NetworkOptions

    return NetworkOptions(**given)


async def test_mutual_tls_takes_clients_of_the_named_authority_alone(tmp_path, shown, first, second):
    """Both certificates are their own authorities."""
    demanded = {**files(shown), "tls_client_ca": second.path}
    async with web_serving(tmp_path, **demanded) as served:
        roots = first.path.read_bytes()
        own = grpc.ssl_channel_credentials(roots, second.key.read_bytes(), second.path.read_bytes())
        foreign = grpc.ssl_channel_credentials(roots, first.key.read_bytes(), first.path.read_bytes())
        async with AsyncClient(target(served.stage), credentials=own) as client:
            assert await client.healthy()
        for wrong in (grpc.ssl_channel_credentials(roots), foreign):
            async with AsyncClient(target(served.stage), credentials=wrong, timeout=20) as client:
                with pytest.raises(ServerUnavailable):
                    await client.capabilities()
        context = trusting(first)
        context.load_cert_chain(second.path, second.key)
        async with https(served, context) as wire:
            assert (await wire.ask("GET", "/health")).status == 200
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            async with https(served, trusting(first)) as wire:
                await wire.ask("GET", "/health")


async def test_mutual_tls_refuses_a_certificate_of_the_right_authority_that_has_expired(tmp_path, shown, first):
    """It is its own authority, so that its time alone is what is wrong with it."""
    folders = [tmp_path / "expired", tmp_path / "valid"]
    for folder in folders:
        folder.mkdir()
    expired, valid = issued(folders[0], days=-1), issued(folders[1], name="valid")
    authorities = tmp_path / "authorities.pem"
    authorities.write_bytes(expired.path.read_bytes() + valid.path.read_bytes())
    async with web_serving(tmp_path, **files(shown), tls_client_ca=authorities) as served:
        given = {
            each: grpc.ssl_channel_credentials(first.path.read_bytes(), each.key.read_bytes(), each.path.read_bytes())
            for each in (expired, valid)
        }
        async with AsyncClient(target(served.stage), credentials=given[expired], timeout=20) as client:
            with pytest.raises(ServerUnavailable):
                await client.capabilities()
        async with AsyncClient(target(served.stage), credentials=given[valid]) as client:
            assert await client.healthy()
        contexts = {each: trusting(first) for each in (expired, valid)}
        for each, context in contexts.items():
            context.load_cert_chain(each.path, each.key)
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            async with https(served, contexts[expired]) as wire:
                await wire.ask("GET", "/health")
        async with https(served, contexts[valid]) as wire:
            assert (await wire.ask("GET", "/health")).status == 200


async def test_large_pictures_and_pages_of_the_web_pass_tls_whole(tmp_path, shown):
    async with web_serving(tmp_path, **files(shown)) as served:
        picture = png(3000, 2000, "teal") + bytes(6 << 20)
        async with AsyncClient(target(served.stage), ca=shown.path) as client:
            answer = await client.answer("What?", png(1200, 900))
            assert answer.text == EVENTS[-1].answer
        async with https(served, trusting(shown)) as wire:
            page = await wire.ask("GET", "/main.js")
            assert (page.status, b"logIn" in page.body) == (200, True)
            refused = await wire.ask("POST", CAPABILITIES, picture, JSON)
            assert refused.status == 413
