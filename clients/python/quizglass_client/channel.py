"""Where the server is, and how its channel behaves: retries and time limits are data beside the .proto files."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib import resources

import grpc
from grpc.experimental import ChannelOptions

from quizglass import PORT
from quizglass_client.access import OPEN, Access, is_local
from quizglass_client.errors import InvalidRequest

DEFAULT_TARGET = f"127.0.0.1:{PORT}"
_SCHEMES = ("unix:", "unix-abstract:", "vsock:", "dns:", "ipv4:", "ipv6:", "xds:")
# A page of entries or a search result stays below 4 MiB; the rest is room for servers of later versions.
_MAX_RECEIVED_BYTES = 32 * 1024 * 1024
MAX_SENT_BYTES = 32 * 1024 * 1024
"""Largest message that a server takes."""


KEEPALIVE_S = 30.0
"""Silence after which a connection is asked whether it is alive; longer than the least that servers permit."""
_KEEPALIVE_TIMEOUT_S = 10.0
_MOST_MS = (1 << 31) - 1
_MOST_PORT = (1 << 16) - 1
"""Of an option of gRPC: 24 days."""
_BACKOFF_MS = 200
_LONGEST_BACKOFF_MS = 5000


def open_channel(target: str, *, access: Access = OPEN) -> grpc.Channel:
    """A channel for blocking calls, safe to share between threads; it connects with the first call."""
    if access.credentials is None:
        return grpc.insecure_channel(target, options=options(target))
    return grpc.secure_channel(target, access.credentials, options=options(target))


def open_async_channel(
    target: str, keepalive: float | None = KEEPALIVE_S, *, access: Access = OPEN, shared: bool = True
) -> grpc.aio.Channel:
    """A channel for the event loop that runs.

    Args:
        target: where the server is.
        keepalive: seconds of silence, while calls are under way, after which the connection is asked whether it is
            alive; None: never.
        access: what a proxy before the server asks for.
        shared: whether channels to the same server may share a connection.

    Raises:
        RuntimeError: none runs. gRPC would bind the channel to one that does not run, and every call would hang.
    """
    asyncio.get_running_loop()
    own = [] if shared else [("grpc.use_local_subchannel_pool", 1)]
    chosen = [*options(target, keepalive), *own]
    if access.credentials is None:
        return grpc.aio.insecure_channel(target, options=chosen)
    return grpc.aio.secure_channel(target, access.credentials, options=chosen)


def options(target: str, keepalive: float | None = KEEPALIVE_S) -> list[tuple[str, str | int]]:
    """Channel options for a target, and for seconds of silence that need no answer (None: all of them).

    Raises:
        InvalidRequest: the target is no address.
    """
    check_target(target)
    chosen: list[tuple[str, str | int]] = [
        ("grpc.service_config", service_config()),
        ("grpc.max_receive_message_length", _MAX_RECEIVED_BYTES),
        ("grpc.max_send_message_length", MAX_SENT_BYTES),
        # Who reads a stream reads it from the wire, without a thread in between for every call.
        (ChannelOptions.SingleThreadedUnaryStream, 1),
        ("grpc.initial_reconnect_backoff_ms", _BACKOFF_MS),
        ("grpc.min_reconnect_backoff_ms", _LONGEST_BACKOFF_MS),
        ("grpc.max_reconnect_backoff_ms", _LONGEST_BACKOFF_MS),
    ]
    if keepalive is not None:
        chosen += [
            ("grpc.keepalive_time_ms", round(min(keepalive * 1000, _MOST_MS))),
            ("grpc.keepalive_timeout_ms", round(_KEEPALIVE_TIMEOUT_S * 1000)),
        ]
    if is_local(target):
        # gRPC sends even loopback traffic to the proxy named by http_proxy, which cannot reach this machine.
        chosen.append(("grpc.enable_http_proxy", 0))
    return chosen


@cache
def service_config() -> str:
    """Retries and time limits of each method, as JSON (gRPC service config)."""
    return resources.files("quizglass.v1").joinpath("service_config.json").read_text(encoding="utf-8")


def check_target(target: str) -> None:
    """See that a target can be an address: gRPC would look for a host of that name, in vain.

    Raises:
        InvalidRequest: it is neither "host:port" nor a target with a scheme that gRPC knows, such as "unix:path".
    """
    host, _, port = target.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    named = bool(host) and (bracketed or not set(host) & set(":/[]")) and port.isascii() and port.isdigit()
    if not target.startswith(_SCHEMES) and not named:
        advice = f"give HOST:PORT of the gRPC port, such as {DEFAULT_TARGET}; http://… is the page's address"
        raise InvalidRequest.of("target", f"{target!r} is no address; {advice}")
    if named and not 0 < int(port) <= _MOST_PORT:  # gRPC would take the rest of a division, another server's port
        raise InvalidRequest.of("target", f"{port[:20]} is no port; give one from 1 to {_MOST_PORT}")
