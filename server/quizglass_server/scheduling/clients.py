"""Whom the current work is for, so that one who asks for much at once takes nobody else's place.

It travels with the context, from where requests come in to whoever shares places out. Nothing here knows what a client
is; for most it is a connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_client: ContextVar[str] = ContextVar("client", default="")


def current_client() -> str:
    """Name of the client that the current work is for; empty where nobody said."""
    return _client.get()


@contextmanager
def asked_by(client: str) -> Iterator[None]:
    """Do the block's work for this client."""
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)
