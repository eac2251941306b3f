"""What a server, or a proxy before it, asks of whoever comes: TLS, and a token that goes with every call."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
    kept_token: KeptToken | None = field(default=None, repr=False)
    """Goes with every call, too; None: none does, or the metadata has it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", tuple(_sendable(name, value) for name, value in self.metadata))

    @property
    def sent(self) -> Metadata:
        """All that goes with a call that is made now."""
        return self.metadata if self.kept_token is None else (*self.metadata, _bearer(self.kept_token.now))


class KeptToken:
    """The token in a file, which is read again when it changes: another one takes its place before it expires.

    Args:
        path: of the file.
        field: argument that names it, for errors.

    Raises:
        InvalidRequest: it holds no token.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, field: str) -> None:
        self._path, self._field = path, field
        self._seen = _mark(path)
        self._token = read_token(path, field)

    @property
    def now(self) -> str:
        """The token; while the file cannot be read or holds none, as in the middle of being written, the one before."""
        with suppress(OSError, InvalidRequest):
            if (seen := _mark(self._path)) != self._seen:
                self._token, self._seen = read_token(self._path, self._field), seen
        return self._token


def _mark(path: Path) -> tuple[int, ...]:
    """What tells whether a file is still the same."""
    about = path.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _bearer(token: str) -> tuple[str, str]:
    return "authorization", f"Bearer {token}"


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
        token_file: file that has the token, read again when it changes; None, and no `token`: the one that
            QUIZGLASS_TOKEN_FILE names, if it is set and the metadata has no `authorization`.
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
    kept = None if token_file is None else KeptToken(Path(token_file), field)
    if token is None and kept is None:
        return Access(credentials, metadata)
    if token is not None and not _is_token(token):
        raise InvalidRequest.of(field, "is no token, which is one line of printable ASCII without spaces")
    if credentials is None and not is_local(target):
        raise InvalidRequest.of(field, f"would go to {target} in clear; give ca, or credentials of TLS")
    return Access(credentials, metadata if token is None else [*metadata, _bearer(token)], kept)


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
    """The calls of a channel, each with what a server asks for. What stubs are made of, in place of the channel.

    An interceptor would do the same to every message of a stream.
    """

    def __init__(self, channel: grpc.Channel | grpc.aio.Channel, access: Access) -> None:
        self._channel: Any = channel  # blocking or asynchronous
        self._access = access

    def unary_unary(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call of one message each way."""
        return self._sending(self._channel.unary_unary(*about, **more))

    def unary_stream(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call that is answered by many messages."""
        return self._sending(self._channel.unary_stream(*about, **more))

    def stream_unary(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call of many messages."""
        return self._sending(self._channel.stream_unary(*about, **more))

    def stream_stream(self, *about: Any, **more: Any) -> Callable[..., Any]:
        """A call of many messages each way."""
        return self._sending(self._channel.stream_stream(*about, **more))

    def _sending(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *about, **more: call(*about, metadata=self._access.sent, **more)


def tls(roots: bytes | None = None, own: tuple[bytes, bytes] | None = None) -> grpc.ChannelCredentials:
    """Credentials of TLS.

    Args:
        roots: certificates that are trusted, PEM; None: those that gRPC brings.
        own: key and certificate that the server is shown, PEM; None: none.
    """
    key, certificate = own or (None, None)
    return grpc.ssl_channel_credentials(root_certificates=roots, private_key=key, certificate_chain=certificate)
