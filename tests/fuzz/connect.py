"""Requests over Connect, as JSON: the first byte chooses the method, the rest is the request."""

import asyncio
import json
from functools import cache
from typing import Any

from quizglass_server.rpc.connect import ConnectMethod, connect_methods
from tests.fuzz.served import Served

LONGEST_S = 0.25
WORDS = (
    *(
        '"question"',
        '"frames"',
        '"encoded"',
        '"sha256"',
        '"history"',
        '"answer"',
        '"budgetUs"',
        '"memory"',
        '"session"',
    ),
    *('"entry"', '"attributes"', '"pictures"', '"text"', '"filter"', '"kinds"', '"limit"', '"mode"', '"morePictures"'),
    *('"open"', '"holder"', '"output"', '"messages"', '"ask"', '"request"', '"ping"', '"timeFrom"', '"everything"'),
    *('"\\ud800"', "1e999", "NaN", '"Infinity"', "-9223372036854775808", '"SEARCH_MODE_VECTORS"', "null", "[", "{"),
)
_STREAMS = ("Ask", "Attach", "AddEntries")
_ENDLESS = "Attach"
"""The method whose client leaves after the first message: others need not come."""


@cache
def served() -> Served:
    """One server for all inputs."""
    return Served()


@cache
def methods() -> list[ConnectMethod]:
    """Every method that there is over HTTP."""
    return connect_methods(served().rpc.served, served().rpc.limits, 5.0)


def enter(data: bytes) -> None:
    """Answer one request, which must not end as a failure of the server."""
    if not data:
        return
    method, raw = methods()[data[0] % len(methods())], data[1:]
    call = _Call(raw, method.path.rpartition("/")[2])
    served().do(method.app(call.scope(method.path), call.receive, call.send))
    served().rpc.sessions.end()
    assert call.status in (200, 400, 404, 409, 429, 501, 503, 504), (call.status, call.body)
    for error in call.errors():
        assert error["code"] not in ("internal", "unknown", "data_loss"), error


def close() -> None:
    """Stop the server."""
    served().close()


class _Call:
    """One request over HTTP, as an application of ASGI has it."""

    def __init__(self, raw: bytes, method: str) -> None:
        self._streams = method in _STREAMS
        self._raw = b"\0" + len(raw).to_bytes(4, "big") + raw if self._streams else raw
        self._endless = method == _ENDLESS
        self._leaves = asyncio.Event()
        self._received = False
        self.status = 0
        self.body = b""

    def scope(self, path: str) -> dict[str, Any]:
        kind = b"application/connect+json" if self._streams else b"application/json"
        headers = [(b"content-type", kind), (b"host", b"localhost")]
        about = {"type": "http", "method": "POST", "scheme": "http", "root_path": "", "query_string": b""}
        return {**about, "path": path, "headers": headers, "client": ("127.0.0.1", 1)}

    async def receive(self) -> dict[str, Any]:
        if self._received:
            await self._leaves.wait()
            return {"type": "http.disconnect"}
        self._received = True
        return {"type": "http.request", "body": self._raw, "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body += message["body"]
            if self._endless:
                self._leaves.set()

    def errors(self) -> list[dict[str, Any]]:
        """What the answer refuses, if it does."""
        if not self._streams:
            return [] if self.status == 200 else [json.loads(self.body)]
        told, body = [], self.body
        while body:
            flags, end = body[0], 5 + int.from_bytes(body[1:5], "big")
            if flags & 2 and "error" in (last := json.loads(body[5:end])):
                told.append(last["error"])
            body = body[end:]
        return told
