"""Why an address cannot be listened on, and what to do about it."""

from __future__ import annotations

import errno
import socket

from quizglass.hosts import host_and_port
from quizglass_server.errors import SettingsError

Refusal = OSError | ValueError
"""Of a name that stands for no address, the latter where no name can be so."""


def refusal(host: str, port: int) -> Refusal | None:
    """What listening on an address gives, tried for an instant; None where one of its addresses can be."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        return error
    refused: OSError | None = None
    for family, kind, protocol, _, address in places:
        try:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(address)
                trial.listen()  # two sockets can be bound to a port without a listener
                return None
        except OSError as error:
            refused = error
    return refused


def check_can_listen(host: str, port: int, setting: str = "port") -> None:
    """Whether an address can be listened on; `setting` is the port's name, such as `web_port`.

    Raises:
        SettingsError: as `cannot_listen`.
    """
    why = refusal(host, port)
    if why is not None:
        raise cannot_listen(why, host, port, setting) from why


def cannot_listen(why: Refusal | None, host: str, port: int, setting: str = "port") -> SettingsError:
    """The error for an address that cannot be listened on: which setting is wrong, why, and what to do about it.

    It is no address of this machine, or a port that is in use or that this user may not take; None: unknown.
    """
    told = getattr(why, "strerror", None) or ("it is no name of a host" if isinstance(why, ValueError) else why)
    because = f" ({told})" if told else ""
    if is_no_address(why):
        named = setting.replace("port", "host")
        return SettingsError(f"{named}: there is no address {host}{because}; {what_to_do(why, setting)}")
    return SettingsError(
        f"{setting}: cannot listen on {host_and_port(host, port)}{because}; {what_to_do(why, setting)}"
    )


def is_no_address(error: Refusal | None) -> bool:
    """Whether the host is to blame, not the port."""
    return isinstance(error, socket.gaierror | ValueError)


def what_to_do(error: Refusal | None, setting: str = "port") -> str:
    """What to do about a refusal; `setting` is the port's name, such as `web_port`."""
    flag = f"--{setting.replace('_', '-')}"
    if is_no_address(error) or getattr(error, "errno", None) == errno.EADDRNOTAVAIL:
        return f"take another {flag.replace('port', 'host')}: an address of this machine, or 0.0.0.0 for all"
    if getattr(error, "errno", None) == errno.EACCES:
        return f"take a {flag} from 1024 on, or let this user take lower ones (CAP_NET_BIND_SERVICE)"
    return f"stop what listens there, or take another {flag} (0 takes a free one)"
