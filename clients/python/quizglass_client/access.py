"""What a proxy before the server asks of whoever comes: TLS, and words that go with every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc

Metadata = Sequence[tuple[str, str | bytes]]
"""Names, in lower case, and values that go with a call; those of names that end in "-bin" are bytes."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a proxy before the server asks of whoever comes. The server itself has no TLS and asks for nothing."""

    credentials: grpc.ChannelCredentials | None = None
    """Of TLS; None: the connection is not encrypted."""
    metadata: Metadata = ()
    """Goes with every call."""


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
