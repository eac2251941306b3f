"""What a server, or a proxy before it, asks of whoever comes: TLS, and a token that goes with every call."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import grpc

from quizglass.hosts import is_loopback
from quizglass_client.errors import InvalidRequest
from quizglass_client.files import TOKEN_VARIABLE, read_file

FileName = str | PathLike[str]

Metadata = Sequence[tuple[str, str | bytes]]
"""Names and values that go with a call; those of names that end in "-bin" are bytes."""
_NAME = re.compile(r"[0-9a-z_.-]+")


@dataclass(frozen=True, slots=True)
class Access:
    """What a server, or a proxy before it, asks of whoever comes.

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
"""For a server that asks for nothing, as on this machine."""
_LONGEST_FILE = 1 << 20


def access_to(
    target: str,
    *,
    credentials: grpc.ChannelCredentials | None = None,
    metadata: Metadata = (),
    token: str | None = None,
    token_file: FileName | None = None,
    ca: FileName | None = None,
) -> Access:
    """What goes to a server.

    Args:
        target: where it is.
        credentials: TLS credentials.
        metadata: goes with every call.
        token: goes with every call too, as `authorization: Bearer …`.
        token_file: file that has the token; None, and no `token`: the one that QUIZGLASS_TOKEN_FILE names, if it is set
            and the metadata has no `authorization`.
        ca: file of certificates that are trusted, PEM, in place of credentials.

    Raises:
        InvalidRequest: two say the same, a file does not hold what it should, or the token would leave this machine in
            clear.
        OSError: a file cannot be read.
    """
    if token is not None and token_file is not None:
        raise InvalidRequest.of("token", "and token_file are both given; give one")
    if ca is not None:
        if credentials is not None:
            raise InvalidRequest.of("ca", "and credentials are both given; give one")
        credentials = tls(read_certificates(Path(ca), "ca"))
    field = "token" if token_file is None else "token_file"
    if token is None and token_file is None and not any(name.lower() == "authorization" for name, _ in metadata):
        token_file, field = os.environ.get(TOKEN_VARIABLE) or None, TOKEN_VARIABLE
    text = token if token_file is None else read_token(Path(token_file), field)
    if text is None:
        return Access(credentials, metadata)
    if not _is_token(text):
        raise InvalidRequest.of(field, "is no token, which is one line of printable ASCII without spaces")
    if credentials is None and not is_local(target):
        raise InvalidRequest.of(field, f"would go to {target} in clear; give ca, or credentials of TLS")
    return Access(credentials, [*metadata, ("authorization", f"Bearer {text}")])


def read_certificates(path: Path, field: str) -> bytes:
    """The certificates in a file, PEM. Raises InvalidRequest, which names `field`: there are none."""
    pem = read_file(path, _LONGEST_FILE)
    if b"-----BEGIN CERTIFICATE-----" not in pem:
        raise InvalidRequest.of(field, f"{path} has no certificate; give PEM, which has lines of BEGIN CERTIFICATE")
    return pem


def read_token(path: Path, field: str) -> str:
    """The token in a file. Raises InvalidRequest, which names `field` and not what the file has: it has none."""
    text = read_file(path, _LONGEST_FILE).strip().decode("latin-1")
    if not _is_token(text):
        wrong = f"{path} holds no token, which is one line of printable ASCII without spaces"
        raise InvalidRequest.of(field, wrong)
    return text


def _is_token(text: str) -> bool:
    return bool(text) and all("!" <= character <= "~" for character in text)


def is_local(target: str) -> bool:
    """Whether a target ("host:port", "[host]:port", "unix:path") is on this machine."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    return is_loopback(target.removeprefix("dns:").lstrip("/").rpartition(":")[0].strip("[]"))


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


def tls(roots: bytes | None = None, own: tuple[bytes, bytes] | None = None) -> grpc.ChannelCredentials:
    """Credentials of TLS.

    Args:
        roots: certificates that are trusted, PEM; None: those that gRPC brings.
        own: key and certificate that the server is shown, PEM; None: none.
    """
    key, certificate = own or (None, None)
    return grpc.ssl_channel_credentials(root_certificates=roots, private_key=key, certificate_chain=certificate)
