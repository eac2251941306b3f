"""`python -m bench.accuracy`: serve, ask, judge, print, write the results and their plots.

For each seed a world of THINGS things (the 400 trained ones among them), a real server with that world imported through
the real client, QUESTIONS questions, a quarter for each plan, half of them about things no model was trained on; every
policy is asked all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import plots, results
from bench.accuracy.asking import POLICIES, Asked, Targets, ask_all
from bench.accuracy.cases import Case, mean
from bench.accuracy.rows import table
from bench.worlds import Trial, fresh_seeds, load, prepare
from quizglass_client.local import LocalServer
from quizglass_export.pocketworld.questions import Question
from quizglass_server.bundle.files import Bundle


def main() -> None:
    """Measure, print, write bench/results/accuracy.json and its plots."""
    args = _arguments()
    seeds = args.seeds or fresh_seeds(3)
    console = Console()
    cases: list[Case] = []
    nothing: list[Case] = []
    for seed in seeds:
        trial, answers = measure(seed, args, console)
        made = [Case(q, a, q.target in trial.unseen) for q, a in zip(_all(trial), answers, strict=True)]
        cases += made[: len(trial.questions)]
        nothing += made[len(trial.questions) :]
    rows = table(cases, nothing)
    results.show(rows, f"accuracy over seeds {seeds}, {len(cases)} questions", console)
    parts = {"families": families(cases), "groups": groups(cases), "hops": hops(cases), "unseen": halves(cases)}
    path = results.write("accuracy", rows, seeds=seeds, **parts)
    console.print(f"{path}, {plots.accuracy(cases, POLICIES)} and {plots.accuracy_by_cost(cases, POLICIES)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", help="of the worlds (default: three from this commit's hash)")
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=800)
    parser.add_argument("--resume", action="store_true", help="keep the answers of an interrupted run")
    parser.add_argument("--clients", type=int, default=2, help="questions under way at once")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    return parser.parse_args()


def _all(trial: Trial) -> list[Question]:
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
    with Progress(*columns, console=console) as bars, _servers(args.bundle, folder) as targets:
        for target in (targets.server, targets.without_bonus):
            load(target, folder, bars)
        task = bars.add_task(f"world {seed}: questions", total=len(_all(trial)))
        answers = asyncio.run(ask_all(targets, trial, POLICIES, log, args.clients, lambda: bars.advance(task)))
    return trial, answers


@contextmanager
def _servers(bundle: Path, folder: Path) -> Iterator[Targets]:
    """A server of the bundle, and one of the same bundle without `kind_bonus`."""
    plain = folder / "bundle-without-bonus"
    shutil.rmtree(plain, ignore_errors=True)
    shutil.copytree(bundle, plain)
    manifest = json.loads((plain / "manifest.json").read_text())
    manifest["evidence"]["kind_bonus"] = 0.0
    (plain / "manifest.json").write_text(json.dumps(manifest))
    with (
        LocalServer(bundle, folder / "knowledge", log=folder / "server.log") as server,
        LocalServer(plain, folder / "knowledge-without-bonus", log=folder / "server-without-bonus.log") as other,
    ):
        yield Targets(server.target, other.target)


def families(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Accuracy of each policy on each question family, in percent."""
    names = sorted({c.question.family for c in cases})
    return {name: _by_policy([c for c in cases if c.question.family == name]) for name in names}


def groups(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Accuracy of each policy on each plan group, in percent."""
    return {g: _by_policy([c for c in cases if c.question.group == g]) for g in ("none", "image", "text", "both")}


def hops(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Accuracy of each policy by how many entries an answer needs, in percent."""
    return {str(count): _by_policy([c for c in cases if c.hops == count]) for count in sorted({c.hops for c in cases})}


def halves(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Accuracy of each policy on things that training knew, and on others, in percent."""
    return {
        "never trained on": _by_policy([c for c in cases if c.unseen]),
        "trained on": _by_policy([c for c in cases if not c.unseen]),
    }


def _by_policy(cases: list[Case]) -> dict[str, float]:
    shares = {policy: 100 * mean(cases, lambda c, p=policy: c.right(p)) for policy in POLICIES}  # type: ignore[misc]
    return {"questions": len(cases)} | {policy: round(share, 1) for policy, share in shares.items()}


if __name__ == "__main__":
    main()
