"""What the command lines `quizglass-export` and `quizglass-lab` share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shtab

from quizglass_export.long_work import STOPPED
from quizglass_export.terminal import tell

_EXTRAS = {"onnxruntime": "cpu", "pyarrow": "import", "tensorrt": "gpu"}
"""Extras that bring a package; all others come with the program's own extra."""


def new_parser(program: str, description: str) -> tuple[argparse.ArgumentParser, Any]:
    """A parser that can print completions, and what subcommands are added to."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    shtab.add_argument_to(parser, ["--print-completion"], help="print a completion script for a shell, and exit")
    return parser, parser.add_subparsers(dest="command", required=True, metavar="COMMAND")


def add_command(
    commands: Any,
    name: str,
    summary: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
) -> None:
    """Declare a subcommand."""
    command = commands.add_parser(name, help=summary, description=summary)
    add_arguments(command)
    command.set_defaults(run=run)


def with_paths_completed(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser, whose completions are file names wherever a path is taken."""
    for action in parser._actions:  # argparse lists them nowhere else
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                with_paths_completed(command)
        elif action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return parser


def run(program: str, args: argparse.Namespace) -> int:
    """Run a parsed command; returns the exit status. A missing package is named with the extra that brings it."""
    try:
        status: int = args.run(args)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package.startswith("quizglass"):
            raise
        extra = _EXTRAS.get(package, program.removeprefix("quizglass-"))
        tell(f"{program} {args.command}: needs {package}; in the clone: pip install '.[{extra}]'", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # of a command that has nothing to say about what it leaves
        tell(f"{program} {args.command}: stopped", file=sys.stderr)
        return STOPPED
    return status
