"""`quizglass-lab score`: answers to a benchmark, scored, beside the table of a paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from quizglass_export.terminal import PlainConsole, tell
from quizglass_lab.datasets.benchmarks import BENCHMARKS, read_samples
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_lines
from quizglass_lab.datasets.reading.record import checked
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting import report
from quizglass_lab.reporting.answers.answered import Answered, AnswerLine
from quizglass_lab.reporting.answers.judged import ScoredAnswer, benchmark_of, judge_all
from quizglass_lab.reporting.answers.sample_scores import Scorers
from quizglass_lab.reporting.papers import systems
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.benchmarks.bem import loaded_bem
from quizglass_lab.scoring.claims import ModelClaims
from quizglass_lab.scoring.endpoint import KEY_VARIABLE, ChatEndpoint, EndpointError
from quizglass_lab.scoring.judge import ModelJudge

HELP = "score answers to a benchmark's questions, beside a paper's own table"
_ANSWERS = """answers of a system, JSON lines of {"id", "answer"} and, where known, further fields, such as "refused",
"found" (ids or addresses of entries, best first) and "seconds"; more than one may be given"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("name", metavar="NAME", choices=list(BENCHMARKS), help=", ".join(BENCHMARKS))
    parser.add_argument("paths", metavar="PATH", type=Path, nargs="+", help="files of the benchmark")
    parser.add_argument("--answers", metavar="ROW=FILE", action="append", required=True, help=_ANSWERS)
    parser.add_argument("--split", default="", help="only this split (default: all)")
    parser.add_argument("--limit", type=int, help="at most so many questions")
    parser.add_argument("--paper", action="append", default=[], choices=systems(), help="whose tables stand beside")
    parser.add_argument("--against", metavar="ROW", default="", help="row that the others are compared with, in pairs")
    parser.add_argument("--judge", metavar="URL#MODEL", help="an OpenAI-compatible endpoint that grades from 1 to 5")
    parser.add_argument("--claims", metavar="URL#MODEL", help="an OpenAI-compatible endpoint that compares claims")
    parser.add_argument("--judge-key", default=KEY_VARIABLE, help="environment variable of their key (%(default)s)")
    parser.add_argument("--bem", metavar="FOLDER", type=Path, help="folder with bem.onnx and vocab.txt")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def run(args: argparse.Namespace) -> int:
    """Score and print. Returns 0, or 2 when a file or an endpoint does not do."""
    try:
        samples = _samples(args)
        scorers = _scorers(args)
        runs: dict[str, list[ScoredAnswer]] = {}
        for row_file in args.answers:
            row, equals, file = row_file.partition("=")
            if not equals or not file:
                raise DatasetError(f"--answers {row_file}: expected ROW=FILE, e.g. both=both.jsonl")
            if row in runs:
                raise DatasetError(f"--answers {row_file}: the row {row!r} is there twice; give each system a name")
            runs[row] = _judged(samples, _answers(Path(file)), scorers, file)
        if args.against and args.against not in runs:
            raise DatasetError(f"--against {args.against}: expected one of the rows {', '.join(runs)}")
    except (DatasetError, EndpointError, ValueError, OSError) as error:
        tell(f"quizglass-lab score: {error}", file=sys.stderr)
        return 2
    figures = all_figures(runs, args.against)
    lines = report.beside_papers(figures, args.paper, benchmark_of(samples, args.name))
    if args.json:
        tell(report.as_record(lines, dataset=args.name, questions=len(samples)))
    else:
        report.show(lines, f"{args.name}, {len(samples):,} questions", PlainConsole())
    return 0


def _samples(args: argparse.Namespace) -> list[Sample]:
    samples: dict[str, Sample] = {}
    for sample in read_samples(args.name, args.paths, split=args.split, limit=args.limit):
        if sample.id in samples:
            raise DatasetError(f"{sample.place}: id: {sample.id!r} is there twice; score the files one by one")
        samples[sample.id] = sample
    if not samples:
        of = f" of the split {args.split!r}" if args.split else ""
        raise DatasetError(f"{', '.join(map(str, args.paths))}: no questions{of} to score")
    return list(samples.values())


def _scorers(args: argparse.Namespace) -> Scorers:
    judge = ModelJudge(_endpoint("--judge", args.judge, args)) if args.judge else None
    claims = ModelClaims(_endpoint("--claims", args.claims, args)) if args.claims else None
    return Scorers(judge, loaded_bem(args.bem) if args.bem else None, claims)


def _endpoint(flag: str, spec: str, args: argparse.Namespace) -> ChatEndpoint:
    url, _, model = spec.partition("#")
    if not model:
        raise DatasetError(f"{flag} {spec}: expected URL#MODEL")
    return ChatEndpoint(url, model, key_variable=args.judge_key)


def _answers(path: Path) -> dict[str, Answered]:
    answers: dict[str, Answered] = {}
    for place, record in json_lines(path):
        line = checked(AnswerLine, record, place)
        if line.id in answers:
            raise DatasetError(f"{place}: id: {line.id!r} is there twice")
        answers[line.id] = line.answered()
    return answers


def _judged(samples: Sequence[Sample], answers: dict[str, Answered], scorers: Scorers, file: str) -> list[ScoredAnswer]:
    """One system's answers; a question without an answer is an error, so that no system chooses its questions."""
    for sample in samples:
        if sample.id not in answers:
            raise DatasetError(f"{file}: id {sample.id}: expected an answer to every question")
    return judge_all(samples, [answers[sample.id] for sample in samples], scorers)
