"""What the server, or a proxy before it, asks for; `quizglass pair`, which settles that and which server is called."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from quizglass_client.access import Access, is_local, read_certificates, read_token, tls
from quizglass_client.cli.connecting import SERVER_VARIABLE, encrypted
from quizglass_client.cli.subcommands import Subcommands
from quizglass_client.errors import InvalidRequest
from quizglass_client.pairing import Paired, PairingLink, pair
from quizglass_client.sync import Client
from quizglass_client.target import DEFAULT_TARGET
from quizglass_client.terminal.output import print_json, say, stdout
from quizglass_client.terminal.usage import OK, UsageError


def access(arguments: argparse.Namespace) -> Access:
    """What goes to the server with every call.

    Raises:
        UsageError: a file does not hold what it should, or a token would go over a network in clear.
        OSError: a file cannot be read.
    """
    try:
        return _access(arguments)
    except InvalidRequest as error:
        raise UsageError(error.message) from None


def _access(arguments: argparse.Namespace) -> Access:
    secret = encrypted(arguments)
    if (arguments.cert is None) != (arguments.key is None) or (arguments.cert is not None and not secret):
        raise UsageError("--cert and --key belong together, and to --ca or --tls")
    own = None
    if arguments.cert is not None:
        own = arguments.key.read_bytes(), read_certificates(arguments.cert, "--cert")
    roots = None if arguments.ca is None else read_certificates(arguments.ca, "--ca")
    credentials = tls(roots, own) if secret else None
    if arguments.token_file is None:
        paired = None if secret or not arguments.calls_server else Paired.load(_paired_file())
        return paired.access if paired is not None and paired.target == arguments.server else Access(credentials)
    if not secret and not is_local(arguments.server):
        raise UsageError(f"--token-file: the token would go to {arguments.server} in clear; give --ca or --tls as well")
    return Access(credentials, [("authorization", f"Bearer {read_token(arguments.token_file, '--token-file')}")])


def add_commands(commands: Subcommands) -> None:
    """Declare `pair`."""
    parser = commands.add("pair", paired)
    parser.add_argument("link", metavar="LINK|CODE", help="a code goes to --server, over --ca or --tls")
    parser.set_defaults(calls_server=False)


def paired(client: Client, arguments: argparse.Namespace) -> int:
    """Redeem a code; later commands use what came of it."""
    if ":" in arguments.link:
        found = pair(PairingLink.of(arguments.link))
    else:
        found = pair(PairingLink(arguments.server, arguments.link, encrypted=False), access=arguments.access)
    file = _paired_file()
    found.save(file)
    if arguments.json:
        print_json({"server": found.target, "name": found.name, "may": found.may, "file": str(file)})
        return OK
    stdout().print(f"{found.target} knows this device as {found.name}, which may {', '.join(found.may)}", markup=False)
    say(f"kept in {file}: commands call that server from now on, unless --server or {SERVER_VARIABLE} names another")
    return OK


def _paired_file() -> Path:
    """Where a pairing is kept."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "quizglass" / "paired.json"


def target(named: str) -> str:
    """The server that is named, or else the one of `quizglass pair`; `access` says what is wrong with its file."""
    return named or _paired_target() or DEFAULT_TARGET


def _paired_target() -> str:
    try:
        found = Paired.load(_paired_file())
    except (InvalidRequest, OSError):
        return ""
    return found.target if found is not None else ""
