"""Finds out what answers at an address where gRPC got no answer."""

from __future__ import annotations

import socket

_WAIT_S = 1.0
_ASKED = b"HEAD / HTTP/1.1\r\nHost: quizglass\r\nConnection: close\r\n\r\n"
_SETTINGS = 4
"""Type, in the fourth byte, of the frame with which a server of HTTP/2, and so of gRPC, begins."""


def reason_unreachable(target: str) -> str:
    """Why calls to "host:port" get no answer though something listens there; empty: nothing does, or it is gRPC."""
    host, _, port = target.rpartition(":")
    if not host or not port.isdigit() or (set(host) & set(":/") and not host.startswith("[")):  # such as unix:path
        return ""
    begun = _greeting(host.strip("[]"), int(port))
    if begun is None or begun[3:4] == bytes([_SETTINGS]):
        return ""
    if begun.startswith(b"HTTP/"):
        usual = f"{host}:{int(port) - 1}"
        return (
            f"{target} speaks HTTP, not gRPC: that is the port of the page. Give the gRPC port with --server, the "
            f"address that quizglass-server printed when it was ready; usually it is one less ({usual})"
        )
    return (
        f"something answers at {target}, but it does not speak gRPC in clear; give --ca FILE or --tls if it asks for "
        "TLS, or another address with --server"
    )


def _greeting(host: str, port: int) -> bytes | None:
    """The first bytes of an answer, none of a connection that was closed; None: nothing listens there, or it hangs."""
    try:
        link = socket.create_connection((host, port), _WAIT_S)
    except (OSError, OverflowError, UnicodeError):
        return None
    with link:
        try:
            link.settimeout(_WAIT_S)
            link.sendall(_ASKED)
            return link.recv(16)
        except TimeoutError:
            return None
        except OSError:
            return b""
