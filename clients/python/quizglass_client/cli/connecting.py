"""Runs a command with a client of its server, and what that, or a proxy before it, asks for; `quizglass pair`."""

from __future__ import annotations

import argparse
import errno
import os
from pathlib import Path

from quizglass_client.access import Access, is_local, read_certificates, read_token, tls
from quizglass_client.channel import DEFAULT_TARGET
from quizglass_client.cli.subcommands import SERVER_VARIABLE, Command, Subcommands
from quizglass_client.errors import ClientError, InvalidRequest
from quizglass_client.files import check_writable
from quizglass_client.pairing import Paired, PairingLink, pair
from quizglass_client.sync import Client
from quizglass_client.terminal.output import print_json, report, say, stdout
from quizglass_client.terminal.usage import FAILED, INTERRUPTED, OK, USAGE, UsageError


def run(arguments: argparse.Namespace) -> int:
    """Run a command that was parsed, and say how it ended.

    Returns:
        The exit status; see `command.main`.

    Raises:
        BrokenPipeError: whoever read the output has seen enough.
    """
    try:
        return _run(arguments)
    except UsageError as error:
        say(str(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except MemoryError:
        say("there is not enough memory for that")
        return FAILED
    except OSError as error:  # of a file that was named on the command line, or of the output, which has no name
        output = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        nameless = "the output cannot be written" if output else "a file"
        say(f"{error.filename or nameless}: {error.strerror or error}")
        return FAILED


def _run(arguments: argparse.Namespace) -> int:
    command: Command = arguments.command
    arguments.server = _target(arguments.server)
    allowed = arguments.access = access(arguments)  # sessions of chats and walks take it from there
    target = arguments.server if arguments.calls_server else DEFAULT_TARGET
    try:
        client = Client(target, credentials=allowed.credentials, metadata=allowed.metadata)
    except InvalidRequest as error:
        raise UsageError(error.message) from None
    try:
        with client:
            return command(client, arguments)
    except ClientError as error:
        encrypts = allowed.credentials is not None
        return report(error, arguments.server, budgeted="budget" in arguments, tls=encrypts)


def encrypted(arguments: argparse.Namespace) -> bool:
    """Whether the connection is."""
    return bool(arguments.tls or arguments.ca is not None)


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
        asked = arguments.calls_server and (not secret or _paired_target() == arguments.server)
        paired = Paired.load(_paired_file()) if asked else None
        if paired is None or paired.target != arguments.server:
            return Access(credentials)
        # --ca and --tls name the trusted authority; the token is still the one of the pairing.
        return Access(credentials, paired.access.metadata) if secret else paired.access
    if arguments.calls_server and not secret and not is_local(arguments.server):
        raise UsageError(f"--token-file: the token would go to {arguments.server} in clear; give --ca or --tls as well")
    return Access(credentials, [("authorization", f"Bearer {read_token(arguments.token_file, '--token-file')}")])


def add_commands(commands: Subcommands) -> None:
    """Declare `pair`."""
    parser = commands.add("pair", paired)
    parser.add_argument("link", metavar="LINK|CODE", help="a code goes to --server, over --ca or --tls")
    parser.set_defaults(calls_server=False)


def paired(client: Client, arguments: argparse.Namespace) -> int:
    """Redeem a code; later commands use what came of it."""
    file = _paired_file()
    check_writable(file)  # a code is spent once: what cannot be kept is seen before
    if ":" in arguments.link:
        found = pair(PairingLink.of(arguments.link))
    else:
        found = pair(PairingLink(arguments.server, arguments.link, encrypted=False), access=arguments.access)
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


def _target(named: str) -> str:
    """The server that is named, or else the one of `quizglass pair`; `access` says what is wrong with its file."""
    return named or _paired_target() or DEFAULT_TARGET


def _paired_target() -> str:
    try:
        found = Paired.load(_paired_file())
    except (InvalidRequest, OSError):
        return ""
    return found.target if found is not None else ""
