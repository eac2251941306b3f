"""The command line as a whole; what each command takes is declared beside it."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version

import shtab

from quizglass.text import escape_unencodable_output
from quizglass_client.channel import DEFAULT_TARGET
from quizglass_client.cli import (
    about,
    ask,
    chat,
    connecting,
    exporting,
    importing,
    knowledge,
    memory,
    store,
    tune,
    walk,
)
from quizglass_client.cli.subcommands import Command, Subcommands, parsed
from quizglass_client.errors import ClientError, InvalidRequest
from quizglass_client.sync import Client
from quizglass_client.terminal.output import FAILED, INTERRUPTED, USAGE, UsageError, report, say


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0 done, 1 failed, 2 wrong usage, 3 server not available, 130 interrupted.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what libraries find strange in a file is nothing that its owner can act on
    escape_unencodable_output()
    try:
        return _run(parsed(parser(), argv))
    except UsageError as error:
        say(str(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; without this, Python complains again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except MemoryError:
        say("there is not enough memory for that")
        return FAILED
    except OSError as error:  # of a file that was named on the command line
        say(f"{error.filename or 'a file'}: {error.strerror or error}")
        return FAILED


def _run(arguments: argparse.Namespace) -> int:
    command: Command = arguments.command
    access = arguments.access = connecting.access(arguments)  # sessions of chats and walks take it from there
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


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(prog="quizglass", description="Ask a quizglass server about pictures.")
    top.add_argument("--version", action="version", version=f"quizglass {version('quizglass')}")
    shtab.add_argument_to(top, "--print-completion", help="print a completion script for a shell, e.g. bash or zsh")
    connecting.add_arguments(top)
    common = argparse.ArgumentParser(add_help=False)
    connecting.add_arguments(common, again=True)
    common.add_argument("--json", action="store_true", help="print JSON, one object a line")
    commands = Subcommands(top, common)
    ask.add_command(commands)
    chat.add_command(commands)
    walk.add_command(commands)
    _add_knowledge(commands.group("knowledge", "add, list, delete and search what the server can look up"))
    memory.add_commands(commands.group("memory", "search and forget what the server has seen"))
    about.add_commands(commands)
    connecting.add_command(commands)
    return top


def _add_knowledge(commands: Subcommands) -> None:
    importing.add_command(commands)
    exporting.add_command(commands)
    knowledge.add_commands(commands)
    tune.add_command(commands)
    store.add_commands(commands)
