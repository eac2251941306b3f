"""Finds out what answers at an address where gRPC got no answer."""

from __future__ import annotations

import socket

_WAIT_S = 1.0
_ASKED = b"HEAD / HTTP/1.1\r\nHost: quizglass\r\nConnection: close\r\n\r\n"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of HTTP/2 begins: the preface and empty settings."""
_SETTINGS = 4
"""Type, in the fourth byte, of the frame with which a server of HTTP/2, and so of gRPC, begins."""


def reason_unreachable(target: str) -> str:
    """Why calls to "host:port" get no answer though something listens there; empty: nothing does, or it is gRPC."""
    host, _, port = target.rpartition(":")
    if not host or not port.isdigit() or (set(host) & set(":/") and not host.startswith("[")):  # such as unix:path
        return ""
    where = host.strip("[]"), int(port)
    begun = _greeting(where, _ASKED)
    if begun is None or _is_http2(begun):
        return ""
    if begun.startswith(b"HTTP/"):
        if _is_http2(_greeting(where, _PREFACE)):  # a proxy takes both, and what is behind it does not answer
            return ""
        usual = f"{host}:{int(port) - 1}"
        return (
            f"{target} speaks HTTP, not gRPC: that is the port of the page. Give the gRPC port with --server, the "
            f"address that quizglass-server printed when it was ready; usually it is one less ({usual})"
        )
    return (
        f"something answers at {target}, but it does not speak gRPC in clear; give --ca FILE or --tls if it asks for "
        "TLS, or another address with --server"
    )


def _is_http2(begun: bytes | None) -> bool:
    return begun is not None and begun[3:4] == bytes([_SETTINGS])


def _greeting(where: tuple[str, int], said: bytes) -> bytes | None:
    """The first bytes of an answer, none of a connection that was closed; None: nothing listens there, or it hangs."""
    try:
        link = socket.create_connection(where, _WAIT_S)
    except (OSError, OverflowError, UnicodeError):
        return None
    with link:
        try:
            link.settimeout(_WAIT_S)
            link.sendall(said)
            return link.recv(16)
        except TimeoutError:
            return None
        except OSError:
            return b""
