"""Both backends of the knowledge store, with fake encoders, for tests that hold for either."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from milvus_lite.adapter.grpc.server import start_server_in_thread

from quizglass_server.config.address import MilvusAddress
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.knowledge.interface import KnowledgeStore
from quizglass_server.knowledge.milvus.base import MilvusKnowledge
from quizglass_server.knowledge.milvus.link import MilvusAccess
from tests.support.knowledge.fakes import FakeImageEncoder, FakeTextEncoder, fake_decoding

BACKENDS = ("local", "milvus")


@dataclass(frozen=True)
class Place:
    """Where a test keeps its entries; opening it again finds them."""

    backend: str
    directory: Path
    address: MilvusAddress
    name: str

    async def open(self, **overrides: Any) -> KnowledgeStore:
        """The store, with fake encoders unless told otherwise."""
        fakes = {"text_encoder": FakeTextEncoder(), "image_encoder": FakeImageEncoder(), "decode": fake_decoding}
        arguments: dict[str, Any] = fakes | overrides
        if self.backend == "local":
            return await KnowledgeBase.open(self.directory, **arguments)
        access = MilvusAccess(self.address, timeout_s=arguments.pop("timeout_s", 60.0))
        return await MilvusKnowledge.open(access, **{"name": self.name, **arguments})


def fresh_place(backend: str, directory: Path, address: MilvusAddress) -> Place:
    """A place of its own for one test."""
    return Place(backend, directory, address, f"t{secrets.token_hex(6)}")


@contextmanager
def milvus_lite(directory: Path) -> Iterator[MilvusAddress]:
    """A Milvus Lite that serves on this machine, in this process."""
    server, _, port = start_server_in_thread(str(directory))
    try:
        yield MilvusAddress(f"http://127.0.0.1:{port}", host="127.0.0.1")
    finally:
        server.stop(0)  # what it holds is not written out: the directory goes with the tests


@contextmanager
def milvus_process(directory: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A Milvus Lite in a process of its own, killed at the end."""
    command = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(directory)]
    process = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port below 32768, which the system does not hand out. Each process of tests begins elsewhere."""
    for port in range(10_000 + os.getpid() * 7 % 20_000, 32_768):
        with socket.socket() as held, suppress(OSError):
            held.bind(("127.0.0.1", port))
            return port
    raise AssertionError("every port is in use")
