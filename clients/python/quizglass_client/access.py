"""What a proxy before the server asks of whoever comes: TLS, and words that go with every call."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc

from quizglass_client.errors import InvalidRequest

Metadata = Sequence[tuple[str, str | bytes]]
"""Names and values that go with a call; those of names that end in "-bin" are bytes."""
_NAME = re.compile(r"[0-9a-z_.-]+")


@dataclass(frozen=True, slots=True)
class Access:
    """What a proxy before the server asks of whoever comes. The server itself has no TLS and asks for nothing.

    Raises:
        InvalidRequest: the metadata has a name or a value that cannot be sent.
    """

    credentials: grpc.ChannelCredentials | None = None
    """TLS credentials; None: the connection is not encrypted."""
    metadata: Metadata = field(default=(), repr=False)
    """Goes with every call."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", tuple(_sendable(name, value) for name, value in self.metadata))


def _sendable(name: str, value: str | bytes) -> tuple[str, str | bytes]:
    """One of the metadata as HTTP/2 has it. Errors do not tell its value, which may be a secret."""
    lower = name.lower()
    if not _NAME.fullmatch(lower):
        raise InvalidRequest.of("metadata", f"{name!r} is no name; one has letters, digits, '-', '_' and '.'")
    text = value if isinstance(value, str) else value.decode("latin-1")
    if not lower.endswith("-bin") and not all(" " <= character <= "~" for character in text):
        wrong = "holds a line break or another character that is not printable ASCII; strip what was read from a file"
        raise InvalidRequest.of("metadata", f"the value of {name!r} {wrong}")
    return lower, value


OPEN = Access()
"""For a server that nothing stands before."""


class CallsWithMetadata:
    """The calls of a channel, each with the same metadata. What stubs are made of, in place of the channel.

    An interceptor would do the same to every message of a stream.
    """

    def __init__(self, channel: grpc.Channel | grpc.aio.Channel, metadata: Metadata) -> None:
        self._channel: Any = channel  # blocking or asynchronous
        self._metadata = tuple(metadata)

    def unary_unary(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call of one message each way."""
        return partial(self._channel.unary_unary(*about, **more), metadata=self._metadata)

    def unary_stream(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call that is answered by many messages."""
        return partial(self._channel.unary_stream(*about, **more), metadata=self._metadata)

    def stream_unary(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call of many messages."""
        return partial(self._channel.stream_unary(*about, **more), metadata=self._metadata)

    def stream_stream(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call of many messages each way."""
        return partial(self._channel.stream_stream(*about, **more), metadata=self._metadata)


def tls(roots: bytes | None = None) -> grpc.ChannelCredentials:
    """Credentials of TLS.

    Args:
        roots: certificates that are trusted, PEM; None: those that gRPC brings.
    """
    return grpc.ssl_channel_credentials(root_certificates=roots)
