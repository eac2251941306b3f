"""Which web pages may speak to the server: its own, and those of origins that the operator names.

A page from anywhere can send requests to a server on localhost, under its own name or (by pointing that at 127.0.0.1)
under one of its choice. Browsers say which: in `Origin` and in `Host`. Both are compared with what is allowed before
anything else is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Origins:
    """What is allowed.

    Args:
        host: address that the server listens on; browsers may call it by this.
        named: origins that the operator names, "https://glasses.example".
    """

    def __init__(self, host: str, named: Iterable[str] = ()) -> None:
        self._named = frozenset(named)
        self._hosts = _LOOPBACK | {host.lower()} | {_host(urlsplit(origin).netloc) for origin in self._named}

    def takes_host(self, host: str | None, scheme: str = "http") -> bool:
        """Whether the server is called by one of its names. Over TLS it is called as its certificate says: a browser
        does not go on where a name was pointed at this machine that is not in it."""
        return host is not None and (scheme == "https" or _host(host) in self._hosts)

    def takes_origin(self, origin: str | None, host: str | None, scheme: str) -> bool:
        """Whether a request may come from a page of an origin; one that comes from no page has none."""
        return origin is None or origin in self._named or self.is_own(origin, host, scheme)

    def is_own(self, origin: str, host: str | None, scheme: str) -> bool:
        """Whether an origin is that of the server itself, as it is called in this request."""
        return host is not None and origin.lower() == f"{scheme}://{host.lower()}"


def _host(host: str) -> str:
    """The name in a `Host` header, without its port; empty if it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
