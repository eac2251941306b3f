"""`quizglass-lab benchmark`: flags, and what came of it for people."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from quizglass_export.long_work import STOPPED, stopping
from quizglass_export.terminal import tell
from quizglass_lab.benchmarking.options import Benchmarking
from quizglass_lab.datasets.benchmarks import BENCHMARKS
from quizglass_lab.finetuning.shared.options import add_flags, read_options

HELP = "measure every policy on a published benchmark, beside the papers' own tables: files, knowledge, server, scores"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("name", metavar="NAME", choices=list(BENCHMARKS), help=", ".join(BENCHMARKS))
    add_flags(parser, Benchmarking)
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON, and no progress")


def run(args: argparse.Namespace) -> int:
    """Measure and print. Returns 0, 2 when an input is wrong, or 130 when it was stopped."""
    from quizglass_client import ClientError
    from quizglass_export.errors import ExportError
    from quizglass_lab.benchmarking.run import run_benchmark
    from quizglass_lab.datasets.reading.errors import DatasetError
    from quizglass_lab.finetuning.evaluation.evaluate import show
    from quizglass_lab.finetuning.shared.progress import Progress

    try:
        with stopping():
            report = run_benchmark(args.name, read_options(Benchmarking, args, "benchmark"), Progress(quiet=args.json))
    except (ExportError, DatasetError, ClientError, OSError) as error:
        tell(f"quizglass-lab benchmark: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        tell("quizglass-lab benchmark: stopped; the same command goes on from here", file=sys.stderr)
        return STOPPED
    if args.json:
        tell(json.dumps(report, indent=1))
    else:
        show(report)
        for line in _notes(report):
            tell(line)
    return 0


def _notes(report: Mapping[str, Any]) -> Iterator[str]:
    """What the table does not say: questions that were not asked, the knowledge, policies that are not served."""
    if not any(line["paper"] for line in report["table"]):
        yield f"none of the papers whose systems are here has a table of {report['dataset']}"
    if missing := report["left_out"]["without_picture"]:
        such = ", ".join(report["left_out"]["such_as"])
        yield f"not asked: {missing:,} questions whose picture is not at hand, such as {such}"
    for row, failures in report["failed"].items():
        yield f"{row}: {len(failures):,} questions failed and count as refused, such as {failures[0]}"
    if not report["entries"]:
        yield "the server has no knowledge: give it the benchmark's with --knowledge"
    for each in report["knowledge"]:
        counts = f"{each['added']:,} entries, {each['pictured']:,} with a picture, {each['refused']:,} refused"
        yield f"{each['path']}: {counts}"
        left_out = ", ".join(f"{count:,} {what}" for what, count in each["left_out"].items())
        yield from [f"  left out: {left_out}"] * bool(left_out)
        yield from (f"  {example}" for example in each["examples"])
        if each["added"] and not each["pictured"]:
            yield "  image search finds none of them: name the folder of their pictures with --entry-pictures"
    measured = {line["row"] for line in report["table"] if line["measured"]}
    for roles, policies in _by_roles(report["works_without"], measured):
        yield f"served without {roles}: {policies}"
    for roles, policies in _by_roles(report["not_served"]):
        yield f"not measured, because the server lacks {roles}: {policies}"


def _by_roles(lacking: Mapping[str, Sequence[str]], among: Container[str] | None = None) -> list[tuple[str, str]]:
    """What is lacking, and the policies, perhaps of those `among`, that lack just this."""
    together: dict[str, list[str]] = {}
    for policy, roles in lacking.items():
        if among is None or policy in among:
            together.setdefault(", ".join(roles), []).append(policy)
    return [(roles, ", ".join(policies)) for roles, policies in together.items()]
