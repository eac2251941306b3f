"""Which server a command calls: what is said of it on the command line and in the environment."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from quizglass_client.cli import subcommands
from quizglass_client.target import DEFAULT_TARGET

SERVER_VARIABLE = "QUIZGLASS_SERVER"
TOKEN_VARIABLE = "QUIZGLASS_TOKEN_FILE"  # noqa: S105  # the name of a variable
CA_VARIABLE = "QUIZGLASS_CA"


def add_arguments(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Declare them.

    Args:
        parser: takes them.
        again: whether they may stand before the command as well: what is not said here then overrides nothing.
    """

    def default(value: object) -> Any:
        return argparse.SUPPRESS if again else value

    server = f"address of the server ({SERVER_VARIABLE}; default: the one of `quizglass pair`, or {DEFAULT_TARGET})"
    named = default(os.environ.get(SERVER_VARIABLE, ""))
    parser.add_argument("--server", metavar="HOST:PORT", default=named, help=server)
    wanted = "encrypt the connection"
    parser.add_argument("--tls", action="store_true", default=default(False), help=wanted)

    def file(flag: str, says: str, variable: str = "") -> None:
        named = os.environ.get(variable) if variable else None
        given = default(Path(named) if named else None)
        also = f" ({variable})" if variable else ""
        subcommands.file(parser.add_argument(flag, type=Path, metavar="FILE", default=given, help=f"{says}{also}"))

    roots = "certificates that are trusted, PEM (default: those of public authorities); means --tls"
    file("--ca", roots, CA_VARIABLE)
    file("--cert", "certificate that the server is shown, PEM, where it asks for one; with --key")
    file("--key", "key of that certificate, PEM")
    file("--token-file", "send the token in that file with every call", TOKEN_VARIABLE)


def encrypted(arguments: argparse.Namespace) -> bool:
    """Whether the connection is."""
    return bool(arguments.tls or arguments.ca is not None)
