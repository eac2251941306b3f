"""Which server a command calls, and what a proxy before it asks for."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from quizglass_client.access import Access, tls
from quizglass_client.channel import DEFAULT_TARGET, is_local
from quizglass_client.cli import subcommands
from quizglass_client.files import read_file
from quizglass_client.terminal.output import UsageError

SERVER_VARIABLE = "QUIZGLASS_SERVER"
_LONGEST_FILE = 1 << 20


def add_arguments(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Declare them.

    Args:
        parser: takes them.
        again: whether they may stand before the command as well: what is not said here then overrides nothing.
    """

    def default(value: object) -> Any:
        return argparse.SUPPRESS if again else value

    server = f"address of the server (default {DEFAULT_TARGET}, or {SERVER_VARIABLE})"
    named = default(os.environ.get(SERVER_VARIABLE) or DEFAULT_TARGET)
    parser.add_argument("--server", metavar="HOST:PORT", default=named, help=server)
    wanted = "encrypt the connection, for a proxy before the server that ends TLS"
    parser.add_argument("--tls", action="store_true", default=default(False), help=wanted)
    roots = "certificates that are trusted, PEM (default: those of public authorities); means --tls"
    subcommands.file(parser.add_argument("--ca", type=Path, metavar="FILE", default=default(None), help=roots))
    sent = "send what that file holds with every call, as `authorization: Bearer …`"
    subcommands.file(parser.add_argument("--token-file", type=Path, metavar="FILE", default=default(None), help=sent))


def encrypted(arguments: argparse.Namespace) -> bool:
    """Whether the connection is."""
    return bool(arguments.tls or arguments.ca is not None)


def access(arguments: argparse.Namespace) -> Access:
    """What goes to the server with every call.

    Raises:
        UsageError: a file does not hold what it should, or a token would go over a network in clear.
        OSError: a file cannot be read.
    """
    secret = encrypted(arguments)
    credentials = tls(None if arguments.ca is None else _certificates(arguments.ca)) if secret else None
    if arguments.token_file is None:
        return Access(credentials)
    if not secret and not is_local(arguments.server):
        raise UsageError(f"--token-file: the token would go to {arguments.server} in clear; give --tls as well")
    return Access(credentials, [("authorization", f"Bearer {_token(arguments.token_file)}")])


def _certificates(path: Path) -> bytes:
    pem = read_file(path, _LONGEST_FILE)
    if b"-----BEGIN CERTIFICATE-----" not in pem:
        raise UsageError(f"--ca {path}: has no certificate; give PEM, which has lines of BEGIN CERTIFICATE")
    return pem


def _token(path: Path) -> str:
    token = read_file(path, _LONGEST_FILE).strip()
    if not token or not all(0x21 <= byte <= 0x7E for byte in token):
        raise UsageError(f"--token-file {path}: holds no token, which is one line of printable ASCII without spaces")
    return token.decode("ascii")
