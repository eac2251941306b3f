"""Runs policies over a benchmark and scores what they answer: by a running server, or by models of one's own.

A model of one's own is asked under each condition by the policies of that name: `none`, `image`, `text`, `both`,
`core-one-stage` and so on, as they are served, but without rerankers, readers and views. `oracle` is `both` with the
evidence that the benchmark records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from quizglass_client import Client
from quizglass_export.errors import ExportError
from quizglass_export.terminal import PlainConsole
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, asked_model
from quizglass_lab.finetuning.asking.interface import Ask, AskedModel
from quizglass_lab.finetuning.evaluation.conversations import OwnHistory, ask_in_turn
from quizglass_lab.finetuning.evaluation.turns import ORACLE, OfflineAsking, offline_line, served_line
from quizglass_lab.finetuning.recipes.questions import DataOptions, go_on, read_questions
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import each_kept, kept_rows
from quizglass_lab.reporting.answers.answered import AnswerLine
from quizglass_lab.reporting.answers.judged import ScoredAnswer, benchmark_of, judge_all
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.answers.sample_scores import Scorers
from quizglass_lab.reporting.papers import PaperFigure, systems
from quizglass_lab.reporting.report import ReportLine, beside_papers
from quizglass_lab.reporting.report import show as show_lines
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.benchmarks.bem import loaded_bem
from quizglass_lab.scoring.claims import ModelClaims
from quizglass_lab.scoring.judge import ModelJudge
from quizglass_server.policies import POLICIES

_LONG_REPLY = 256
"""Tokens of a list of claims, at most."""


class Evaluation(DataOptions):
    """Policies measured on a benchmark."""

    policies: tuple[str, ...] = Field(
        ("planning-agent", "no-search", "always-both"), min_length=1, description="rows of the table"
    )
    server: str = Field("", description="address of a running server, which answers, or searches for --answerer")
    answerer: str = Field("", description=f"a model that answers instead of the server's: {MODEL_HELP}")
    deciders: tuple[str, ...] = Field((), description="NAME=MODEL: who decides, such as planner=BASE+ADAPTER")
    against: str = Field("", description="row that the others are compared with, in pairs")
    paper: tuple[str, ...] = Field((), description=f"whose tables stand beside: {', '.join(systems())}")
    budget: float = Field(120.0, gt=0, description="seconds for a turn of the server")
    history: Literal["own", "gold"] = Field("own", description="answers before a later turn of a conversation")
    chunk: int = Field(32, ge=1, description="questions between two savings")
    bem: Path | None = Field(None, description="folder with bem.onnx and vocab.txt, for Encyclopedic-VQA")
    claims: str = Field("", description=f"a model that takes answers apart into claims and compares them: {MODEL_HELP}")
    judge: str = Field("exact", description=f"a model that grades answers too: {MODEL_HELP}; exact: none does")

    @model_validator(mode="after")
    def _fits(self) -> Evaluation:
        if not self.server and not self.answerer:
            raise ValueError("name --server, or a model with --answerer")
        if self.judge == "contains":
            raise ValueError("--judge: contains is for annotate; a benchmark has rules of its own, or name a model")
        if self.deciders and not self.answerer:
            raise ValueError("--deciders go with --answerer; a server has its own")
        if self.answerer and (unknown := sorted(set(self.policies) - {*POLICIES, ORACLE})):
            raise ValueError(f"--policies: there is no policy {unknown[0]!r}")
        if wrong := [each for each in self.deciders if not all(each.partition("="))]:
            raise ValueError(f"--deciders {wrong[0]}: expected NAME=MODEL")
        if self.against and self.against not in self.policies:
            raise ValueError(f"--against {self.against}: expected one of --policies")
        if unknown := sorted(set(self.paper) - set(systems())):
            raise ValueError(f"--paper: {unknown[0]!r} is none of {', '.join(systems())}")
        return self


def evaluate(options: Evaluation, progress: Progress) -> dict[str, Any]:
    """Ask every policy every question, keep `ROW.jsonl` of each, and score; goes on where it was stopped."""
    loaded: dict[str, AskedModel] = {}
    samples = read_questions(options)
    if ORACLE in options.policies and not any(sample.evidence for sample in samples.values()):
        raise ExportError(
            f"--policies: {ORACLE}: no question of {options.dataset} has evidence to answer from; leave {ORACLE} out, "
            "or give the questions as plain JSON lines with their evidence"
        )
    runs: dict[str, list[ScoredAnswer]] = {}
    with ExitStack() as opened:
        client = opened.enter_context(Client(options.server, timeout=options.budget)) if options.server else None
        # Judges ask nothing that is kept, and what a server is asked it fills into its own prompts.
        go_on(options, client, apart_from=("judge",) if options.answerer else ("judge", "prompts"))
        scorers = _scorers(options, loaded)
        for policy in options.policies:
            ask = _asking(options, policy, client, loaded, samples)
            turns = each_kept(
                options.out / f"{policy}.jsonl",
                AnswerLine,
                samples,
                ask,
                chunk=options.chunk,
                tick=progress.phase(policy, len(samples)),
            )
            answers = [turns[name].answered() for name in samples]
            runs[policy] = judge_all(list(samples.values()), answers, scorers)
    figures = all_figures(runs, options.against)
    lines = beside_papers(figures, options.paper, benchmark_of(list(samples.values()), options.dataset))
    return {"dataset": options.dataset, "questions": len(samples), "table": [asdict(line) for line in lines]}


def _asking(
    options: Evaluation,
    policy: str,
    client: Client | None,
    loaded: dict[str, AskedModel],
    samples: Mapping[str, Sample],
) -> Callable[[list[Sample]], list[AnswerLine]]:
    if options.answerer:
        model = asked_model(options.answerer, options, loaded)
        named = dict(each.split("=", 1) for each in options.deciders)
        deciders = {name: asked_model(spec, options, loaded) for name, spec in named.items()}
        asked = OfflineAsking(model, deciders, options.out / "pictures", client)
        one = partial(offline_line, asking=asked, policy=policy)
        workers = model.parallel
    elif policy == ORACLE or client is None:
        raise ExportError(f"--policies: {ORACLE} needs --answerer: a server looks up by itself")
    else:
        pictures = options.out / "pictures"
        one = partial(served_line, client=client, pictures=pictures, policy=policy, budget=options.budget)
        workers = options.parallel
    history = None
    if options.history == "own":
        history = OwnHistory(samples.values(), kept_rows(options.out / f"{policy}.jsonl", AnswerLine))
    return partial(ask_in_turn, one=one, history=history, workers=workers)


def _scorers(options: Evaluation, loaded: dict[str, AskedModel]) -> Scorers:
    def completing(spec: str) -> Callable[[str], str]:
        model = asked_model(spec, options, loaded)
        return lambda prompt: model.write([Ask("plain", {"question": prompt})], _LONG_REPLY)[0].text

    judge = None if options.judge == "exact" else ModelJudge(completing(options.judge))
    bem = None if options.bem is None else loaded_bem(options.bem)
    return Scorers(judge, bem, ModelClaims(completing(options.claims)) if options.claims else None)


def show(report: Mapping[str, Any]) -> None:
    """Print the report as a table for people."""
    lines = [
        ReportLine(
            row["row"],
            row["metric"],
            Measured(**row["measured"]) if row["measured"] else None,
            PaperFigure(**row["paper"]) if row["paper"] else None,
            row["reason"],
        )
        for row in report["table"]
    ]
    show_lines(lines, f"{report['dataset']}, {report['questions']:,} questions", PlainConsole())
