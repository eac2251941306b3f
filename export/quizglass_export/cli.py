"""The command `quizglass-export`.

Heavy packages are imported by the subcommand that needs them, so `--help` and completion are quick and a missing
extra is named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import shtab

from quizglass_export import adapter_command, starter_command
from quizglass_export.assembly import command as bundling
from quizglass_export.bundles import command as bundles
from quizglass_export.datasets import command as datasets
from quizglass_export.everyday import command as everyday
from quizglass_export.finetuning import command as finetuning
from quizglass_export.pocketworld.dataset import command as pocketworld
from quizglass_export.reporting import command as reporting
from quizglass_export.trt import command as trt

_EXTRA = "pip install 'quizglass[export]'"


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
    build = commands.add_parser("build", help=bundling.BUILD_HELP, description=bundling.BUILD_HELP)
    bundling.add_build_arguments(build)
    build.set_defaults(run=bundling.run_build)
    pack = commands.add_parser("pack-checkpoints", help=bundling.PACK_HELP, description=bundling.PACK_HELP)
    bundling.add_pack_arguments(pack)
    pack.set_defaults(run=bundling.run_pack)
    bundles.add_commands(commands)
    tensorrt = commands.add_parser("tensorrt", help=trt.HELP, description=trt.HELP)
    trt.add_arguments(tensorrt)
    tensorrt.set_defaults(run=trt.run)
    adapter = commands.add_parser("adapter", help=adapter_command.HELP, description=adapter_command.HELP)
    adapter_command.add_arguments(adapter)
    adapter.set_defaults(run=adapter_command.run)
    world = commands.add_parser("pocketworld", help=pocketworld.HELP, description=pocketworld.HELP)
    pocketworld.add_arguments(world)
    world.set_defaults(run=pocketworld.run)
    dataset = commands.add_parser("dataset", help=datasets.HELP, description=datasets.HELP)
    datasets.add_arguments(dataset)
    dataset.set_defaults(run=datasets.run)
    score = commands.add_parser("score", help=reporting.HELP, description=reporting.HELP)
    reporting.add_arguments(score)
    score.set_defaults(run=reporting.run)
    finetuning.add_commands(commands, arguments)
    real = commands.add_parser("everyday", help=everyday.HELP, description=everyday.HELP)
    everyday.add_arguments(real)
    real.set_defaults(run=everyday.run)
    starter = commands.add_parser("starter", help=starter_command.HELP, description=starter_command.HELP)
    starter_command.add_arguments(starter)
    starter.set_defaults(run=starter_command.run)
    _complete_paths(parser)
    return parser


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
    arguments = sys.argv[1:] if arguments is None else arguments
    args = build_parser(arguments).parse_args(arguments)
    try:
        status: int = args.run(args)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("quizglass"):
            raise
        print(f"quizglass-export {args.command}: needs {error.name}; {_EXTRA}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
