"""What an application of ASGI is, in types, and the answers that are given whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


class Gone(Exception):
    """The client has closed the connection."""


def header(scope: Scope, name: bytes) -> str | None:
    """A header of a request by its name in small letters, the first where there are several."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


async def body_of(receive: Receive) -> bytes:
    """The whole body of a request.

    Raises:
        Gone: it will never be whole.
    """
    pieces = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Gone
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


async def while_connected(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do work for a request whose body was received; it is cancelled when the client goes away."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.wait({working, gone})
    if not working.cancelled():
        working.result()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] == "http.request":
        pass


async def respond(send: Send, status: int, body: bytes, content_type: str, headers: Headers = ()) -> None:
    """Send a whole response."""
    about = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*about, *headers]})
    await send({"type": "http.response.body", "body": body})


async def respond_json(send: Send, status: int, content: Mapping[str, Any], headers: Headers = ()) -> None:
    """Send a JSON object."""
    await respond(send, status, json.dumps(content, ensure_ascii=False).encode(), "application/json", headers)
