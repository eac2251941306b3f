"""A small client for servers that stream JSON as server-sent events over HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from time import monotonic
from typing import Any

_LOOPBACK = "127.0.0.1"
_LINE_BYTES = 1 << 22
_POLL_S = 0.05


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])


async def wait_until_listening(port: int, seconds: float, gone: Callable[[], bool]) -> None:
    """Wait for a server.

    Raises:
        TimeoutError: it did not listen in time, or `gone` says that it never will.
    """
    until = monotonic() + seconds
    while True:
        try:
            _, writer = await asyncio.open_connection(_LOOPBACK, port)
        except OSError:
            if gone() or monotonic() > until:
                raise TimeoutError from None
            await asyncio.sleep(_POLL_S)
        else:
            writer.close()
            return


async def post_json(port: int, path: str, body: object) -> Any:
    """POST a JSON body: the JSON of the response, or None where the server refuses or leaves."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {_LOOPBACK}\r\nContent-Type: application/json\r\n"
    try:
        reader, writer = await asyncio.open_connection(_LOOPBACK, port, limit=_LINE_BYTES)
        writer.write(f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)
        whole = await reader.read()
        writer.close()
    except OSError:
        return None
    first, _, found = whole.partition(b"\r\n\r\n")
    return json.loads(found) if b" 200 " in first[:16] else None


async def post_stream(port: int, path: str, body: object) -> AsyncGenerator[Any, None]:
    """POST a JSON body and yield the JSON of each event until `[DONE]`.

    Raises:
        ConnectionError: the server refused, or its answer ended early.
    """
    reader, writer = await asyncio.open_connection(_LOOPBACK, port, limit=_LINE_BYTES)
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {_LOOPBACK}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)
    try:
        await writer.drain()
        chunked = await _accepted(reader, path)
        async for line in _lines(reader, chunked):
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                return
            yield json.loads(data)
        raise ConnectionError(f"{path}: the stream ended without [DONE]")
    finally:
        writer.close()


async def _accepted(reader: asyncio.StreamReader, path: str) -> bool:
    """Read the head of the answer; whether its body is chunked."""
    status = (await reader.readline()).decode("latin-1").split(" ", 2)
    chunked = False
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        chunked |= name.lower() == "transfer-encoding" and value.strip().lower() == "chunked"
    if len(status) < 2 or status[1] != "200":
        said = (await reader.read(2000)).decode("utf-8", "replace")
        raise ConnectionError(f"{path}: {' '.join(status).strip()}: {said}")
    return chunked


async def _lines(reader: asyncio.StreamReader, chunked: bool) -> AsyncIterator[bytes]:
    """Lines of the body."""
    rest = b""
    while piece := await _piece(reader, chunked):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest


async def _piece(reader: asyncio.StreamReader, chunked: bool) -> bytes:
    if not chunked:
        return await reader.read(1 << 16)
    size = int((await reader.readline() or b"0").split(b";")[0], 16)
    piece = await reader.readexactly(size)
    await reader.readexactly(2)
    return piece
