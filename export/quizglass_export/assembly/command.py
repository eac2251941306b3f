"""The subcommand `build` of quizglass-export: flags, progress, a summary."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from quizglass_export.long_work import STOPPED, progress, stopping
from quizglass_export.terminal import PlainConsole, tell

if TYPE_CHECKING:
    from quizglass_export.assembly.carry_out import Built
    from quizglass_export.assembly.estimate import Estimate
    from quizglass_export.assembly.plan import Plan

BUILD_HELP = "merge, export and check checkpoints, and write a bundle if everything agrees with PyTorch"


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `build`."""
    recipe = "recipe file (bundle.toml): which checkpoint fills which role"
    parser.add_argument("--recipe", type=Path, required=True, help=recipe)
    add_output_arguments(parser, work="OUT.work; removed after a success")


def add_output_arguments(parser: argparse.ArgumentParser, work: str) -> None:
    """Declare the flags of every command that builds; `work` describes the default of `--work`."""
    parser.add_argument("--out", type=Path, required=True, help="the bundle's directory")
    parser.add_argument("--replace", action="store_true", help="replace an existing bundle")
    keeps = "directory that keeps finished steps, so that an interrupted build goes on where it stopped"
    parser.add_argument("--work", type=Path, help=f"{keeps} (default: {work})")
    parser.add_argument("--dry-run", action="store_true", help="check the inputs and print the estimates only")
    parser.add_argument("--json", action="store_true", help="print JSON: the build's report, or the estimates alone")


_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def run_build(args: argparse.Namespace) -> int:
    """Build a bundle by a recipe. Returns 0, or 2 when an input is wrong or parity does not hold."""

    def plan() -> Plan:
        from quizglass_export.assembly.plan import make_plan
        from quizglass_export.recipe.read import read_recipe

        return make_plan(read_recipe(args.recipe))

    out = args.out.absolute()
    work = args.work or out.with_name(f"{out.name}.work")
    status = build_by("quizglass-export build", plan, args, work, reports=True)
    if status == 0 and args.work is None:
        shutil.rmtree(work, ignore_errors=True)
    return status


def build_by(
    command: str, plan: Callable[[], Plan], args: argparse.Namespace, work: Path | None, *, reports: bool
) -> int:
    """Build what a plan describes; errors become one line and exit status 2, Ctrl-C and SIGTERM one line and 130.

    Args:
        command: program and subcommand, named in errors.
        plan: finds and checks the inputs.
        args: the flags of `add_output_arguments`.
        work: keeps finished steps; None: nothing is kept.
        reports: print estimates, and write a report beside the bundle.
    """
    from quizglass_bundle.errors import BundleError
    from quizglass_bundle.inputs.prompts import PromptError
    from quizglass_export.errors import ExportError

    try:
        with stopping():
            _build(plan, args, work, reports=reports)
    except (ExportError, BundleError, PromptError, OSError) as error:
        tell(f"{command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        tell(f"{command}: stopped; {'finished steps are kept' if work else 'nothing was written'}", file=sys.stderr)
        return STOPPED
    return 0


def _build(plan_inputs: Callable[[], Plan], args: argparse.Namespace, work: Path | None, *, reports: bool) -> None:
    from quizglass_export.assembly.estimate import check_room, estimate
    from quizglass_export.assembly.next_steps import unmeasured
    from quizglass_export.assembly.report import report_document, write_report
    from quizglass_export.directory import check_free

    console = PlainConsole(markup=False)
    check_free(args.out, args.replace)
    plan = plan_inputs()
    estimates = estimate(plan)
    if (reports or args.dry_run) and not args.json:
        console.print(estimates_table(estimates))
    _warn(estimates)
    _warn_of_prompts(plan)
    check_room(estimates, work or args.out, args.out)
    if args.dry_run:
        if args.json:
            tell(json.dumps({"estimates": [asdict(each) for each in estimates]}, indent=1))
        return
    built = _built(plan, work, args)
    report = write_report(built, estimates, args.out)[1] if reports else None
    if args.json:
        tell(json.dumps(report_document(built, estimates), indent=1))
        return
    console.print(Markdown(built.bundle.path("report.md").read_text(encoding="utf-8")))
    if report is not None:
        console.print(f"report: {report}")
    _tell(built, args.out, console, unmeasured(plan) if reports else [])


def _warn(estimates: Sequence[Estimate]) -> None:
    """Say on standard error what may go wrong."""
    from quizglass_export.assembly.estimate import available_memory

    if (peak := max((each.memory for each in estimates), default=0)) > (free := available_memory()):
        tell(f"warning: about {peak / 1e9:.1f} GB of memory are needed, {free / 1e9:.1f} GB are free", file=sys.stderr)
    for each in estimates:
        if each.notice:
            tell(f"warning: roles.{each.role}: {each.notice}", file=sys.stderr)


def _warn_of_prompts(plan: Plan) -> None:
    """Say on standard error which policies the bundle loses for want of a template."""
    from quizglass_export.assembly.next_steps import without_prompts

    if lost := without_prompts(plan.has):
        why = "for want of prompts of the generator (roles.generator.prompts, or templates named as these tasks)"
        print("\n  ".join([f"warning: the bundle cannot serve, {why}:", *lost]), file=sys.stderr)


def _built(plan: Plan, work: Path | None, args: argparse.Namespace) -> Built:
    """Carry the plan out, with a progress bar."""
    from quizglass_export.assembly.carry_out import carry_out, step_names

    with progress(step_names(plan)) as advance:
        return carry_out(plan, args.out, replace=args.replace, work=work, advance=advance)


def _tell(built: Built, out: Path, console: Console, proposed: Sequence[str]) -> None:
    """Print what was built, and what can be done with it."""
    from quizglass_export.assembly.next_steps import chosen_precisions, next_steps, proposed_answers

    console.print(f"{out}: bundle {built.bundle.manifest.name} {built.bundle.manifest.version}")
    told = [*chosen_precisions(built.measured), *proposed, *proposed_answers(built.reading, built.bundle, out)]
    for line in (*told, *next_steps(built.bundle, out)):
        console.print(line, soft_wrap=True)


def estimates_table(estimates: Sequence[Estimate]) -> Table:
    """What each role takes, for people; narrow enough for any terminal."""
    table = Table(title="Estimates", title_justify="left", box=None, pad_edge=False)
    table.add_column("role", no_wrap=True)
    for name in ("parameters", "checkpoint", "bundle", "scratch", "memory"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in estimates:
        sizes = (each.checkpoint, each.result, each.scratch, each.memory)
        table.add_row(each.role, _short(each.parameters), *(f"{_short(size)}B" for size in sizes))
    return table


def _short(number: float) -> str:
    """Three digits and a unit, as in 3.75 G."""
    unit, letter = next(((unit, letter) for unit, letter in _UNITS if number >= unit), (1, ""))
    value = number / unit
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {letter}"
