"""The command `quizglass-export`.

Heavy packages are imported by the subcommand that needs them, so `--help` and completion are quick and a missing
extra is named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import shtab

from quizglass.text import escape_unencodable_output
from quizglass_export import adapter_command, starter_command
from quizglass_export.assembly import command as bundling
from quizglass_export.bundles import command as bundles
from quizglass_lab.datasets import command as datasets
from quizglass_export.everyday import command as everyday
from quizglass_lab.finetuning import command as finetuning
from quizglass_export.long_work import STOPPED
from quizglass_lab.pocketworld.dataset import command as pocketworld
from quizglass_lab.reporting import command as reporting
from quizglass_export.terminal import tell
from quizglass_export.trt import command as trt

_EXTRAS = {"onnxruntime": "cpu", "pyarrow": "import", "tensorrt": "gpu"}
"""Extras that bring a package; all others come with `export`."""


def build_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """All subcommands; each sets `run`, which takes the parsed arguments and returns the exit status.

    Args:
        arguments: what will be parsed, so that flags which take long to make are left out where nobody asks for them;
            None: make all.
    """
    parser = argparse.ArgumentParser(
        prog="quizglass-export", description="From checkpoints to bundles, and the world they were trained on."
    )
    shtab.add_argument_to(parser, ["--print-completion"], help="print a completion script for a shell, and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add(commands, "build", bundling.BUILD_HELP, bundling.add_build_arguments, bundling.run_build)
    _add(commands, "pack-checkpoints", bundling.PACK_HELP, bundling.add_pack_arguments, bundling.run_pack)
    bundles.add_commands(commands)
    _add(commands, "tensorrt", trt.HELP, trt.add_arguments, trt.run)
    _add(commands, "adapter", adapter_command.HELP, adapter_command.add_arguments, adapter_command.run)
    _add(commands, "pocketworld", pocketworld.HELP, pocketworld.add_arguments, pocketworld.run)
    _add(commands, "dataset", datasets.HELP, datasets.add_arguments, datasets.run)
    _add(commands, "score", reporting.HELP, reporting.add_arguments, reporting.run)
    finetuning.add_commands(commands, arguments)
    _add(commands, "everyday", everyday.HELP, everyday.add_arguments, everyday.run)
    _add(commands, "starter", starter_command.HELP, starter_command.add_arguments, starter_command.run)
    _complete_paths(parser)
    return parser


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
) -> None:
    command = commands.add_parser(name, help=summary, description=summary)
    add_arguments(command)
    command.set_defaults(run=run)


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Have shells complete file names wherever a path is taken."""
    for action in parser._actions:  # argparse lists them nowhere else
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_paths(command)
        elif action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    escape_unencodable_output()
    arguments = sys.argv[1:] if arguments is None else arguments
    args = build_parser(arguments).parse_args(arguments)
    try:
        status: int = args.run(args)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package.startswith("quizglass"):
            raise
        remedy = f"in the clone: pip install '.[{_EXTRAS.get(package, 'export')}]'"
        tell(f"quizglass-export {args.command}: needs {package}; {remedy}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # of a command that has nothing to say about what it leaves
        tell(f"quizglass-export {args.command}: stopped", file=sys.stderr)
        return STOPPED
    return status


if __name__ == "__main__":
    sys.exit(main())
