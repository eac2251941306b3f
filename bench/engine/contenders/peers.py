"""The peers: the same llama-server without this project around it, as people run it and as Ollama does.

Each is a process that listens on loopback and is ended by its own process id.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any

from bench.engine.contenders.contender import SYSTEM, Ask, Timed
from bench.engine.contenders.shapes import Shape
from bench.engine.contenders.sse import free_port, post_json, post_stream, wait_until_listening
from quizglass_server.engines.generator.process.programs import find_program
from quizglass_server.errors import EngineFailed

PLAIN, OLLAMA = "llama-server", "llama-server as Ollama runs it"
_FLAGS = {
    PLAIN: ("--parallel", "8", "--kv-unified"),
    OLLAMA: ("--parallel", "1", "--no-kv-unified", "--cache-ram", "0"),
}
"""Ollama serves one request at a time by default."""
_START_S, _STOP_S = 120.0, 10.0


class PeerMissing(Exception):
    """A peer cannot be run; the message says why."""


class Peers:
    """How each is started."""

    def __init__(self, folder: Path, threads: int, cells: int) -> None:
        """Args:
        folder: of the logs.
        threads: of every peer, for prompts and for tokens.
        cells: context of every peer, in tokens.
        """
        self._folder = folder.resolve()
        self._threads, self._cells = threads, cells

    async def start(self, name: str, shape: Shape) -> HttpPeer:
        """Start one peer on a model.

        Raises:
            PeerMissing: it did not come up; its log is named.
        """
        try:
            program = find_program()
        except EngineFailed as error:
            raise PeerMissing(error.message) from None
        port, threads = free_port(), str(self._threads)
        flags = ["--model", str(shape.model.resolve())]
        flags += [] if shape.projector is None else ["--mmproj", str(shape.projector.resolve())]
        flags += ["--host", "127.0.0.1", "--port", str(port), "--ctx-size", str(self._cells)]
        flags += ["--threads", threads, "--threads-batch", threads, "--poll", "0", *_FLAGS[name]]
        self._folder.mkdir(parents=True, exist_ok=True)
        log = self._folder / f"{name.replace(' ', '-')}.log"
        with log.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *(*program.command, *flags),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            )
        peer = HttpPeer(name, process, port)
        try:
            await wait_until_listening(port, _START_S, lambda: process.returncode is not None)
            await peer.ready()
        except TimeoutError:
            await peer.close()
            raise PeerMissing(f"it did not come up; its log is {log}") from None
        return peer


class HttpPeer:
    """A server that speaks the OpenAI protocol."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, port: int) -> None:
        self.name = name
        self._process = process
        self.port = port
        """On loopback."""

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def ready(self) -> None:
        """Wait until its model is loaded; TimeoutError where it is not in time."""
        async with asyncio.timeout(_START_S):
            while await post_json(self.port, "/tokenize", {"content": "a"}) is None:  # noqa: ASYNC110 - it tells nothing
                await asyncio.sleep(0.05)

    async def complete(self, ask: Ask, timed: Timed) -> None:
        """A streamed completion, or a chat where there is a picture."""
        body: dict[str, Any] = {"max_tokens": ask.tokens, "temperature": 0, "stream": True}
        if ask.picture is None:
            path, body = "/v1/completions", body | {"prompt": ask.text}
        else:
            path, body = "/v1/chat/completions", body | {"messages": messages(ask)}
        async with contextlib.aclosing(post_stream(self.port, path, body)) as chunks:
            async for chunk in chunks:
                _take(chunk, timed)

    async def close(self) -> None:
        """End the process."""
        if self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


def messages(ask: Ask) -> list[dict[str, Any]]:
    """A request as chat messages."""
    content: list[dict[str, Any]] = [{"type": "text", "text": ask.text}]
    if ask.picture is not None:
        url = "data:image/png;base64," + base64.b64encode(ask.picture).decode()
        content.insert(0, {"type": "image_url", "image_url": {"url": url}})
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]


def _take(chunk: dict[str, Any], timed: Timed) -> None:
    for choice in chunk.get("choices", ())[:1]:
        if text := choice.get("text") or (choice.get("delta") or {}).get("content"):
            timed.add(text)
