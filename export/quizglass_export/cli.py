"""The command `quizglass-export`.

Heavy packages are imported by the subcommand that needs them, so `--help` and completion are quick and a missing
extra is named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from quizglass.text import escape_unencodable_output
from quizglass_export import adapter_command
from quizglass_export.assembly import command as bundling
from quizglass_export.bundles import command as bundles
from quizglass_export.everyday import command as everyday
from quizglass_export.program import add_command, new_parser, with_paths_completed
from quizglass_export.program import run as run_program
from quizglass_export.terminal import tell
from quizglass_export.trt import command as trt

PROGRAM = "quizglass-export"
MOVED = ("annotate", "dataset", "evaluate", "pack-checkpoints", "pocketworld", "score", "starter", "train")
"""Commands that are the laboratory's."""


def build_parser() -> argparse.ArgumentParser:
    """All subcommands; each sets `run`, which takes the parsed arguments and returns the exit status."""
    parser, commands = new_parser(PROGRAM, "From checkpoints to bundles.")
    add_command(commands, "build", bundling.BUILD_HELP, bundling.add_build_arguments, bundling.run_build)
    bundles.add_commands(commands)
    add_command(commands, "tensorrt", trt.HELP, trt.add_arguments, trt.run)
    add_command(commands, "adapter", adapter_command.HELP, adapter_command.add_arguments, adapter_command.run)
    add_command(commands, "everyday", everyday.HELP, everyday.add_arguments, everyday.run)
    return with_paths_completed(parser)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    escape_unencodable_output()
    arguments = sys.argv[1:] if arguments is None else arguments
    if moved := _moved(arguments):
        here, there = moved
        tell(f"{PROGRAM} {here}: moved to `quizglass-lab {there}`; in the clone: pip install '.[lab]'", file=sys.stderr)
        return 2
    return run_program(PROGRAM, build_parser().parse_args(arguments))


def _moved(arguments: Sequence[str]) -> tuple[str, str] | None:
    """A command that the laboratory has now, as it is called here and there."""
    match list(arguments):
        case [command, *_] if command in MOVED:
            return command, command
        case ["build" | "verify" as command, *flags] if any(flag.startswith("--checkpoints") for flag in flags):
            return f"{command} --checkpoints", f"{command} --checkpoints"
        case ["everyday", "knowledge", *_]:
            return "everyday knowledge", "everyday-knowledge"
    return None


if __name__ == "__main__":
    sys.exit(main())
