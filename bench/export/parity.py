"""Exporting a role from a recipe as a build does it, and its comparisons as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.results import Row
from quizglass_export.assembly.plan import Plan, make_plan
from quizglass_export.checks import Check
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.recipe.schema import Recipe
from quizglass_export.roles.shared.job import RoleJob
from quizglass_export.roles.shared.samples import ParitySample

_WORST: dict[str, Callable[[Sequence[float]], float]] = {"<=": max, ">=": min}


def plan_role(folder: Path, role: str, spec: Mapping[str, Any], samples: Mapping[str, Any], **more: Any) -> Plan:
    """The plan of a recipe with one role, and `more` of its keys."""
    content = {"format": 1, "name": "bench", "version": "1", "samples": samples, "roles": {role: spec}, **more}
    return make_plan(RecipeFile(Recipe.model_validate(content), folder))


def exported(plan: Plan, role: str, samples: Sequence[ParitySample], folder: Path) -> tuple[RoleJob, Any]:
    """A role's files below `folder`, and its entry in the manifest."""
    job = plan.job(role, folder, "tokenizer.json", samples)
    return job, plan.exporter(role).export(job, plan.spec(role)).part


def checked(plan: Plan, role: str, samples: Sequence[ParitySample], folder: Path) -> list[Check]:
    """Export a role, and compare it with PyTorch."""
    job, part = exported(plan, role, samples, folder)
    return plan.exporter(role).check(job, plan.spec(role), part)


def row(name: str, measure: str, unit: str, checks: Sequence[Check], compared: str) -> Row:
    """The worst case of one measure over several comparisons.

    Args:
        name: what was exported.
        measure: how its comparisons' own texts begin.
        unit: of the figure.
        checks: comparisons, of which all must have passed, also those of equal labels beside the measure.
        compared: with what, and on what.
    """
    chosen = [check for check in checks if check.measure.startswith(measure)]
    bar = chosen[0].demand
    labels = [check for check in checks if check.measure == "equal labels"]
    if labels:
        bar += ", equal labels"
    ok = all(check.passed for check in [*chosen, *labels])
    worst = _WORST[chosen[0].demand.split()[0]]([check.value for check in chosen])
    return Row(f"{name}: {measure}", worst, unit, compared, bar=bar, ok=ok)
