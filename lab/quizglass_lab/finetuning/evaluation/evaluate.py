"""Runs policies over a benchmark and scores what they answer: by a running server, or by models of one's own.

A model of one's own is asked under each condition by the policies of that name: `none`, `image`, `text`, `both`,
`core-one-stage` and so on, as they are served, but without rerankers, readers and views. `oracle` is `both` with the
evidence that the benchmark records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any

from pydantic import Field, model_validator

from quizglass_client import Client
from quizglass_client.types import Answer
from quizglass_export.errors import ExportError
from quizglass_export.terminal import PlainConsole
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, asked_model
from quizglass_lab.finetuning.asking.interface import Ask, AskedModel
from quizglass_lab.finetuning.asking.offline_turn import OfflineModels, OfflineTurn
from quizglass_lab.finetuning.asking.searching import EvidenceSearch, RecordedSearch, ServerSearch
from quizglass_lab.finetuning.asking.served import served_turn
from quizglass_lab.finetuning.recipes.questions import (
    DataOptions,
    go_on,
    picture_file,
    printed_words,
    read_questions,
)
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import Record, each_kept
from quizglass_lab.reporting.papers import PaperFigure, systems
from quizglass_lab.reporting.report import Measured, ReportLine, beside_papers, measured
from quizglass_lab.reporting.report import show as show_lines
from quizglass_lab.reporting.sample_scores import Answered, Scorers
from quizglass_lab.reporting.scored import benchmark_of, scored
from quizglass_lab.scoring.answers import refuses
from quizglass_lab.scoring.costs import TurnCost
from quizglass_lab.scoring.judge import ModelJudge
from quizglass_server.policies import POLICIES

ORACLE = "oracle"
SEARCHES = ("image_search", "text_search")


class Evaluation(DataOptions):
    """Policies measured on a benchmark."""

    policies: tuple[str, ...] = Field(("planning-agent", "none", "both"), min_length=1, description="rows of the table")
    server: str = Field("", description="address of a running server, which answers, or searches for --answerer")
    answerer: str = Field("", description=f"a model that answers instead of the server's: {MODEL_HELP}")
    deciders: tuple[str, ...] = Field((), description="NAME=MODEL: who decides, such as planner=BASE+ADAPTER")
    paper: tuple[str, ...] = Field((), description=f"whose tables stand beside: {', '.join(systems())}")
    budget: float = Field(120.0, gt=0, description="seconds for a turn of the server")
    chunk: int = Field(32, ge=1, description="questions between two savings")
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
        if unknown := sorted(set(self.paper) - set(systems())):
            raise ValueError(f"--paper: {unknown[0]!r} is none of {', '.join(systems())}")
        return self


class GivenTurn(Record):
    """An answer and what it took, as `quizglass-lab score` reads it."""

    id: str
    answer: str
    refused: bool
    found: tuple[str, ...] | None = ()
    """Entries, best first, each once; None where they were not looked for but recorded."""
    image_searches: int = 0
    text_searches: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    plan: str = ""

    def answered(self) -> Answered:
        """The turn as the scorers take it."""
        searches = self.image_searches, self.text_searches
        cost = TurnCost(*searches, self.prompt_tokens, self.answer_tokens, self.seconds)
        entries = self.found if any(searches) else None
        return Answered(self.id, self.answer, self.refused, entries, cost)


def evaluate(options: Evaluation, progress: Progress) -> dict[str, Any]:
    """Ask every policy every question, keep `ROW.jsonl` of each, and score; goes on where it was stopped."""
    loaded: dict[str, AskedModel] = {}
    samples = read_questions(options)
    if ORACLE in options.policies and not any(sample.evidence for sample in samples.values()):
        raise ExportError(
            f"--policies: {ORACLE}: no question of {options.dataset} has evidence to answer from; leave {ORACLE} out, "
            "or give the questions as plain JSON lines with their evidence"
        )
    results = []
    with ExitStack() as opened:
        client = opened.enter_context(Client(options.server, timeout=options.budget)) if options.server else None
        # Judges ask nothing that is kept, and what a server is asked it fills into its own prompts.
        go_on(options, client, apart_from=("judge",) if options.answerer else ("judge", "prompts"))
        scorers = _scorers(options, loaded)
        for policy in options.policies:
            ask = _asking(options, policy, client, loaded)
            turns = each_kept(
                options.out / f"{policy}.jsonl",
                GivenTurn,
                samples,
                ask,
                chunk=options.chunk,
                tick=progress.phase(policy, len(samples)),
            )
            answers = [turns[name].answered() for name in samples]
            results += scored(policy, list(samples.values()), answers, scorers)
            results += _plans(policy, turns)
    lines = beside_papers(results, options.paper, benchmark_of(list(samples.values()), options.dataset))
    return {"dataset": options.dataset, "questions": len(samples), "table": [asdict(line) for line in lines]}


def _asking(options: Evaluation, policy: str, client: Client | None, loaded: dict[str, AskedModel]) -> Any:
    if options.answerer:
        model = asked_model(options.answerer, options, loaded)
        named = dict(each.split("=", 1) for each in options.deciders)
        deciders = {name: asked_model(spec, options, loaded) for name, spec in named.items()}
        one = partial(_offline, options=options, policy=policy, client=client, model=model, deciders=deciders)
        workers = model.parallel
    elif policy == ORACLE or client is None:
        raise ExportError(f"--policies: {ORACLE} needs --answerer: a server looks up by itself")
    else:
        one, workers = partial(_served, options=options, policy=policy, client=client), options.parallel

    def all_of(samples: Sequence[Sample]) -> list[GivenTurn]:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, samples))

    return all_of


def _served(sample: Sample, options: Evaluation, policy: str, client: Client) -> GivenTurn:
    picture = picture_file(sample, options.out / "pictures")
    events = served_turn(client, sample.asked, picture, sample.history, policy=policy, budget=options.budget)
    answer = Answer.of(events)
    stages = [timing.stage for timing in answer.done.timings]
    entries = [item.entry_id for item in answer.evidence if item.origin in SEARCHES]
    return GivenTurn(
        id=sample.id,
        answer=answer.text,
        refused=answer.abstained,
        found=tuple(dict.fromkeys(entries)),
        image_searches=stages.count("image_search"),
        text_searches=stages.count("text_search"),
        prompt_tokens=answer.done.all_prompt_tokens,
        answer_tokens=answer.done.answer_tokens,
        seconds=answer.done.total,
        plan=str(answer.plan.plan or "") if answer.plan else "",
    )


def _offline(
    sample: Sample,
    options: Evaluation,
    policy: str,
    client: Client | None,
    model: AskedModel,
    deciders: Mapping[str, AskedModel],
) -> GivenTurn:
    folder = options.out / "pictures"
    search: EvidenceSearch = RecordedSearch(sample.image_answer, sample.evidence, (*sample.entries, "")[0])
    if client is not None and policy != ORACLE:
        search = ServerSearch(client, folder)
    recorded = isinstance(search, RecordedSearch)
    models = OfflineModels(model, search, deciders)
    picture = picture_file(sample, folder)
    turn = OfflineTurn(models, sample.asked, picture, sample.history, printed_words(sample))
    draft = turn.run(POLICIES["both" if policy == ORACLE else policy])
    calls, plans = turn.spent.calls, dict(turn.spent.decisions)
    return GivenTurn(
        id=sample.id,
        answer="" if draft.refused else draft.text,
        refused=bool(draft.refused) or refuses(draft.text),
        found=None if recorded else tuple(dict.fromkeys(item.entry_id for item in turn.evidence)),
        image_searches=calls["image_search"],
        text_searches=calls["text_search"],
        prompt_tokens=turn.spent.prompt_tokens,
        answer_tokens=turn.spent.answer_tokens,
        seconds=turn.spent.seconds,
        plan=next((plans[by] for by in ("planner", "plan", "fixed") if by in plans), ""),
    )


def _scorers(options: Evaluation, loaded: dict[str, AskedModel]) -> Scorers:
    if options.judge == "exact":
        return Scorers()
    model = asked_model(options.judge, options, loaded)
    return Scorers(ModelJudge(lambda prompt: model.write([Ask("plain", {"question": prompt})])[0].text))


def _plans(policy: str, turns: Mapping[str, GivenTurn]) -> Any:
    """The share of turns with each plan, as rows "POLICY: PLAN"; none where no turn has a plan."""
    every = [turn.plan for turn in turns.values() if turn.plan]
    for plan in sorted(set(every)):
        hits = [{"plan share": float(each == plan)} for each in every]
        yield from measured(f"{policy}: {plan}", hits)


def show(report: Mapping[str, Any]) -> None:
    """Print the report as a table for people."""
    lines = [
        ReportLine(
            row["row"],
            row["metric"],
            Measured(**row["measured"]) if row["measured"] else None,
            PaperFigure(**row["paper"]) if row["paper"] else None,
        )
        for row in report["table"]
    ]
    show_lines(lines, f"{report['dataset']}, {report['questions']:,} questions", PlainConsole())
