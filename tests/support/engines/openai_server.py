"""A server that speaks as much of OpenAI's API as vLLM does, and fails as a test says.

The shapes are those of vLLM 0.32, which was asked by hand, and of llama-server's `/v1`.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from pathlib import Path
from typing import Any

WORDS = ("It", " is", " a", " lamp", ".")


@dataclass
class Script:
    """What the server does; a test changes it between questions."""

    models: list[dict[str, Any]] = field(default_factory=lambda: [{"id": "seer", "owned_by": "vllm"}])
    answers_as: str = "seer"
    words: tuple[str, ...] = WORDS
    tells: bool = True
    sees: bool = True
    token: str = ""
    grammar: str = ""
    """The key by which it is asked for a grammar, of which it writes the first literal; empty: it ignores all."""
    fault: str = ""
    """status 500, status 429, silence, half, garbage, no http, long line or error in the middle; empty: none."""
    first_alike: dict[str, float] = field(default_factory=lambda: {"A": 0.5, " B": 0.25, "B": 0.125})
    """Likeliest first tokens."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of completions."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set once a client has left in the middle of an answer."""
    wait: threading.Event = field(default_factory=threading.Event)
    """What "silence" waits for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Script
    sockets: set[socket.socket]

    def setup(self) -> None:
        super().setup()
        self.sockets.add(self.connection)

    def finish(self) -> None:
        self.sockets.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        if not self._allowed():
            return
        if self.path == "/v1/models":
            self._document(200, {"object": "list", "data": self.script.models})
        else:
            self._document(404, {"error": {"message": "Not Found", "code": 404}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._allowed():
            return
        script = self.script
        script.asked.append(body)
        shown = any(
            piece["type"] == "image_url"
            for message in body["messages"]
            if isinstance(message["content"], list)
            for piece in message["content"]
        )
        if shown and not script.sees:
            self._document(400, {"error": {"message": "seer is not a multimodal model", "code": 400}})
        elif script.grammar and "broken" in json.dumps(body.get(script.grammar, "")):
            self._document(400, {"error": {"message": "Invalid grammar specification", "code": 400}})
        elif script.fault.startswith("status"):
            self._document(int(script.fault.split()[1]), {"error": {"message": "out of luck"}})
        elif script.fault == "garbage":
            self._document(200, ["no", "completion"], kind="text/event-stream", prefix="data: ")
        elif script.fault == "no http":
            self.wfile.write(b"\x00\x01garbage\r\n\r\n")
            self.close_connection = True
        elif script.fault == "silence":
            script.wait.wait(30)
            self.close_connection = True
        else:
            self._stream(body)

    def _stream(self, body: dict[str, Any]) -> None:
        script = self.script
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        words = (self._constrained(body) or script.words)[: body["max_tokens"]]
        try:
            self._event(self._chunk({"role": "assistant", "content": ""}))
            for place, word in enumerate(words):
                if place == 1 and script.fault == "half":
                    self.close_connection = True
                    return
                if place == 1 and script.fault == "error in the middle":
                    self._event({"error": {"message": "out of memory", "code": 500}})
                    return
                if place == 1 and script.fault == "long line":
                    self._chunked(b"data: " + b"x" * (5 << 20))
                    return
                if place == 1 and script.fault == "slow":
                    while not script.wait.is_set():
                        self._chunked(b": ping\n\n")
                        script.wait.wait(0.01)
                self._event(self._chunk({"content": word}, self._logprobs(word) if body.get("logprobs") else None))
            ended = "length" if len(words) < len(script.words) else "stop"
            self._event(self._chunk({}, ended=ended))
            self._event(
                {
                    "model": script.answers_as,
                    "choices": [],
                    "usage": {"prompt_tokens": 7, "completion_tokens": len(words)},
                }
            )
            self._chunked(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            script.left.set()
            self.close_connection = True

    def _constrained(self, body: dict[str, Any]) -> tuple[str, ...]:
        asked = body.get(self.script.grammar) if self.script.grammar else None
        grammar = asked.get("grammar", "") if isinstance(asked, dict) else asked or ""
        return tuple(re.findall(r'"([^"]*)"', grammar)[:1])

    def _logprobs(self, word: str) -> dict[str, Any] | None:
        if not self.script.tells:
            return None
        likely = [{"token": token, "logprob": log(share)} for token, share in self.script.first_alike.items()]
        return {"content": [{"token": word, "logprob": log(0.75), "bytes": None, "top_logprobs": likely}]}

    def _chunk(self, delta: dict[str, Any], logprobs: Any = None, ended: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": ended}
        return {"object": "chat.completion.chunk", "model": self.script.answers_as, "choices": [choice]}

    def _event(self, event: object) -> None:
        self._chunked(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _chunked(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _allowed(self) -> bool:
        wanted = self.script.token
        if wanted and self.headers.get("Authorization") != f"Bearer {wanted}":
            self._document(401, {"error": "Unauthorized"})
            return False
        return True

    def _document(self, status: int, content: object, kind: str = "application/json", prefix: str = "") -> None:
        encoded = (prefix + json.dumps(content) + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def openai_server(script: Script, port: int = 0, certificate: tuple[Path, Path] | None = None) -> Iterator[int]:
    """Serve a script on a port of this machine, with TLS where a certificate and its key are given."""
    handler: Any = type("Handler", (_Handler,), {"script": script, "sockets": set()})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    scheme: Callable[..., Any] | None = None
    if certificate is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(*certificate)
        scheme = tls.wrap_socket
        server.socket = scheme(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        script.wait.set()
        server.shutdown()
        for connection in list(handler.sockets):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
        thread.join()
