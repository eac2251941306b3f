"""The subcommands `build`, `verify` and `pack-checkpoints`, for checkpoints in the starter's layout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from quizglass_export.assembly.command import add_output_arguments, build_by
from quizglass_export.bundles.command import verify_by
from quizglass_export.long_work import STOPPED, progress, stopping
from quizglass_export.terminal import tell

if TYPE_CHECKING:
    from quizglass_export.assembly.plan import Plan

BUILD_HELP = "build a bundle from checkpoints in the starter's layout"
VERIFY_HELP = "check a bundle, and compare it again with checkpoints in the starter's layout"
PACK_HELP = "convert trained checkpoints to half precision, without training state"
_CHECKPOINTS = "directory with base, planner, reranker_base, reranker, image_encoder and text_encoder"


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `build`."""
    parser.add_argument("--checkpoints", type=Path, required=True, help=_CHECKPOINTS)
    add_output_arguments(parser, work="nothing is kept")
    parser.add_argument("--samples", type=int, default=160, help="samples compared (default: %(default)s)")
    parser.add_argument("--generated", type=int, default=80, help="of them answered (default: %(default)s)")
    source = "questions about drawn scenes, or noise for untrained models (default: %(default)s)"
    parser.add_argument("--sample-source", choices=("pocketworld", "random"), default="pocketworld", help=source)
    quantisation = "of the generator's text model (default: %(default)s)"
    parser.add_argument("--quantisation", choices=("q8_0", "f16"), default="q8_0", help=quantisation)
    parser.add_argument(
        "--equal-answers",
        type=float,
        default=0.97,
        help="share of the generator's answers that must equal PyTorch's; untrained models need less, since nothing"
        " sets their best token apart (default: %(default)s)",
    )
    parser.add_argument("--threads", type=int, default=1, help="CPU threads for PyTorch (default: %(default)s)")


def run_build(args: argparse.Namespace) -> int:
    """Build a bundle. Returns 0, or 2 when an input is wrong or parity does not hold."""

    def plan() -> Plan:
        from quizglass_export.errors import ExportError
        from quizglass_export.roles.shared.entry import Demands
        from quizglass_lab.starter_bundle.layout import BuildOptions, plan_starter

        if not 0 <= args.equal_answers <= 1:
            raise ExportError(f"--equal-answers {args.equal_answers:g}: must be between 0 and 1")
        return plan_starter(
            BuildOptions(
                checkpoints=args.checkpoints,
                out=args.out,
                source=args.sample_source,
                samples=args.samples,
                generated=args.generated,
                file_type=args.quantisation,
                demands=Demands(answers=args.equal_answers),
                threads=args.threads,
            )
        )

    return build_by("quizglass-lab build", plan, args, args.work, reports=False)


def add_verify_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `verify`."""
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--checkpoints", type=Path, required=True, help=_CHECKPOINTS)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_verify(args: argparse.Namespace) -> int:
    """Check a bundle. Returns 0, or 2 when anything is wrong."""

    def plan() -> Plan:
        from quizglass_lab.starter_bundle.layout import BuildOptions, plan_starter

        return plan_starter(BuildOptions(checkpoints=args.checkpoints, out=args.bundle))

    return verify_by("quizglass-lab verify", args.bundle, plan, json=args.json)


def add_pack_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `pack-checkpoints`."""
    parser.add_argument("--from", dest="source", type=Path, required=True, help="directory of trained checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="directory to write")
    parser.add_argument("--replace", action="store_true", help="replace an existing directory")


def run_pack(args: argparse.Namespace) -> int:
    """Pack checkpoints. Returns 0, or 2 when one cannot be packed."""
    from quizglass_export.checkpoints.files import Checkpoints
    from quizglass_export.errors import ExportError
    from quizglass_lab.starter_bundle.pack import pack

    try:
        with stopping(), progress(Checkpoints(args.source).parts()) as advance:
            size = pack(args.source, args.out, replace=args.replace, advance=advance)
    except (ExportError, OSError) as error:
        return _fail(error)
    except KeyboardInterrupt:
        return _fail("stopped; nothing was written", STOPPED)
    tell(f"{args.out}: {size:,} bytes")
    tell(f"next: quizglass-lab build --checkpoints {args.out} --out BUNDLE")
    return 0


def _fail(reason: object, status: int = 2) -> int:
    tell(f"quizglass-lab pack-checkpoints: {reason}", file=sys.stderr)
    return status
