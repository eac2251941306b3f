"""The peers: llama-cpp-python's own server, its continuous-batching example server, and `Llama` with its handler.

They live in a virtual environment of their own under the work directory, made on first use from the package index
(pip's cache has the compiled wheel where the project was installed), so that the project's dependencies stay its own.
Each is a process that listens on loopback and is ended by its own process id.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from bench.engine.contenders import handler
from bench.engine.contenders.contender import SYSTEM, Ask, Contender, Timed
from bench.engine.contenders.shapes import Shape
from bench.engine.contenders.sse import free_port, post_stream, wait_until_listening

SERVER, EXAMPLE, HANDLER = "llama_cpp.server", "example server", "Llama with its handler"
_AMX_PROBE = Path(__file__).parents[3] / "server" / "native" / "amx_probe.c"
_BESIDE_AMX = {
    "avx_vnni": "AVX_VNNI",
    "avx512f": "AVX512",
    "avx512vbmi": "AVX512_VBMI",
    "avx512_vnni": "AVX512_VNNI",
    "avx512_bf16": "AVX512_BF16",
}
"""Flags of /proc/cpuinfo and what ggml's build calls them, beyond AVX2, FMA, F16C and BMI2, which it always takes."""
_EXAMPLE_NEEDS = ("openai", "safetensors", "websockets")
_INSTALL_S, _START_S, _STOP_S = 1800.0, 120.0, 10.0
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for c in m.content %}{% if c.type == 'image_url' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}"
    "{{ c.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
"""The handler's own chat format, for the example server."""


class PeerMissing(Exception):
    """A peer cannot be run; the message says why."""


