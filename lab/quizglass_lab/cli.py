"""The command `quizglass-lab`. Heavy packages are imported by the subcommand that needs them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from quizglass.text import escape_unencodable_output
from quizglass_export.program import add_command, new_parser, with_paths_completed
from quizglass_export.program import run as run_program
from quizglass_lab import starter_command
from quizglass_lab.benchmarking import command as benchmarking
from quizglass_lab.datasets import command as datasets
from quizglass_lab.everyday import command as everyday
from quizglass_lab.finetuning import command as finetuning
from quizglass_lab.pocketworld.dataset import command as pocketworld
from quizglass_lab.reporting import average
from quizglass_lab.reporting import command as reporting
from quizglass_lab.starter_bundle import command as bundling

PROGRAM = "quizglass-lab"


def build_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """All subcommands; each sets `run`, which takes the parsed arguments and returns the exit status.

    Args:
        arguments: what will be parsed: commands that are not in it get no flags where making them takes long; None:
            all get them.
    """
    parser, commands = new_parser(PROGRAM, "A fictional world, training recipes, and published benchmarks.")
    add_command(commands, "pocketworld", pocketworld.HELP, pocketworld.add_arguments, pocketworld.run)
    add_command(commands, "dataset", datasets.HELP, datasets.add_arguments, datasets.run)
    add_command(commands, "score", reporting.HELP, reporting.add_arguments, reporting.run)
    add_command(commands, "average", average.HELP, average.add_arguments, average.run)
    add_command(commands, "benchmark", benchmarking.HELP, benchmarking.add_arguments, benchmarking.run)
    finetuning.add_commands(commands, arguments)
    add_command(commands, "everyday-knowledge", everyday.HELP, everyday.add_arguments, everyday.run)
    add_command(commands, "starter", starter_command.HELP, starter_command.add_arguments, starter_command.run)
    add_command(commands, "pack-checkpoints", bundling.PACK_HELP, bundling.add_pack_arguments, bundling.run_pack)
    add_command(commands, "build", bundling.BUILD_HELP, bundling.add_build_arguments, bundling.run_build)
    add_command(commands, "verify", bundling.VERIFY_HELP, bundling.add_verify_arguments, bundling.run_verify)
    return with_paths_completed(parser)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    escape_unencodable_output()
    arguments = sys.argv[1:] if arguments is None else arguments
    return run_program(PROGRAM, build_parser(arguments).parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
