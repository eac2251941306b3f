"""Accuracy of every policy on worlds that training never saw.

`make bench-accuracy SEED="101 202 303" THINGS=2000 QUESTIONS=800`: for each seed a world of THINGS things (the 400
trained ones among them), a real server with that world imported through the real client, QUESTIONS questions, a
quarter for each plan, half of them about things no model was trained on; every policy is asked all of them.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import plots, results
from bench.asking import POLICIES, Asked, ask_all
from bench.results import Row, at_least, at_most, beats
from bench.tables import Case, annotate, evidence_rank, image_hit, mean, searched
from bench.worlds import Trial, prepare
from quizglass_client import Client
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_client.local import LocalServer
from quizglass_export.metrics import confidence_interval
from quizglass_server.bundle.files import Bundle

BASELINES = ("none", "image", "text")
AGENT, BOTH = "planning-agent", "both"


def main() -> None:
    """Measure, print, write bench/results/accuracy.json and its plot."""
    args = _arguments()
    console = Console()
    cases: list[Case] = []
    nothing: list[Case] = []
    for seed in args.seeds:
        trial, answers = measure(seed, args, console)
        made = [Case(q, a, q.target in trial.unseen) for q, a in zip(_all(trial), answers, strict=True)]
        cases += made[: len(trial.questions)]
        nothing += made[len(trial.questions) :]
    rows = table(cases, nothing)
    results.show(rows, f"accuracy over seeds {args.seeds}, {len(cases)} questions", console)
    path = results.write("accuracy", rows, seeds=args.seeds, families=families(cases), groups=groups(cases))
    console.print(f"{path} and {plots.accuracy(cases, POLICIES)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 202, 303])
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=800)
    parser.add_argument("--resume", action="store_true", help="keep the answers of an interrupted run")
    parser.add_argument("--clients", type=int, default=2, help="questions under way at once")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    return parser.parse_args()


def _all(trial: Trial) -> list:  # type: ignore[type-arg]  # questions in the order they are asked
    return [*trial.questions, *trial.unknowable]


def measure(seed: int, args: argparse.Namespace, console: Console) -> tuple[Trial, list[Asked]]:
    """Serve one world and ask everything about it."""
    folder = args.workdir / f"world-{seed}-{args.things}"
    trial = prepare(seed, args.things, args.questions, folder)
    bundle = Bundle.load(args.bundle, hashes=False).digest[:12]
    log = args.workdir / f"accuracy-{bundle}-{seed}-{args.things}-{args.questions}.jsonl"
    if not args.resume:
        log.unlink(missing_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        Progress(*columns, console=console) as bars,
        LocalServer(args.bundle, folder / "knowledge", log=folder / "server.log") as server,
    ):
        load(server.target, folder, bars)
        task = bars.add_task(f"world {seed}: questions", total=len(_all(trial)))
        answers = asyncio.run(ask_all(server.target, trial, POLICIES, log, args.clients, lambda: bars.advance(task)))
    return trial, answers


def load(target: str, folder: Path, bars: Progress) -> None:
    """Import the world's entries, unless the knowledge directory has them from a run before."""
    lines = read_entries(folder / "entries.jsonl")
    entries = [line.entry for line in lines if isinstance(line, GoodLine)]
    with Client(target) as client:
        if client.capabilities().entries == len(entries):
            return
        task = bars.add_task(f"{folder.name}: import", total=len(entries))
        report = client.add_entries(entries, on_progress=lambda so_far: bars.update(task, completed=so_far.added))
    if report.refused:
        raise RuntimeError(f"{len(report.refused)} entries were refused, the first: {report.refused[0]}")


def table(cases: list[Case], nothing: list[Case]) -> list[Row]:
    """Every figure of the published table."""
    right = {policy: 100 * mean(cases, lambda c, p=policy: c.right(p)) for policy in POLICIES}  # type: ignore[misc]
    return [
        *_accuracies(cases, right),
        *_against_both(cases, right),
        *(beats("accuracy, planning-agent", right[AGENT], "%", policy, right[policy]) for policy in BASELINES),
        at_least("planning-agent over none", right[AGENT] - right["none"], "points", 20),
        *_labels(cases),
        *_retrieval(cases),
        Row("unknowable questions answered with I don't know", 100 * mean(nothing, _abstains), "%"),
    ]


