"""The `pocketworld` subcommand of quizglass-lab: flags, a progress bar, a summary."""

import argparse
import json
import sys
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from quizglass_export.terminal import PlainConsole, tell
from quizglass_lab.pocketworld.dataset.files import FORMAT, Summary, export_world
from quizglass_lab.pocketworld.questions import MIXES
from quizglass_lab.pocketworld.world import FORMATS

HELP = "write a fictional world: pictures, articles and questions with gold answers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of the subcommand."""
    parser.add_argument("--seed", type=int, required=True, help="which world; every seed but 1 is new to the models")
    parser.add_argument("--things", type=int, default=400, help="how many things it holds (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to; must be empty or new")
    parser.add_argument("--questions", type=int, default=400, help="how many questions (default: %(default)s)")
    parser.add_argument("--unknowable", type=int, help="how many more that nothing answers (default: a tenth)")
    parser.add_argument("--conflicts", type=int, default=0, help="how many about sources that disagree (default: 0)")
    parser.add_argument("--sessions", type=int, default=0, help="how many sessions of 2 to 6 questions (default: 0)")
    parser.add_argument(
        "--format", type=int, default=FORMAT, choices=FORMATS, help="1 repeats what older versions wrote (default: 2)"
    )
    parser.add_argument(
        "--mix",
        default="balanced",
        choices=MIXES,
        help="balanced: over where to look; cog: 1, 2 and more lookups at 20, 33 and 47 %% (default: %(default)s)",
    )
    parser.add_argument("--with-core", action="store_true", help="mix in the 400 things the models were trained on")
    parser.add_argument(
        "--unseen-share", type=float, help="with --with-core: share of the questions about new things, 0 to 1"
    )
    parser.add_argument("--overwrite", action="store_true", help="write into a folder that holds files already")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON, and no progress")


def run(args: argparse.Namespace) -> int:
    """Write the world and say what was written. Returns the exit status: 2 when an argument cannot be used."""
    try:
        summary = _export(args)
    except (ValueError, OSError) as error:
        tell(f"quizglass-lab pocketworld: {error}", file=sys.stderr)
        return 2
    if args.json:
        tell(json.dumps({"out": str(args.out), **vars(summary)}))
    else:
        _say(summary, args.out)
    return 0


def _export(args: argparse.Namespace) -> Summary:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=PlainConsole(stderr=True), disable=args.json) as bars:
        tasks = {stage: bars.add_task(stage, total=None, visible=False) for stage in ("pictures", "scenes")}
        return export_world(
            args.seed,
            args.things,
            args.out,
            questions=args.questions,
            unknowable=args.unknowable,
            conflicts=args.conflicts,
            sessions=args.sessions,
            core=args.with_core,
            unseen_share=args.unseen_share,
            format=args.format,
            mix=args.mix,
            overwrite=args.overwrite,
            progress=lambda stage, done, total: bars.update(tasks[stage], completed=done, total=total, visible=True),
        )


def _say(summary: Summary, out: Path) -> None:
    groups = ", ".join(f"{count} {group}" for group, count in summary.groups.items())
    tell(f"{out}: world {summary.seed} with {summary.things} things, {summary.entries} entries")
    tell(f"{summary.questions} questions ({groups}) and {summary.unknowable} that nothing answers")
    if summary.conflicts or summary.sessions:
        tell(f"{summary.conflicts} about sources that disagree, {summary.turns} in {summary.sessions} sessions")
    tell(f"next: quizglass knowledge import {out}")
