"""The recipes by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quizglass_export.finetuning.options import Options
from quizglass_export.finetuning.progress import Progress
from quizglass_export.finetuning.recipes import cogplanner, core_mmrag, planner
from quizglass_export.finetuning.training.settings import Training


@dataclass(frozen=True, slots=True)
class Annotated:
    """How a recipe's examples are made."""

    help: str
    options: type[Options]
    run: Callable[[Any, Progress], dict[str, Any]]


ANNOTATIONS = {
    "planner": Annotated("which lookups a question needs", planner.PlannerAnnotation, planner.annotate),
    "cogplanner": Annotated("rounds of right turns", cogplanner.CogPlannerAnnotation, cogplanner.annotate),
    "core-mmrag": Annotated("which source and entry are right", core_mmrag.CoReAnnotation, core_mmrag.annotate),
}
TRAININGS: dict[str, type[Training]] = {
    "planner": planner.PlannerTraining,
    "cogplanner": cogplanner.CogPlannerTraining,
    "core-mmrag": core_mmrag.CoReTraining,
}
