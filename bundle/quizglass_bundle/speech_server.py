"""Where speech is recognised or spoken, as settings and manifests have it: a server of the Wyoming protocol.

tcp://HOST:PORT     one that listens on a port
unix:///PATH        one that listens on a Unix socket of this machine
COMMAND             one that is started here, with `--uri unix:///...` behind the command
"""

from __future__ import annotations

import ipaddress
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class SpeechServer:
    """Such a server. Its text is what `speech_server` was given."""

    text: str
    host: str = ""
    """Empty where it is on no port."""
    port: int = 0
    socket: Path | None = None
    command: tuple[str, ...] = ()
    """What is started; empty for a server that runs already."""

    @property
    def elsewhere(self) -> bool:
        """Whether it is behind a network address, be it of this machine."""
        return bool(self.host)

    @property
    def leaves_machine(self) -> bool:
        """Whether speech crosses a network, which the protocol does without encryption."""
        if not self.host:
            return False
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"

    def __str__(self) -> str:
        return self.text


def speech_server(given: str | SpeechServer) -> SpeechServer:
    """What an address or a command means.

    Raises:
        ValueError: it is neither; says what is wrong with it.
    """
    if isinstance(given, SpeechServer):
        return given
    text = given.strip()
    if not text or not text.isprintable():
        raise ValueError("empty, or not one line; give tcp://HOST:PORT, unix:///PATH or a command")
    if "://" not in text.partition(" ")[0]:
        return _command(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"{text[:80]!r} is not of the form tcp://HOST:PORT") from None
    if parts.scheme == "unix" and parts.path not in ("", "/") and not parts.netloc:
        return SpeechServer(text, socket=Path(parts.path))
    if parts.scheme == "tcp" and parts.hostname and port and parts.path in ("", "/") and parts.username is None:
        return SpeechServer(text, host=parts.hostname, port=port)
    raise ValueError(f"{text[:80]!r} is not of the form tcp://HOST:PORT or unix:///PATH")


def _command(text: str) -> SpeechServer:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"the command cannot be read: {error}") from None
    if "--uri" in words:
        raise ValueError("the command has --uri, which is put behind it; leave that out, or give the address alone")
    return SpeechServer(text, command=tuple(words))
