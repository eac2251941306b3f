"""Runs a command that was parsed, and says how it ended."""

from __future__ import annotations

import argparse

from quizglass_client.cli import pairing
from quizglass_client.cli.subcommands import Command
from quizglass_client.errors import ClientError, InvalidRequest
from quizglass_client.sync import Client
from quizglass_client.target import DEFAULT_TARGET
from quizglass_client.terminal.output import report, say
from quizglass_client.terminal.usage import FAILED, INTERRUPTED, USAGE, UsageError


def run(arguments: argparse.Namespace) -> int:
    """Run it.

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
    except OSError as error:  # of a file that was named on the command line
        say(f"{error.filename or 'a file'}: {error.strerror or error}")
        return FAILED


def _run(arguments: argparse.Namespace) -> int:
    command: Command = arguments.command
    arguments.server = pairing.target(arguments.server)
    access = arguments.access = pairing.access(arguments)  # sessions of chats and walks take it from there
    target = arguments.server if arguments.calls_server else DEFAULT_TARGET
    try:
        client = Client(target, credentials=access.credentials, metadata=access.metadata)
    except InvalidRequest as error:
        raise UsageError(error.message) from None
    try:
        with client:
            return command(client, arguments)
    except ClientError as error:
        tls = access.credentials is not None
        return report(error, arguments.server, budgeted="budget" in arguments, tls=tls)
