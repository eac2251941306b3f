"""What a command is declared with. Each declares its arguments beside what it does; its name and help stand in a table.

Modules of commands need gRPC and more, which take longer to load than all that `quizglass --help` does: those that the
command line does not name are not loaded. Nor is shtab, but to print a completion script.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quizglass import PORT
from quizglass_client.files import TOKEN_VARIABLE

if TYPE_CHECKING:
    from quizglass_client.sync import Client

SERVER_VARIABLE = "QUIZGLASS_SERVER"
CA_VARIABLE = "QUIZGLASS_CA"
Command = Callable[["Client", argparse.Namespace], int]
"""Returns the exit status."""


class Subcommands:
    """Commands of one level of the command line.

    Args:
        parser: what they stand behind.
        common: arguments that every command takes.
        words: of the command line, which name the commands whose arguments are wanted; None: those of all.
    """

    def __init__(
        self, parser: argparse.ArgumentParser, common: argparse.ArgumentParser, words: Collection[str] | None
    ) -> None:
        self._common = common
        self._words = words
        self._summaries: dict[str, str] = {}
        self._parsers = parser.add_subparsers(metavar="COMMAND", required=True)

    def of(self, module: str, summaries: Mapping[str, str]) -> None:
        """The commands of a module.

        Args:
            module: below `quizglass_client.cli`; its `add_commands` declares them.
            summaries: what each does, by its name.
        """
        self._summaries |= summaries
        if self._words is None or not summaries.keys().isdisjoint(self._words):
            import_module(f"quizglass_client.cli.{module}").add_commands(self)
        else:
            for name, summary in summaries.items():
                self._parsers.add_parser(name, help=summary)

    def add(self, name: str, command: Command) -> argparse.ArgumentParser:
        """A command of the table; its own arguments are added to what is returned."""
        parents, summary = [self._common], self._summaries[name]
        made = self._parsers.add_parser(name, parents=parents, help=summary, description=summary.capitalize() + ".")
        made.set_defaults(command=command, calls_server=True, scattered=None)
        return made

    def group(self, name: str, summary: str) -> Subcommands:
        """Commands of a level below, behind a name of their own."""
        below = self._parsers.add_parser(name, help=summary, description=summary.capitalize() + ".")
        return Subcommands(below, self._common, self._words)


def scattered(parser: argparse.ArgumentParser, name: str, made_of: Callable[[str], object] = str) -> None:
    """Let options stand between the words of a positional argument that takes several; see `parsed`."""
    parser.set_defaults(scattered=(name, made_of))


def parsed(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of a command line.

    argparse takes the first run of words for a positional argument, and refuses those that come after an option.
    """
    arguments, left = parser.parse_known_args(argv)
    if left and (arguments.scattered is None or any(word.startswith("-") and " " not in word for word in left)):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    if left:
        name, made_of = arguments.scattered
        setattr(arguments, name, [*getattr(arguments, name), *map(made_of, left)])
    return arguments


def server(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Declare which server is called, and what it asks for.

    Args:
        parser: takes them.
        again: whether they may stand before the command as well: what is not said here then overrides nothing.
    """

    def default(value: object) -> Any:
        return argparse.SUPPRESS if again else value

    told = f"address of the server ({SERVER_VARIABLE}; default: the one of `quizglass pair`, or 127.0.0.1:{PORT})"
    named = default(os.environ.get(SERVER_VARIABLE, ""))
    parser.add_argument("--server", metavar="HOST:PORT", default=named, help=told)
    wanted = "encrypt the connection"
    parser.add_argument("--tls", action="store_true", default=default(False), help=wanted)

    def named_file(flag: str, says: str, variable: str = "") -> None:
        named = os.environ.get(variable) if variable else None
        given = default(Path(named) if named else None)
        also = f" ({variable})" if variable else ""
        file(parser.add_argument(flag, type=Path, metavar="FILE", default=given, help=f"{says}{also}"))

    roots = "certificates that are trusted, PEM (default: those of public authorities); means --tls"
    named_file("--ca", roots, CA_VARIABLE)
    named_file("--cert", "certificate that the server is shown, PEM, where it asks for one; with --key")
    named_file("--key", "key of that certificate, PEM")
    named_file("--token-file", "send the token in that file with every call", TOKEN_VARIABLE)


def file(argument: argparse.Action) -> None:
    """Have shells complete file names."""
    _complete(argument, "FILE")


def folder(argument: argparse.Action) -> None:
    """Have shells complete names of folders."""
    _complete(argument, "DIRECTORY")


def _complete(argument: argparse.Action, what: str) -> None:
    if (shtab := sys.modules.get("shtab")) is not None:  # it was loaded to print a completion script
        argument.complete = getattr(shtab, what)  # type: ignore[attr-defined]


def max_tokens(parser: argparse.ArgumentParser) -> None:
    """Declare how long answers may be."""
    most = "tokens of an answer, at most (default: as many as the bundle says)"
    parser.add_argument("--max-tokens", type=count, default=0, metavar="N", help=most)


def count(text: str) -> int:
    """A whole number above 0."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def share(text: str) -> float:
    """A number above 0 and at most 1."""
    try:
        if 0 < (number := float(text)) <= 1:
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a share above 0 to 1")