class Peers:
    """Where the peers are installed, and how each is started."""

    def __init__(self, folder: Path, threads: int, cells: int, sequences: int) -> None:
        """Args:
        folder: of the environment, the sources and the logs.
        threads: of every peer, for prompts and for tokens.
        cells: context of every peer, in tokens.
        sequences: most prompts the example server batches.
        """
        self._folder = folder.resolve()
        self._threads, self._cells, self._sequences = threads, cells, sequences
        self.python = self._folder / "peers-venv" / "bin" / "python"
        """Of the environment; it may not exist yet."""
        self._version = metadata.version("llama-cpp-python")

    def install(self, say: Callable[[str], None]) -> None:
        """Make the environment where it is missing or of another version, with llama.cpp compiled for this machine.

        Raises:
            PeerMissing: the package index or the compiler failed.
        """
        self._make(say, [self._server_package, *_EXAMPLE_NEEDS, "pillow"], native_definitions())
        if not self._example.is_file():
            say("fetching llama-cpp-python's source distribution (once)")
            sources = self._folder / "peers-src"
            exact = f"llama-cpp-python=={self._version}"
            self._pip("download", "--no-binary", "llama-cpp-python", "--no-deps", "-d", str(sources), exact)
            self._unpack(sources)

    def install_server(self, say: Callable[[str], None]) -> None:
        """Make it for the server alone, with the wheel that the project itself was installed from, if that is there.

        Raises:
            PeerMissing: the package index or the compiler failed.
        """
        self._make(say, [*_wheels(), self._server_package])

    async def start(self, name: str, shape: Shape) -> Contender:
        """Start one peer on a model.

        Raises:
            PeerMissing: it did not come up; its log is named.
        """
        starters = {SERVER: self._server, EXAMPLE: self._example_server, HANDLER: self._handler}
        return await starters[name](shape)

    async def start_seeing(self, shape: Shape) -> HttpPeer:
        """Start llama-cpp-python's server with its handler of pictures, for chats alone.

        Raises:
            PeerMissing: it did not come up; its log is named.
        """
        return await self._server(shape, {"chat_format": "qwen2.5-vl", "clip_model_path": shape.projector.resolve()})

    @property
    def _example(self) -> Path:
        return self._folder / "peers-src" / "example" / "server.py"

    @property
    def _server_package(self) -> str:
        return f"llama-cpp-python[server]=={self._version}"

    @property
    def _place(self) -> Path:
        """Where peers are started: there llama.cpp finds the modules that a wheel for every CPU has."""
        module = next(self._folder.glob("peers-venv/lib/python*/site-packages/llama_cpp/lib/libggml-cpu-*.so"), None)
        return self._folder if module is None else module.parent

    def _make(self, say: Callable[[str], None], wanted: list[str], definitions: Sequence[str] = ()) -> None:
        stamp = self._folder / "peers-venv" / "installed.json"
        what = [*wanted, *definitions]
        if not (stamp.is_file() and json.loads(stamp.read_text()) == what):
            say("installing the peers into an environment of their own (once)")
            venv.create(self._folder / "peers-venv", with_pip=True, clear=True)
            anew = ("--no-cache-dir",) if definitions else ()  # the cache has what was built without them
            self._pip("install", *anew, *wanted, definitions=definitions)
            stamp.write_text(json.dumps(what))

    def _pip(self, *arguments: str, definitions: Sequence[str] = ()) -> None:
        command = [str(self.python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
        given = " ".join([*filter(None, [os.environ.get("CMAKE_ARGS")]), *definitions])
        environment = os.environ | ({"CMAKE_ARGS": given} if given else {})
        try:
            subprocess.run(command, check=True, timeout=_INSTALL_S, stdout=sys.stderr, env=environment)
        except (subprocess.SubprocessError, OSError) as error:
            raise PeerMissing(f"pip {arguments[0]} failed: {error}") from None

    def _unpack(self, sources: Path) -> None:
        (archive,) = sources.glob("llama_cpp_python-*.tar.gz")
        with tarfile.open(archive) as tar:
            member = next(m for m in tar if m.name.endswith("/examples/server/server.py"))
            content = tar.extractfile(member)
            if content is None:
                raise PeerMissing(f"{archive.name} has no examples/server/server.py")
            self._example.parent.mkdir(exist_ok=True)
            self._example.write_bytes(content.read())

    async def _server(self, shape: Shape, more: Mapping[str, object] | None = None) -> HttpPeer:
        port = free_port()
        flags: dict[str, object] = {"host": "127.0.0.1", "port": port, "n_ctx": self._cells, **(more or {})}
        flags |= {"model": shape.model.resolve()}
        flags |= {"n_threads": self._threads, "n_threads_batch": self._threads, "flash_attn": "true"}
        # Its defaults cut a stream short when another request comes, and compute logits nobody asks for.
        flags |= {"interrupt_requests": "false", "logits_all": "false", "verbose": "false"}
        pairs = (str(part) for name, value in flags.items() for part in (f"--{name}", value))
        return await self._listening(SERVER, ["-m", "llama_cpp.server", *pairs], port)

    async def _example_server(self, shape: Shape) -> Contender:
        port = free_port()
        model: dict[str, Any] = {"path": str(shape.model.resolve()), "alias": shape.name, "n_ctx": self._cells}
        model |= {"threads": self._threads, "threads_batch": self._threads, "n_seq_max": self._sequences}
        model |= {"n_batch": 512, "n_ubatch": 512, "kv_unified": True, "store_logits": False, "flash_attn": True}
        model |= {"chat_template": _TEMPLATE, "mtmd": {"mmproj_path": str(shape.projector.resolve())}}
        config = self._folder / "example-server.json"
        config.write_text(json.dumps({"server": {"host": "127.0.0.1", "port": port}, "model": model}))
        return await self._listening(EXAMPLE, [str(self._example), "-C", str(config)], port)

    async def _listening(self, name: str, arguments: list[str], port: int) -> HttpPeer:
        log = self._folder / f"{name.replace(' ', '-')}.log"
        with log.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                str(self.python), *arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self._place
            )
        try:
            await wait_until_listening(port, _START_S, lambda: process.returncode is not None)
        except TimeoutError:
            await _end(process)
            raise PeerMissing(f"it did not come up; its log is {log}") from None
        return HttpPeer(name, process, port)

    async def _handler(self, shape: Shape) -> Contender:
        log = self._folder / "handler.log"
        flags = {"model": shape.model.resolve(), "projector": shape.projector.resolve()}
        numbers = {"context": self._cells, "threads": self._threads}
        arguments = [f"--{key}={value}" for key, value in {**flags, **numbers}.items()]
        with log.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *(str(self.python), handler.__file__, *arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                limit=1 << 24,
            )
        peer = HandlerPeer(process)
        try:
            async with asyncio.timeout(_START_S):
                await peer.ready()
        except (TimeoutError, ConnectionError):
            await _end(process)
            raise PeerMissing(f"it did not come up; its log is {log}") from None
        return peer


class HttpPeer:
    """A server that speaks the OpenAI protocol."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, port: int) -> None:
        self.name = name
        self._process = process
        self.port = port
        """On loopback."""

    async def complete(self, ask: Ask, timed: Timed) -> None:
        """A streamed completion, or a chat where there is a picture."""
        # One of them penalises repetition unless told not to.
        body: dict[str, Any] = {"max_tokens": ask.tokens, "temperature": 0, "repeat_penalty": 1.0, "stream": True}
        if ask.picture is None:
            path, body = "/v1/completions", body | {"prompt": ask.text}
        else:
            path, body = "/v1/chat/completions", body | {"messages": messages(ask)}
        async with contextlib.aclosing(post_stream(self.port, path, body)) as chunks:
            async for chunk in chunks:
                _take(chunk, timed)

    async def close(self) -> None:
        """End the process."""
        await _end(self._process)


class HandlerPeer:
    """`Llama` in a process that this one talks to over its pipes."""

    name = HANDLER

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ready(self) -> None:
        """Wait for its first line; ConnectionError if it ends instead."""
        async for _ in self._lines():
            return

    async def complete(self, ask: Ask, timed: Timed) -> None:
        """One request; a line comes for each token and an empty one at the end."""
        assert self._process.stdin is not None
        request = {"messages": messages(ask), "max_tokens": ask.tokens}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        await self._process.stdin.drain()
        async for line in self._lines():
            if line == b"\n":
                return
            _take(json.loads(line), timed)

    async def close(self) -> None:
        """End the process."""
        await _end(self._process)

    async def _lines(self) -> AsyncIterator[bytes]:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            yield line
        raise ConnectionError("the handler's process ended; see handler.log")


def messages(ask: Ask) -> list[dict[str, Any]]:
    """A request as chat messages."""
    content: list[dict[str, Any]] = [{"type": "text", "text": ask.text}]
    if ask.picture is not None:
        url = "data:image/png;base64," + base64.b64encode(ask.picture).decode()
        content.insert(0, {"type": "image_url", "image_url": {"url": url}})
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]


def _take(chunk: dict[str, Any], timed: Timed) -> None:
    choice = chunk["choices"][0]
    text = choice.get("text") or (choice.get("delta") or {}).get("content")
    if text and not text.startswith("<|"):  # one of them also sends the text of the token that ends an answer
        timed.add(text)


def native_definitions() -> list[str]:
    """What CMake is told to compile llama.cpp for this machine; nothing where what it does by itself works.

    On a processor with AMX some compilers (gcc 12.2 among them) write AMX code that dies, and `-march=native` asks for
    it: there every other instruction set that ggml knows and this processor has is named instead.
    """
    cpu = Path("/proc/cpuinfo")
    flags = set(cpu.read_text(encoding="utf-8").split()) if cpu.is_file() else set()
    if "amx_tile" not in flags or _writes_amx():
        return []
    known = [option for flag, option in _BESIDE_AMX.items() if flag in flags]
    return ["-DGGML_NATIVE=OFF", *(f"-DGGML_{option}=ON" for option in known)]


def _writes_amx() -> bool:
    """Whether this machine's compiler gets AMX right, by the probe that decides it for the project's own wheel."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe"
        compiler = [os.environ.get("CC", "cc"), "-O2", "-mamx-tile", "-mamx-int8", str(_AMX_PROBE), "-o", str(probe)]
        compiled = subprocess.run(compiler, check=False, capture_output=True).returncode == 0
        return compiled and subprocess.run([probe], check=False).returncode == 0


def _wheels() -> list[str]:
    """Has pip look where the project's own llama-cpp-python came from: compiled anew it takes minutes."""
    told = metadata.distribution("llama-cpp-python").read_text("direct_url.json")
    url = urlparse(json.loads(told)["url"]) if told else None
    wheel = Path(unquote(url.path)) if url is not None and url.scheme == "file" else None
    return ["--find-links", str(wheel.parent)] if wheel is not None and wheel.is_file() else []


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
