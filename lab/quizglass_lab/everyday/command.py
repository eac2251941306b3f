"""The subcommand `everyday-knowledge` of quizglass-lab."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from quizglass_export.long_work import STOPPED, stopping
from quizglass_export.terminal import tell

HELP = "fetch the everyday bundle's packages, write the sample knowledge and the photographs to ask about"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    folder = "where everything is put (default: %(default)s)"
    parser.add_argument("--workdir", type=Path, default=Path("work/everyday"), help=folder)


def run(args: argparse.Namespace) -> int:
    """Returns 0, 2 when something cannot be had, or 130 when it was stopped."""
    from quizglass_export.errors import ExportError
    from quizglass_export.everyday.weights import fetch_everything
    from quizglass_lab.everyday.knowledge import KNOWLEDGE, write_knowledge

    try:
        with stopping():
            fetch_everything(args.workdir, tell=tell)
            tell(f"{write_knowledge(args.workdir)} entries: {args.workdir / KNOWLEDGE}")
    except (ExportError, OSError) as error:
        tell(f"quizglass-lab everyday-knowledge: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        tell("quizglass-lab everyday-knowledge: stopped; the same command goes on from here", file=sys.stderr)
        return STOPPED
    return 0
