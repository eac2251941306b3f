"""`/health` and `/ready`: for whoever runs the server, with nothing in them that others must not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus

from quizglass_server.web.http.asgi import Headers, Receive, Scope, Send, header, respond, respond_json
from quizglass_server.web.http.gate import Route

Ready = Callable[[], Mapping[str, bool]]
"""Parts of the server, and whether each can do its work right now."""
_NOT_KEPT: Headers = ((b"cache-control", b"no-store"),)
_RETRY_AFTER = (b"retry-after", b"1")


def health_routes(ready: Ready) -> dict[str, Route]:
    """The routes, under the names that Kubernetes gives them too.

    Args:
        ready: the parts that have to be ready for requests to be welcome.
    """

    async def health(scope: Scope, receive: Receive, send: Send) -> None:
        await _say(scope, send, HTTPStatus.OK, "ok", {"status": "ok"})

    async def readiness(scope: Scope, receive: Receive, send: Send) -> None:
        parts = dict(ready())
        missing = [name for name, is_ready in parts.items() if not is_ready]
        status = HTTPStatus.SERVICE_UNAVAILABLE if missing else HTTPStatus.OK
        word = "not ready" if missing else "ready"
        text = f"{word}: {', '.join(missing)}" if missing else word
        await _say(scope, send, status, text, {"status": word, "parts": parts})

    alive, serving = Route(health, ("GET",), public=True), Route(readiness, ("GET",), public=True)
    return {"/health": alive, "/healthz": alive, "/livez": alive, "/ready": serving, "/readyz": serving}


async def _say(scope: Scope, send: Send, status: HTTPStatus, text: str, content: Mapping[str, object]) -> None:
    """Answer in a line of text, or in JSON for clients that ask for it."""
    headers = [*_NOT_KEPT, *([] if status == HTTPStatus.OK else [_RETRY_AFTER])]
    if "application/json" in (header(scope, b"accept") or "").lower():
        await respond_json(send, status, content, headers)
    else:
        await respond(send, status, f"{text}\n".encode(), "text/plain; charset=utf-8", headers)
