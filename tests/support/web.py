"""The port for HTTP on a real socket, before a scripted assistant, and a client that says what it wants by bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from quizglass_server.web.http.server import WebServer
from quizglass_server.web.routes import open_listener
from tests.support.rpc_fakes import Stage, serve_stage

ASK = "/quizglass.v1.AssistantService/Ask"
CAPABILITIES = "/quizglass.v1.AssistantService/GetCapabilities"
CHAT = "/v1/chat/completions"
JSON = {"content-type": "application/json"}


@dataclass
class WebStage:
    """A scripted server with its port for HTTP."""

    stage: Stage
    web: WebServer

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.web.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"


@asynccontextmanager
async def web_serving(
    folder: Path, assistant: Any = None, *, kind: type[Stage] = Stage, **settings: Any
) -> AsyncIterator[WebStage]:
    """A server on the test's own event loop, with an assistant that is not scripted where one is given."""
    made = kind(folder, web_port=0, **settings)
    if assistant is not None:
        made.use(assistant, None)
    async with serve_stage(made) as stage:
        assert stage.rpc is not None
        web = await open_listener(stage.services, stage.rpc, stage.services.settings)
        try:
            yield WebStage(stage, web)
        finally:
            await web.stop(0)


@dataclass
class Answer:
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection to a listener."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self.reader, self.writer, self.host = reader, writer, host

    @classmethod
    async def to(cls, served: WebStage, source: str = "127.0.0.1") -> Self:
        """Connect from an address of this machine: to a server, each of 127.0.0.0/8 is another client's."""
        wire = await asyncio.open_connection("127.0.0.1", served.web.port, local_addr=(source, 0))
        return cls(*wire, served.host)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()

    async def say(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def begin(self, method: str, path: str, headers: Mapping[str, str] | None = None) -> None:
        """Send the head of a request; a header that is None is left out."""
        said = {"host": self.host, **(headers or {})}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in said.items() if value is not None),
        ]
        await self.say(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """A whole request and its response."""
        length = {"content-length": str(len(body))} if body or method == "POST" else {}
        await self.begin(method, path, {**length, **(headers or {})})
        await self.say(body)
        return await self.answer()

    async def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of a response."""
        raw = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in raw[1:] if line)
        return int(raw[0].split()[1]), {name.lower(): value for name, value in headers.items()}

    async def answer(self) -> Answer:
        """A response."""
        status, headers = await self.head()
        if "content-length" in headers:
            return Answer(status, headers, await self.reader.readexactly(int(headers["content-length"])))
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while chunk := await self.chunk():
                body += chunk
        return Answer(status, headers, body)

    async def chunk(self) -> bytes:
        """The next piece of a response that comes in pieces; empty at its end."""
        size = int(await self.reader.readline(), 16)
        content = await self.reader.readexactly(size)
        await self.reader.readexactly(2)
        return content

    async def closed(self) -> bool:
        """Whether the server closes the connection."""
        with suppress(ConnectionError):
            while await self.reader.read(65536):
                pass
        return True


async def ask(
    served: WebStage, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Answer:
    """One request on a connection of its own."""
    async with await Wire.to(served) as wire, asyncio.timeout(60):
        return await wire.ask(method, path, body, headers)


def enveloped(message: bytes, flags: int = 0) -> bytes:
    """A message of a stream, as Connect, gRPC and gRPC-Web have it."""
    return bytes([flags]) + len(message).to_bytes(4, "big") + message


def envelopes(body: bytes) -> list[tuple[int, bytes]]:
    """Flags and content of each message of a stream."""
    found = []
    while body:
        length = int.from_bytes(body[1:5], "big")
        found.append((body[0], body[5 : 5 + length]))
        body = body[5 + length :]
    return found
