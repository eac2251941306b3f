"""Addresses as settings have them: where the knowledge is, and which origins of web pages there are.

Knowledge is in a directory of this machine, or in Milvus:

DIR                             a directory (the local backend)
milvus:FILE.db                  a file of Milvus Lite, in this process
http://HOST:PORT[/DATABASE]     a Milvus server; https:// with encryption
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from quizglass.hosts import host_and_port, is_loopback

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_DATABASE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_LITE = "milvus"
_PORT = {"http": 19530, "https": 443}
_USUAL_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """A Milvus to keep the knowledge in. Its text is what `knowledge_address` was given."""

    uri: str
    """The address as pymilvus takes it: a path that ends in .db, or http(s)://host:port."""
    database: str = ""
    """Empty: the default one."""
    host: str = ""
    """Empty for a file."""

    @property
    def in_process(self) -> bool:
        """Whether it is a file of Milvus Lite, which this process alone uses."""
        return not self.host

    @property
    def leaves_machine_in_clear(self) -> bool:
        """Whether entries, searches and the token cross a network without encryption."""
        return not (self.in_process or self.uri.startswith("https:") or is_loopback(self.host))

    def __str__(self) -> str:
        if self.in_process:
            return f"{_LITE}:{self.uri}"
        return f"{self.uri}/{self.database}" if self.database else self.uri


def knowledge_address(address: str | Path | MilvusAddress) -> Path | MilvusAddress:
    """What an address means.

    Raises:
        ValueError: it is neither a directory nor one of Milvus; says what is wrong with it.
    """
    if not isinstance(address, str):
        return address
    if not address:
        raise ValueError("empty; give a directory, or the address of a Milvus")
    scheme = _SCHEME.match(address)
    if scheme is None:
        return Path(address)
    if scheme[1] == _LITE:
        return _file(address[len(_LITE) + 1 :])
    if scheme[1] in _PORT and address[scheme.end() :].startswith("//"):
        return _server(address)
    if "://" in address:
        raise ValueError(
            f"there is no backend for {scheme[1]}://; give a directory, http://, https:// or milvus:FILE.db"
        )
    return Path(address)


def _file(path: str) -> MilvusAddress:
    if not path.endswith(".db") or path == ".db":
        raise ValueError("a file of Milvus Lite ends in .db: milvus:knowledge.db")
    return MilvusAddress(path)


def _server(address: str) -> MilvusAddress:
    try:
        parts = urlsplit(address)
        port = parts.port or _PORT[parts.scheme]
    except ValueError:
        raise ValueError("the address has no valid port") from None
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds a password, which would be shown; put the token into a file, see knowledge_token_file")
    if not parts.hostname or parts.query or parts.fragment:
        raise ValueError("is not of the form http://HOST:PORT or http://HOST:PORT/DATABASE")
    database = parts.path.strip("/")
    if database and not _DATABASE.fullmatch(database):
        raise ValueError(f"{database!r} is not the name of a Milvus database (letters, digits and _)")
    return MilvusAddress(f"{parts.scheme}://{host_and_port(parts.hostname, port)}", database, parts.hostname)


def web_origin(origin: str) -> str:
    """An origin as browsers write it: in small letters, without a slash at its end and without the scheme's own port.

    Raises:
        ValueError: it is none; says what is wrong with it.
    """
    wrong = f"{origin[:80]!r} is not of the form https://HOST or http://HOST:PORT"
    try:
        parts = urlsplit(origin)
        own_port = parts.port is not None and parts.port == _USUAL_PORT.get(parts.scheme)
    except ValueError:
        raise ValueError(wrong) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError(wrong)
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError(wrong)
    place = parts.netloc.rpartition(":")[0] if own_port else parts.netloc
    return f"{parts.scheme}://{place.lower()}"


def proxy_network(given: str) -> str:
    """The network of trusted proxies that an address ("127.0.0.1") or a network ("10.0.0.0/8") names.

    Raises:
        ValueError: it is neither; says what is wrong with it.
    """
    try:
        return str(ipaddress.ip_network(given))
    except ValueError:
        wrong = f"{given[:80]!r} is no IP address and no network such as 10.0.0.0/8, whose last bits are 0"
        raise ValueError(wrong) from None
