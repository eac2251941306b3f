"""Size, time and agreement of the starter's planner in each precision, and whether it would be accepted."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.export.planner import export_planner, milliseconds, starter_plan
from bench.export.setup import Setup
from bench.results import Row, against, measured
from bench.sections import Part
from quizglass_bundle.parts import VisionScorer
from quizglass_export.checks import Check
from quizglass_export.parity import session
from quizglass_export.roles.shared.scorers import VisionPrompts

PRECISIONS = ("fp32", "fp16", "int8", "int8-rows", "int8-weights", "int4-weights")
_SAMPLES, _FEW = 160, 8
_TIMED = 48


def run(setup: Setup) -> Part:
    """Export the planner in every precision; then all are timed in turns on the same prompts."""
    plan = starter_plan(setup.checkpoints, setup.count(_SAMPLES, _FEW))
    part = Part()
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as name:
        models, sizes, agreement = [], [], []
        for precision in PRECISIONS:
            setup.say(f"precisions: {precision}")
            job, spec, exported = export_planner(plan, Path(name) / precision, precision)
            checks = plan.exporter("planner").check(job, spec, exported.part)
            models.append(session(job.path(exported.part.model)))
            sizes.append(sum(path.stat().st_size for path in job.folder.rglob("*") if path.is_file()) / 1e6)
            agreement.append({check.measure: check for check in checks})
        if not isinstance(exported.part, VisionScorer):
            raise TypeError(f"the planner is a {exported.part.kind}")
        prompts = VisionPrompts(job, exported.part)
        given = [prompts.inputs([index]) for index in range(min(_TIMED, len(prompts.rows)))]
        times = milliseconds([partial(model.run, None) for model in models], given)
    for precision, size, time, checks_of in zip(PRECISIONS, sizes, times, agreement, strict=True):
        part.rows += _rows(precision, (size, sizes[0]), (time, times[0]), checks_of)
    return part


def _rows(
    precision: str, size: tuple[float, float], time: tuple[list[float], list[float]], checks: Mapping[str, Check]
) -> list[Row]:
    """Of one precision; size and time each with float32's."""
    name, labels = f"planner, {precision}", checks["equal labels"]
    if precision == "fp32":
        return [Row(f"{name}: size", size[0], "MB"), measured(f"{name}: one prompt", time[0], "ms")]
    refused = [check.measure for check in checks.values() if not check.passed]
    outcome = f"a build refuses it: {', '.join(refused)}" if refused else "a build accepts it"
    drift = checks["mean change of a probability"]
    return [
        Row(f"{name}: size", size[0], "MB", "fp32", size[1], size[0] / size[1]),
        against(f"{name}: one prompt", time[0], "ms", "fp32", time[1]),
        Row(f"{name}: equal labels", labels.value * 100, "%", outcome),
        Row(f"{name}: {drift.measure}", drift.value, "", drift.detail),
    ]
