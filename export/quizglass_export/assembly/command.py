"""The subcommands `build` and `pack-checkpoints` of quizglass-export: flags, progress, a summary."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
PACK_HELP = "convert trained checkpoints to half precision, without training state"


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `build`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--recipe", type=Path, help="recipe file (bundle.toml): which checkpoint fills which role")
    source.add_argument(
        "--checkpoints",
        type=Path,
        help="directory with base, planner, reranker_base, reranker, image_encoder and text_encoder",
    )
    parser.add_argument("--out", type=Path, required=True, help="the bundle's directory")
    parser.add_argument("--replace", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--work",
        type=Path,
        help="directory that keeps finished steps, so that an interrupted build goes on where it stopped "
        "(default with --recipe: OUT.work; removed after a success)",
    )
    parser.add_argument("--dry-run", action="store_true", help="check the inputs and print the estimates only")
    _add_starter_arguments(parser.add_argument_group("with --checkpoints (a recipe has these itself)"))


_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_STARTER = {
    "samples": 160,
    "generated": 80,
    "sample_source": "pocketworld",
    "quantisation": "q8_0",
    "equal_answers": 0.97,
    "threads": 1,
}
"""Defaults of the flags that go with --checkpoints alone."""


def _add_starter_arguments(starter: argparse._ArgumentGroup) -> None:
    def add(flag: str, text: str, **more: Any) -> None:
        default = _STARTER[flag.removeprefix("--").replace("-", "_")]
        starter.add_argument(flag, help=f"{text} (default: {default})", **more)

    add("--samples", "how many samples the exported models are compared on", type=int)
    add("--generated", "how many of them the generator answers", type=int)
    add(
        "--sample-source",
        "questions about drawn scenes, or noise for untrained models",
        choices=("pocketworld", "random"),
    )
    add("--quantisation", "of the generator's text model", choices=("q8_0", "f16"))
    add(
        "--equal-answers",
        "share of the generator's answers that must equal PyTorch's; untrained models need less, since "
        "nothing sets their best token apart",
        type=float,
    )
    add("--threads", "CPU threads for PyTorch", type=int)


def _starter_options(args: argparse.Namespace) -> dict[str, Any]:
    """The flags that go with --checkpoints alone; ExportError where one is given with a recipe."""
    from quizglass_export.errors import ExportError

    given = {name: value for name in _STARTER if (value := getattr(args, name)) is not None}
    if args.recipe and given:
        raise ExportError(f"--{next(iter(given)).replace('_', '-')}: goes with --checkpoints; a recipe says it itself")
    return _STARTER | given


def run_build(args: argparse.Namespace) -> int:
    """Build a bundle. Returns 0, or 2 when an input is wrong or parity does not hold."""
    from quizglass_export.errors import ExportError
    from quizglass_server.errors import BundleError
    from quizglass_server.models.prompts import PromptError

    try:
        with stopping():
            return _build(args)
    except (ExportError, BundleError, PromptError, OSError) as error:
        return _fail("build", error)
    except KeyboardInterrupt:
        kept = "finished steps are kept" if _work(args) else "nothing was written"
        return _fail("build", f"stopped; {kept}", STOPPED)


def _build(args: argparse.Namespace) -> int:
    from quizglass_export.assembly.estimate import check_room, estimate
    from quizglass_export.directory import check_free

    console = PlainConsole(markup=False)
    check_free(args.out, args.replace)
    plan, work = _plan(args), _work(args)
    estimates = estimate(plan)
    if args.recipe or args.dry_run:
        console.print(estimates_table(estimates))
    _warn(estimates)
    _warn_of_prompts(plan)
    check_room(estimates, work or args.out, args.out)
    if not args.dry_run:
        _tell(_built(plan, work, args), estimates, args, console)
        if args.recipe and args.work is None and work is not None:
            shutil.rmtree(work)
    return 0


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


def _tell(built: Built, estimates: list[Estimate], args: argparse.Namespace, console: Console) -> None:
    """Print how the models compare, where that is written, and what can be done with the bundle."""
    from quizglass_export.assembly.next_steps import next_steps
    from quizglass_export.assembly.report import write_report

    console.print(Markdown(built.bundle.path("report.md").read_text(encoding="utf-8")))
    if args.recipe:
        console.print(f"report: {write_report(built, estimates, args.out)[1]}")
    console.print(f"{args.out}: bundle {built.bundle.manifest.name} {built.bundle.manifest.version}")
    for line in next_steps(built.bundle, args.out):
        console.print(line, soft_wrap=True)


def _plan(args: argparse.Namespace) -> Plan:
    from quizglass_export.assembly.plan import make_plan
    from quizglass_lab.starter_bundle.layout import BuildOptions, plan_starter
    from quizglass_export.errors import ExportError
    from quizglass_export.recipe.read import read_recipe
    from quizglass_export.roles.shared.entry import Demands

    options = _starter_options(args)
    if args.recipe:
        return make_plan(read_recipe(args.recipe))
    if not 0 <= options["equal_answers"] <= 1:
        raise ExportError(f"--equal-answers {options['equal_answers']:g}: must be between 0 and 1")
    return plan_starter(
        BuildOptions(
            checkpoints=args.checkpoints,
            out=args.out,
            source=options["sample_source"],
            samples=options["samples"],
            generated=options["generated"],
            file_type=options["quantisation"],
            demands=Demands(answers=options["equal_answers"]),
            threads=options["threads"],
        )
    )


def _work(args: argparse.Namespace) -> Path | None:
    """The work directory; None for one that is removed in any case."""
    if args.work is not None:
        return Path(args.work)
    out = args.out.absolute()
    return out.with_name(f"{out.name}.work") if args.recipe else None


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


def add_pack_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `pack-checkpoints`."""
    parser.add_argument("--from", dest="source", type=Path, required=True, help="directory of trained checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="directory to write")
    parser.add_argument("--replace", action="store_true", help="replace an existing directory")


def run_pack(args: argparse.Namespace) -> int:
    """Pack checkpoints. Returns 0, or 2 when one cannot be packed."""
    from quizglass_lab.starter_bundle.pack import pack
    from quizglass_export.checkpoints.files import Checkpoints
    from quizglass_export.errors import ExportError

    try:
        with stopping(), progress(Checkpoints(args.source).parts()) as advance:
            size = pack(args.source, args.out, replace=args.replace, advance=advance)
    except (ExportError, OSError) as error:
        return _fail("pack-checkpoints", error)
    except KeyboardInterrupt:
        return _fail("pack-checkpoints", "stopped; nothing was written", STOPPED)
    tell(f"{args.out}: {size:,} bytes")
    tell(f"next: quizglass-lab build --checkpoints {args.out} --out BUNDLE")
    return 0


def _fail(command: str, reason: object, status: int = 2) -> int:
    tell(f"quizglass-export {command}: {reason}", file=sys.stderr)
    return status
