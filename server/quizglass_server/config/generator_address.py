"""Addresses of remote generators: http://HOST:PORT or https://HOST[:PORT], with a path before /v1."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from quizglass.hosts import host_and_port, is_loopback

_PORT = {"http": 80, "https": 443}
_API = "/v1"


@dataclass(frozen=True, slots=True)
class GeneratorAddress:
    """Where a generator is. Its text is what `generator_address` was given, without `/v1`."""

    scheme: str
    """http or https."""
    host: str
    port: int
    path: str = ""
    """Before the API's own paths, without a slash at its end."""

    @property
    def leaves_machine_in_clear(self) -> bool:
        """Whether questions, pictures and the token cross a network without encryption."""
        return self.scheme != "https" and not is_loopback(self.host)

    def __str__(self) -> str:
        return f"{self.scheme}://{host_and_port(self.host, self.port)}{self.path}"


def generator_address(address: str | GeneratorAddress) -> GeneratorAddress:
    """What an address means.

    Raises:
        ValueError: it is none of a generator; says what is wrong with it.
    """
    if isinstance(address, GeneratorAddress):
        return address
    wrong = f"{address[:80]!r} is not of the form http://HOST:PORT or https://HOST:PORT"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise ValueError(wrong) from None
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds a password, which would be shown; put the token into a file, see generator_token_file")
    if parts.scheme not in _PORT or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(wrong)
    if any(character.isspace() or not character.isprintable() for character in address):
        raise ValueError(wrong)
    path = parts.path.rstrip("/").removesuffix(_API).rstrip("/")
    return GeneratorAddress(parts.scheme, parts.hostname, port or _PORT[parts.scheme], path)