def _accuracies(cases: list[Case], right: dict[str, float]) -> list[Row]:
    rows = []
    for policy in POLICIES:
        low, high = (100 * edge for edge in confidence_interval([float(c.right(policy)) for c in cases]))
        f1 = 100 * mean(cases, lambda c, p=policy: c.f1(p))  # type: ignore[misc]
        rows.append(Row(f"accuracy, {policy} (95 % interval {low:.1f} to {high:.1f})", right[policy], "%"))
        rows.append(Row(f"token F1, {policy}", f1, "%"))
    return rows


def _against_both(cases: list[Case], right: dict[str, float]) -> list[Row]:
    def share(stage: str) -> float:
        most = sum(searched(c, BOTH, stage) for c in cases)
        return 100 * sum(searched(c, AGENT, stage) for c in cases) / max(most, 1)

    tokens = {p: mean(cases, lambda c, p=p: c.asked.turns[p]["prompt_tokens"]) for p in (AGENT, BOTH)}  # type: ignore[misc]
    return [
        at_least("planning-agent minus always-both", right[AGENT] - right[BOTH], "points", -1),
        at_most("image searches, of always-both's", share("image_search"), "%", 55),
        at_most("text searches, of always-both's", share("text_search"), "%", 75),
        beats("prompt tokens, planning-agent", tokens[AGENT], "tokens", "always-both", tokens[BOTH], lower=True),
    ]


def _labels(cases: list[Case]) -> list[Row]:
    labelled = [(c, label) for c in cases if (label := annotate(c)) is not None]
    agreed = sum(c.asked.turns[AGENT]["plan"] == label for c, label in labelled)
    prompted = sum(c.asked.turns["prompt-based"]["plan"] == label for c, label in labelled)
    rows = [
        at_least("planner's label against the annotation", 100 * agreed / len(labelled), "%", 85),
        Row("untuned model's label against the annotation", 100 * prompted / len(labelled), "%"),
        Row("questions dropped as illogical", 100 * (1 - len(labelled) / len(cases)), "%"),
    ]
    for plan in ("none", "image", "text", "both"):
        chosen = 100 * mean(cases, lambda c, p=plan: c.asked.turns[AGENT]["plan"] == p)  # type: ignore[misc]
        annotated = 100 * sum(label == plan for _, label in labelled) / len(labelled)
        rows.append(Row(f"plans chosen: {plan}", chosen, "%", "annotated", annotated))
    return rows


def _retrieval(cases: list[Case]) -> list[Row]:
    pictured = [c for c in cases if c.question.group in ("image", "both") and c.question.target]
    new = [c for c in pictured if c.unseen]
    texts = [c for c in cases if c.question.group in ("text", "both") and c.question.gold_entries]
    reranked = [c for c in texts if evidence_rank(c, BOTH, reranked=True) is not None]
    before = 100 * mean(reranked, lambda c: evidence_rank(c, BOTH, reranked=False) == 0)
    after = 100 * mean(reranked, lambda c: evidence_rank(c, BOTH, reranked=True) == 0)
    gold_in_five = mean(texts, lambda c: c.question.gold_entries[-1] in c.asked.text_entries[:5])
    return [
        at_least(
            "image search recall@5, things never trained on", mean(new, lambda c: image_hit(c, BOTH, 5)), "", 0.90
        ),
        Row("image search recall@1, things never trained on", mean(new, lambda c: image_hit(c, BOTH, 1)), ""),
        Row("image search recall@5, all things", mean(pictured, lambda c: image_hit(c, BOTH, 5)), ""),
        at_least("text search recall@5 with the gold query", gold_in_five, "", 0.90),
        beats("evidence recall@1, reranked", after, "%", "search alone", before),
    ]


def _abstains(case: Case) -> float:
    return float(bool(case.asked.turns[AGENT]["abstained"]))


def families(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Accuracy of each policy on each question family, in percent."""
    names = sorted({c.question.family for c in cases})
    return {name: _by_policy([c for c in cases if c.question.family == name]) for name in names}


def groups(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Accuracy of each policy on each plan group, in percent."""
    return {g: _by_policy([c for c in cases if c.question.group == g]) for g in ("none", "image", "text", "both")}


def _by_policy(cases: list[Case]) -> dict[str, float]:
    shares = {policy: 100 * mean(cases, lambda c, p=policy: c.right(p)) for policy in POLICIES}  # type: ignore[misc]
    return {"questions": len(cases)} | {policy: round(share, 1) for policy, share in shares.items()}


if __name__ == "__main__":
    main()
