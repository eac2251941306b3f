"""The starter's planner, exported with some precision, for the sections that time it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from quizglass_export.assembly.plan import Plan
from quizglass_export.roles.shared.job import Exported, RoleJob
from quizglass_lab.starter_bundle.layout import BuildOptions, plan_starter


def starter_plan(checkpoints: Path, samples: int) -> Plan:
    """The plan of the starter's checkpoints, compared on so many samples."""
    return plan_starter(BuildOptions(checkpoints, Path("unused"), samples=samples))


def export_planner(plan: Plan, folder: Path, precision: str = "fp32") -> tuple[RoleJob, Any, Exported]:
    """The planner's files below `folder`: its job, its entry in the recipe, and what was exported."""
    spec = plan.spec("planner").model_copy(update={"precision": precision})
    job = plan.job("planner", folder, "tokenizer.json", plan.samples)
    return job, spec, plan.exporter("planner").export(job, spec)


def milliseconds(runs: Sequence[Callable[[Any], object]], given: Sequence[Any]) -> list[list[float]]:
    """Times of each run over all inputs; they take turns, and a first round is not counted."""
    for run in runs:
        run(given[0])
    times: list[list[float]] = [[] for _ in runs]
    for index, each in enumerate(given):
        for place in range(len(runs)):
            turn = (place + index) % len(runs)
            began = perf_counter()
            runs[turn](each)
            times[turn].append((perf_counter() - began) * 1e3)
    return times
