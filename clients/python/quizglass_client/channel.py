"""Where the server is, and how its channel behaves: retries and time limits are data beside the .proto files."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib import resources
from ipaddress import ip_address

import grpc
from grpc.experimental import ChannelOptions

DEFAULT_TARGET = "127.0.0.1:50061"
# A page of entries or a search result stays below 4 MiB; the rest is room for servers of later versions.
_MAX_RECEIVED_BYTES = 32 * 1024 * 1024
MAX_SENT_BYTES = 32 * 1024 * 1024
"""Largest message that a server takes."""


def open_channel(target: str) -> grpc.Channel:
    """A channel for blocking calls, safe to share between threads; it connects with the first call."""
    return grpc.insecure_channel(target, options=options(target))


def open_async_channel(target: str) -> grpc.aio.Channel:
    """A channel for the event loop that runs.

    Raises:
        RuntimeError: none runs. gRPC would bind the channel to one that nobody runs, and every call would hang.
    """
    asyncio.get_running_loop()
    return grpc.aio.insecure_channel(target, options=options(target))


def options(target: str) -> list[tuple[str, str | int]]:
    """Channel options for a target."""
    chosen: list[tuple[str, str | int]] = [
        ("grpc.service_config", service_config()),
        ("grpc.max_receive_message_length", _MAX_RECEIVED_BYTES),
        ("grpc.max_send_message_length", MAX_SENT_BYTES),
        # Who reads a stream reads it from the wire, without a thread in between for every call.
        (ChannelOptions.SingleThreadedUnaryStream, 1),
    ]
    if is_local(target):
        # gRPC sends even loopback traffic to the proxy named by http_proxy, which cannot reach this machine.
        chosen.append(("grpc.enable_http_proxy", 0))
    return chosen


@cache
def service_config() -> str:
    """Retries and time limits of each method, as JSON (gRPC service config)."""
    return resources.files("quizglass.v1").joinpath("service_config.json").read_text(encoding="utf-8")


def is_local(target: str) -> bool:
    """Whether a target ("host:port", "[host]:port", "unix:path") is on this machine."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    host = target.removeprefix("dns:").lstrip("/").rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
