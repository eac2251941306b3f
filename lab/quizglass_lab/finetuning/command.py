"""The subcommands `annotate`, `train` and `evaluate` of quizglass-lab: flags, progress, what came of it."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from quizglass_export.long_work import STOPPED
from quizglass_export.terminal import tell

if TYPE_CHECKING:
    from quizglass_lab.finetuning.shared.options import Options

HELP = {
    "annotate": "ask models about a data set's questions, and make a recipe's training examples of their answers",
    "train": "train an adapter, or a whole model, by a recipe of the papers",
    "evaluate": "run policies of a server or of a model over a benchmark, beside the papers' own tables",
}
Report = dict[str, Any]
Run = Callable[[Any, Any], Report]
"""Runs a command: options and progress in, its report out."""


def add_commands(commands: Any, arguments: Sequence[str] | None) -> None:
    """Declare the subcommands; those that `arguments` do not ask for get no flags: to make them loads torch."""
    for name, text in HELP.items():
        parser = commands.add_parser(name, help=text, description=text)
        if arguments is None or name in arguments:
            _fill(parser, name)


def _fill(parser: argparse.ArgumentParser, name: str) -> None:
    from quizglass_lab.finetuning.table import COMMANDS

    if name == "evaluate":
        from quizglass_lab.finetuning.evaluation.evaluate import Evaluation, evaluate, show

        _declare(parser, Evaluation, evaluate, show)
        return
    recipes = parser.add_subparsers(dest="recipe", required=True, metavar="RECIPE")
    for each, command in COMMANDS[name].items():
        inner = recipes.add_parser(each, help=command.help, description=command.help)
        _declare(inner, command.options, command.run)


def _declare(
    parser: argparse.ArgumentParser, kind: type[Options], run: Run, show: Callable[[Report], None] | None = None
) -> None:
    from quizglass_lab.finetuning.shared.options import add_flags

    add_flags(parser, kind)
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON, and no progress")
    parser.set_defaults(run=lambda args: _run(args, kind, run, show or _show))


def _run(args: argparse.Namespace, kind: type[Options], run: Run, show: Callable[[Report], None]) -> int:
    """Returns 0, 2 when an input is wrong, or 130 when it was stopped."""
    from quizglass_bundle.inputs.prompts import PromptError
    from quizglass_client import ClientError
    from quizglass_export.errors import ExportError
    from quizglass_lab.finetuning.shared.options import read_options
    from quizglass_lab.finetuning.shared.progress import Progress

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    try:
        report = run(read_options(kind, args, args.command), Progress(quiet=args.json))
    except (ExportError, PromptError, ClientError, OSError) as error:
        tell(f"quizglass-lab {args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        tell(f"quizglass-lab {args.command}: stopped; the same command goes on from here", file=sys.stderr)
        return STOPPED
    if args.json:
        tell(json.dumps(report, indent=1))
    else:
        show(report)
    return 0


def _show(report: Report) -> None:
    """One line a key; lists, such as curves, are for files."""
    for key, value in report.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {_short(each)}" for name, each in value.items())
        if not isinstance(value, list):
            tell(f"{key.replace('_', ' ')}: {_short(value)}")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
