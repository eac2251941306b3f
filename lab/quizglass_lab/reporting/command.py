"""`quizglass-lab score`: answers to a benchmark, scored, beside the table of a paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from quizglass_export.terminal import PlainConsole, tell
from quizglass_lab.datasets.benchmarks import BENCHMARKS, read_samples
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_lines
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting import report
from quizglass_lab.reporting.papers import systems
from quizglass_lab.reporting.sample_scores import Answered, Scorers
from quizglass_lab.reporting.scored import benchmark_of, scored
from quizglass_lab.scoring.costs import TurnCost
from quizglass_lab.scoring.endpoint import KEY_VARIABLE, ChatEndpoint, EndpointError
from quizglass_lab.scoring.judge import ModelJudge

HELP = "score answers to a benchmark's questions, beside a paper's own table"
_ANSWERS = """answers of a system, JSON lines of {"id", "answer"} and, where known, "refused", "found" (entry ids, best
first), "image_searches", "text_searches", "prompt_tokens", "answer_tokens", "seconds"; more than one may be given"""


class _AnswerLine(Published):
    id: str
    answer: str
    refused: bool | None = None
    found: list[str] | None = None
    image_searches: int | None = Field(None, ge=0)
    text_searches: int | None = Field(None, ge=0)
    prompt_tokens: int | None = Field(None, ge=0)
    answer_tokens: int | None = Field(None, ge=0)
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)

    def answered(self) -> Answered:
        """The line as the scorers take it."""
        cost = TurnCost(self.image_searches, self.text_searches, self.prompt_tokens, self.answer_tokens, self.seconds)
        entries = None if self.found is None else tuple(self.found)
        return Answered(self.id, self.answer, self.refused, entries, cost)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("name", metavar="NAME", choices=list(BENCHMARKS), help=", ".join(BENCHMARKS))
    parser.add_argument("paths", metavar="PATH", type=Path, nargs="+", help="files of the benchmark")
    parser.add_argument("--answers", metavar="ROW=FILE", action="append", required=True, help=_ANSWERS)
    parser.add_argument("--split", default="", help="only this split (default: all)")
    parser.add_argument("--limit", type=int, help="at most so many questions")
    parser.add_argument("--paper", action="append", default=[], choices=systems(), help="whose tables stand beside")
    parser.add_argument("--judge", metavar="URL#MODEL", help="an OpenAI-compatible endpoint that grades from 1 to 5")
    parser.add_argument("--judge-key", default=KEY_VARIABLE, help="environment variable of its key (%(default)s)")
    parser.add_argument("--bem", metavar="FOLDER", type=Path, help="folder with bem.onnx and vocab.txt")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def run(args: argparse.Namespace) -> int:
    """Score and print. Returns 0, or 2 when a file or an endpoint does not do."""
    try:
        samples = _samples(args)
        scorers = _scorers(args)
        results: list[report.Measured] = []
        for row_file in args.answers:
            row, equals, file = row_file.partition("=")
            if not equals or not file:
                raise DatasetError(f"--answers {row_file}: expected ROW=FILE, e.g. both=both.jsonl")
            if any(each.row == row for each in results):
                raise DatasetError(f"--answers {row_file}: the row {row!r} is there twice; give each system a name")
            results += _scored(row, samples, _answers(Path(file)), scorers, file)
    except (DatasetError, EndpointError, ValueError, OSError) as error:
        tell(f"quizglass-lab score: {error}", file=sys.stderr)
        return 2
    lines = report.beside_papers(results, args.paper, benchmark_of(samples, args.name))
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
    judge = None
    if args.judge:
        url, _, model = args.judge.partition("#")
        if not model:
            raise DatasetError(f"--judge {args.judge}: expected URL#MODEL")
        judge = ModelJudge(ChatEndpoint(url, model, key_variable=args.judge_key))
    if args.bem is None:
        return Scorers(judge)
    from quizglass_lab.scoring.benchmarks.bem import Bem

    return Scorers(judge, Bem(args.bem / "bem.onnx", args.bem / "vocab.txt"))


def _answers(path: Path) -> dict[str, Answered]:
    answers: dict[str, Answered] = {}
    for place, record in json_lines(path):
        line = checked(_AnswerLine, record, place)
        if line.id in answers:
            raise DatasetError(f"{place}: id: {line.id!r} is there twice")
        answers[line.id] = line.answered()
    return answers


def _scored(
    row: str, samples: Sequence[Sample], answers: dict[str, Answered], scorers: Scorers, file: str
) -> list[report.Measured]:
    """One system's figures; a question without an answer is an error, so that no system chooses its questions."""
    for sample in samples:
        if sample.id not in answers:
            raise DatasetError(f"{file}: id {sample.id}: expected an answer to every question")
    return scored(row, samples, [answers[sample.id] for sample in samples], scorers)
