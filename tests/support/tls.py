"""A certificate for this machine, and what stands before a server where others reach it: a proxy that ends TLS."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Certificate:
    """PEM files: a certificate that says itself that it is right, and its key."""

    path: Path
    key: Path


def certificate(folder: Path) -> Certificate:
    """One for localhost and 127.0.0.1."""
    if shutil.which("openssl") is None:
        pytest.skip("no certificate can be made: apt install openssl")
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(made.key), "-out", str(made.path)),
        ],
        check=True,
        capture_output=True,
    )
    return made


@asynccontextmanager
async def tls_proxy(port: int, shown: Certificate) -> AsyncIterator[str]:
    """Ends TLS, and passes what is said on to a port of this machine; its address."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(shown.path, shown.key)
    tls.set_alpn_protocols(["h2"])
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", port)
        for source, sink in ((reader, onward), (there, writer)):
            tasks.add(asyncio.create_task(_pass(source, sink)))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
    finally:
        sink.close()
