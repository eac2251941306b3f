"""Certificates for this machine, and what stands before a server where others reach it: a proxy that ends TLS."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest

from quizglass_server.network.network import Network


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


def issued(folder: Path, *, days: int = 30, name: str = "localhost") -> Certificate:
    """As `certificate`, for another name or time; one that has expired where `days` is below 0."""
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=60)).not_valid_after(now + timedelta(days=days))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    signed = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    pem = serialization.Encoding.PEM
    made.path.write_bytes(signed.public_bytes(pem))
    clear = serialization.NoEncryption()
    made.key.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, clear))
    return made


def replace_files(there: Certificate, by: Certificate) -> None:
    """Put another certificate where one is, as whoever renews it does."""
    for old, new in ((there.path, by.path), (there.key, by.key)):
        fresh = old.with_suffix(".new")
        fresh.write_bytes(new.read_bytes())
        fresh.replace(old)


def shown_at(port: int) -> bytes:
    """The certificate that a port shows, PEM."""
    return ssl.get_server_certificate(("127.0.0.1", port)).encode()


def wait_until_shown(port: int, wanted: Certificate, seconds: float = 60.0) -> None:
    """Wait until a port shows a certificate. Raises TimeoutError."""
    until = time.monotonic() + seconds
    while shown_at(port) != wanted.path.read_bytes():
        if time.monotonic() > until:
            raise TimeoutError(f"port {port} shows another certificate")
        time.sleep(0.05)


@asynccontextmanager
async def following(network: Network) -> AsyncIterator[None]:
    """Have a network's files followed, as a server does."""
    watching = asyncio.create_task(network.watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


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
