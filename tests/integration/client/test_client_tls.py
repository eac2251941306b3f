"""Clients through a proxy that ends TLS and checks who calls, over real sockets."""

import asyncio

import grpc
import pytest

from quizglass_client import (
    AsyncClient,
    AsyncSession,
    Client,
    ClientError,
    Entry,
    InvalidRequest,
    ServerUnavailable,
    Session,
)
from quizglass_client.cli import main
from tests.support.rpc_fakes import png, serving
from tests.support.tls import certificate, tls_proxy

TOKEN = [("authorization", "Bearer secret")]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trusted(shown):
    return grpc.ssl_channel_credentials(shown.path.read_bytes())


@pytest.fixture
async def proxy(tmp_path, shown):
    """Address of a proxy that ends TLS before a server."""
    async with serving(tmp_path) as stage, tls_proxy(stage.rpc.port, shown) as target:
        yield target


class Recorder(grpc.aio.ServerInterceptor):
    """Serves nothing, and notes what every call says of itself."""

    def __init__(self):
        self.calls = {}

    async def intercept_service(self, continuation, details):
        self.calls[details.method.rpartition("/")[2]] = dict(details.invocation_metadata).get("authorization")
        return


@pytest.fixture
async def recorder():
    made = Recorder()
    server = grpc.aio.server(interceptors=[made])
    made.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield made
    await server.stop(None)


async def test_questions_and_sessions_pass_a_proxy_that_ends_tls(proxy, trusted):
    async with AsyncClient(proxy, credentials=trusted) as client:
        assert (await client.answer("What?", png())).text == "45 crowns"
    async with AsyncSession(proxy, credentials=trusted) as session:
        assert (await session.answer("What?", png())).text == "45 crowns"


async def test_a_certificate_that_is_not_trusted_is_told_of(proxy):
    with pytest.raises(ServerUnavailable, match=r"nothing answers at .* with a certificate that is trusted"):
        async with AsyncSession(proxy, credentials=grpc.ssl_channel_credentials(), connect_timeout=60):
            pass


async def test_every_call_brings_what_the_proxy_asks_for(recorder):
    async with AsyncClient(recorder.target, metadata=TOKEN) as client:
        await client.healthy()
        calls = [
            client.answer("What?"),
            client.capabilities(),
            client.search("Velmora"),
            client.get_entry("velmora"),
            anext(client.list_entries()),
            client.delete_entry("velmora"),
            client.get_picture(b"p" * 32),
            client.compact(),
            client.memory.search(),
            client.memory.thumbnail("1"),
            client.memory.forget(everything=True),
            client.memory.compact(),
            client.memory.stats(),
        ]
        for call in calls:
            with pytest.raises(ClientError):
                await call
        client._useful_side = 0
        with pytest.raises(ClientError):
            await client.add_entries([Entry("velmora", "Velmora")])
    with pytest.raises(ClientError):
        async with AsyncSession(recorder.target, metadata=TOKEN):
            pass
    assert set(recorder.calls.values()) == {"Bearer secret"}
    assert len(recorder.calls) == len(calls) + 3  # and the first one, the entries and the session


async def test_metadata_that_cannot_be_sent_is_told_at_once_and_its_value_is_not(recorder):
    for value in ("Bearer secret\n", "Bearer schlüssel", b"Bearer secret\r\n"):
        for made in (AsyncClient, AsyncSession, Client, Session):
            with pytest.raises(InvalidRequest, match=r"metadata: the value of 'authorization'") as refusal:
                made(recorder.target, metadata=[("authorization", value)])
            assert refusal.value.field == "metadata"
            assert "secret" not in refusal.value.message
    with pytest.raises(InvalidRequest, match="'a b' is no name"):
        AsyncClient(recorder.target, metadata=[("a b", "c")])


async def test_names_of_metadata_may_be_written_as_headers_usually_are(recorder):
    async with AsyncClient(recorder.target, metadata=[("Authorization", "Bearer secret")]) as client:
        with pytest.raises(ClientError):
            await client.capabilities()
    with pytest.raises(ClientError):
        async with AsyncSession(recorder.target, metadata=[("Authorization", b"Bearer secret")]):
            pass
    assert recorder.calls == {"GetCapabilities": "Bearer secret", "Converse": "Bearer secret"}


async def test_the_command_speaks_tls_and_sends_a_token(proxy, shown, recorder, tmp_path, capsys):
    def run(*words):
        return asyncio.to_thread(main, [*map(str, words)])

    token = tmp_path / "token"
    token.write_text("secret\n")
    assert await run("--server", proxy, "--ca", shown.path, "--token-file", token, "ask", "-", "What?") == 0
    assert await run("chat", "--server", proxy, "--ca", shown.path, "--json") == 0
    assert await run("ask", "-", "What?", "--server", proxy, "--tls") == 3
    assert "CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err.replace("\n", "")
    assert await run("health", "--server", proxy, "--tls") == 3
    assert "running there, behind a certificate that is trusted?" in capsys.readouterr().err.replace("\n", " ")
    await run("ask", "-", "What?", "--server", recorder.target, "--token-file", token)
    assert recorder.calls == {"Ask": "Bearer secret"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--server", "glasses.example:443", "--token-file", "TOKEN"], "in clear; give --ca or --tls as well"),
        (["--tls", "--token-file", "EMPTY"], "holds no token"),
        (["--tls", "--token-file", "LINES"], "holds no token"),
        (["--ca", "TOKEN"], "has no certificate; give PEM"),
    ],
)
def test_a_token_that_would_go_in_clear_and_files_that_hold_nothing_are_wrong_usage(words, says, tmp_path, capsys):
    for name, content in {"TOKEN": "secret", "EMPTY": "\n", "LINES": "one\ntwo"}.items():
        (tmp_path / name).write_text(content)
    named = [str(tmp_path / word) if word.isupper() else word for word in words]
    assert main([*named, "health"]) == 2
    assert says in capsys.readouterr().err.replace("\n", " ")
