"""The subcommands `build` and `pack-checkpoints` of quizglass-export: flags, progress, a summary."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

BUILD_HELP = "merge, export and check checkpoints, and write a bundle if everything agrees with PyTorch"
PACK_HELP = "convert trained checkpoints to half precision, without training state"
_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
_STOPPED = 130


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `build`."""
    parser.add_argument(
        "--checkpoints",
        type=Path,
        required=True,
        help="directory with base, planner, reranker_base, reranker, image_encoder and text_encoder",
    )
    parser.add_argument("--out", type=Path, required=True, help="the bundle's directory")
    parser.add_argument("--replace", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--samples",
        type=int,
        default=160,
        help="how many samples the exported models are compared on (default: %(default)s)",
    )
    parser.add_argument(
        "--generated", type=int, default=80, help="how many of them the generator answers (default: %(default)s)"
    )
    parser.add_argument(
        "--sample-source",
        choices=("pocketworld", "random"),
        default="pocketworld",
        help="questions about drawn scenes, or noise for untrained models (default: %(default)s)",
    )
    parser.add_argument(
        "--quantisation",
        choices=("q8_0", "f16"),
        default="q8_0",
        help="of the generator's text model (default: %(default)s)",
    )
    parser.add_argument(
        "--equal-answers",
        type=float,
        default=0.97,
        help="share of the generator's answers that must equal PyTorch's; untrained models need less, since "
        "nothing sets their best token apart (default: %(default)s)",
    )
    parser.add_argument("--threads", type=int, default=1, help="CPU threads for PyTorch (default: %(default)s)")


def run_build(args: argparse.Namespace) -> int:
    """Build a bundle. Returns 0, or 2 when an input is wrong or parity does not hold."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # everything is read from the checkpoints' directory
    from quizglass_export.bundling.build import STEPS, BuildOptions, build
    from quizglass_export.bundling.errors import ExportError
    from quizglass_export.bundling.parity import Demands

    options = BuildOptions(
        checkpoints=args.checkpoints,
        out=args.out,
        replace=args.replace,
        source=args.sample_source,
        samples=args.samples,
        generated=args.generated,
        file_type=args.quantisation,
        demands=Demands(answers=args.equal_answers),
        threads=args.threads,
    )
    _stop_cleanly()
    try:
        with Progress(*_COLUMNS, console=Console(stderr=True)) as bars:
            task = bars.add_task("reading", total=len(STEPS), completed=-1)
            bundle = build(options, lambda step: bars.update(task, advance=1, description=step))
            bars.update(task, completed=len(STEPS), description="done")
    except (ExportError, OSError) as error:
        return _fail("build", error)
    except KeyboardInterrupt:
        return _fail("build", "stopped; nothing was written", _STOPPED)
    console = Console()
    console.print(Markdown(bundle.path("report.md").read_text(encoding="utf-8")))
    console.print(f"{args.out}: bundle {bundle.manifest.name} {bundle.manifest.version}")
    console.print(f"next: quizglass-server --bundle {args.out} --knowledge DIR")
    return 0


def add_pack_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `pack-checkpoints`."""
    parser.add_argument("--from", dest="source", type=Path, required=True, help="directory of trained checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="directory to write")
    parser.add_argument("--replace", action="store_true", help="replace an existing directory")


def run_pack(args: argparse.Namespace) -> int:
    """Pack checkpoints. Returns 0, or 2 when one cannot be packed."""
    from quizglass_export.bundling.checkpoints import PARTS
    from quizglass_export.bundling.errors import ExportError
    from quizglass_export.bundling.pack import pack

    _stop_cleanly()
    try:
        with Progress(*_COLUMNS, console=Console(stderr=True)) as bars:
            task = bars.add_task("reading", total=len(PARTS), completed=-1)
            size = pack(
                args.source,
                args.out,
                replace=args.replace,
                advance=lambda part: bars.update(task, advance=1, description=part),
            )
            bars.update(task, completed=len(PARTS), description="done")
    except (ExportError, OSError) as error:
        return _fail("pack-checkpoints", error)
    except KeyboardInterrupt:
        return _fail("pack-checkpoints", "stopped; nothing was written", _STOPPED)
    print(f"{args.out}: {size:,} bytes")
    print(f"next: quizglass-export build --checkpoints {args.out} --out BUNDLE")
    return 0


def _fail(command: str, reason: object, status: int = 2) -> int:
    print(f"quizglass-export {command}: {reason}", file=sys.stderr)
    return status


def _stop_cleanly() -> None:
    """Let SIGTERM unwind like Ctrl-C, so that unfinished directories are removed."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
