"""One benchmark from its published files to the papers' tables; goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from quizglass.values import Capabilities
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_export.errors import ExportError
from quizglass_lab.benchmarking.options import Benchmarking
from quizglass_lab.benchmarking.questions import prepare
from quizglass_lab.finetuning.evaluation.evaluate import Evaluation, evaluate
from quizglass_lab.finetuning.evaluation.turns import FAILED
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import kept_rows
from quizglass_lab.knowledge.finding import find
from quizglass_lab.knowledge.importing import Imported, import_once
from quizglass_lab.reporting.answers.answered import AnswerLine
from quizglass_lab.reporting.papers import paper_figures

_SAME = ("claims", "bem", "history", "key_variable", "budget", "parallel", "chunk")
"""Options that `evaluate` has too."""


def run_benchmark(name: str, options: Benchmarking, progress: Progress) -> dict[str, Any]:
    """Find the files, import the knowledge, ask every policy, score.

    Args:
        name: one of BENCHMARKS.
        options: of the command.
        progress: shows how far it is.

    Raises:
        DatasetError: a file is missing or not as published.
        ExportError: the folder is of another run, or a policy is not served.
        ClientError: the server cannot be reached or does not start.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    with progress.counting("questions") as tick:
        questions = prepare(name, options, tick)
    knowledge = [find(path, options.entry_pictures, options.page_props) for path in options.knowledge]
    with _served(options) as (client, target):
        imported: list[Imported] = []
        for each in knowledge:
            with progress.counting(each.form) as tick:
                imported.append(import_once(client, each, options.out, options.server, tick))
        able = client.capabilities()
        report = evaluate(_evaluation(name, options, target, able), progress)
    for line in report["table"]:
        if line["measured"] is None and (lacks := able.not_served.get(line["row"])):
            line["reason"] = f"the server does not serve it without {', '.join(lacks)}"
    return report | {
        "dataset": name,
        "left_out": {"without_picture": questions.without_picture, "such_as": list(questions.missing)},
        "failed": _failed(options.out / "answers", report),
        "knowledge": [each.model_dump() for each in imported],
        "entries": able.entries,
        "not_served": {policy: list(lacks) for policy, lacks in able.not_served.items()},
        "works_without": {policy: list(roles) for policy, roles in able.works_without.items()},
    }


@contextmanager
def _served(options: Benchmarking) -> Iterator[tuple[Client, str]]:
    """A client of the server that the options name, or of one that is started for this run; and the address."""
    with ExitStack() as opened:
        target = options.server
        if not target:
            server = LocalServer(options.bundle, options.out / "knowledge", log=options.out / "server.log")
            target = opened.enter_context(server).target
        yield opened.enter_context(Client(target, timeout=options.budget)), target


def _failed(answers: Path, report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Of each row the questions that the server did not take, and why."""
    rows = dict.fromkeys(line["row"] for line in report["table"] if line["measured"])
    kept = {row: kept_rows(answers / f"{row}.jsonl", AnswerLine).values() for row in rows}
    failed = {
        row: [f"{line.id}: {line.notes[FAILED]}" for line in of_row if FAILED in line.notes]
        for row, of_row in kept.items()
    }
    return {row: why for row, why in failed.items() if why}


def _evaluation(name: str, options: Benchmarking, target: str, able: Capabilities) -> Evaluation:
    lacking = [policy for policy in options.policies if policy not in able.policies]
    if lacking:
        why = ", ".join(able.not_served.get(lacking[0], ())) or "it knows no policy of that name"
        raise ExportError(f"--policies {lacking[0]}: the server does not serve it: {why}")
    tables = dict.fromkeys(each.system for each in paper_figures() if each.dataset == name)
    given = {
        "data": (options.out / "questions" / "questions.jsonl",),
        "out": options.out / "answers",
        "server": target,
        "policies": options.policies or able.policies,
        "paper": options.paper or tuple(tables),
        "judge": options.judge or "exact",
    }
    return Evaluation.model_validate(given | {name: getattr(options, name) for name in _SAME})
