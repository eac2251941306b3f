"""What can be annotated and trained, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from quizglass_lab.finetuning.fitting import domain_router, search_router, verifier_line
from quizglass_lab.finetuning.recipes import (
    cogplanner,
    core_mmrag,
    everyday_generator,
    everyday_planner,
    everyday_reranker,
    planner,
    qa_dragon,
    reranker,
    served_answers,
)
from quizglass_lab.finetuning.shared.options import Options
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.training.settings import Training

Run = Callable[[Any, Progress], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Command:
    """A recipe's part of a command: its options, and what it does."""

    help: str
    options: type[Options]
    run: Run


def _train(recipe: str, options: Training, progress: Progress) -> dict[str, Any]:
    from quizglass_lab.finetuning.training.trainer import train

    return train(options, recipe, quiet=progress.quiet)


def _trained(name: str, options: type[Options], run: Run | None = None) -> Command:
    return Command(options.__doc__ or "", options, run or partial(_train, name))


COMMANDS = {
    "annotate": {
        "planner": Command("which lookups a question needs", planner.PlannerAnnotation, planner.annotate),
        "cogplanner": Command("rounds of turns that end right", cogplanner.CogPlannerAnnotation, cogplanner.annotate),
        "qa-dragon": Command("drafts, entities, judgements", qa_dragon.DragonAnnotation, qa_dragon.annotate),
        "core-mmrag": Command("which source and entry are right", core_mmrag.CoReAnnotation, core_mmrag.annotate),
        "verifier-line": Command(
            "a server's answers, how sure it was, right or not",
            served_answers.ServedAnswersAnnotation,
            served_answers.annotate,
        ),
        "reranker": Command(
            "passages that answer, and such that do not", reranker.RerankerAnnotation, reranker.annotate
        ),
        "everyday-generator": Command(
            "answers from notes about real things", everyday_generator.NotesAnnotation, everyday_generator.annotate
        ),
        "everyday-planner": Command(
            "which lookups questions about real things need",
            everyday_planner.EverydayPlannerAnnotation,
            everyday_planner.annotate,
        ),
    },
    "train": {
        "planner": _trained("planner", planner.PlannerTraining),
        "cogplanner": _trained("cogplanner", cogplanner.CogPlannerTraining),
        "qa-dragon": _trained("qa-dragon", qa_dragon.DragonTraining),
        "search-router": _trained("search-router", search_router.SearchRouterTraining, search_router.fit),
        "domain-router": _trained("domain-router", domain_router.DomainRouterTraining, domain_router.fit),
        "verifier-line": _trained("verifier-line", verifier_line.VerifierLineTraining, verifier_line.fit),
        "core-mmrag": _trained("core-mmrag", core_mmrag.CoReTraining),
        "reranker": _trained("reranker", reranker.RerankerTraining),
        "everyday-generator": _trained("everyday-generator", everyday_generator.NotesTraining),
        "everyday-planner": _trained("everyday-planner", everyday_planner.EverydayPlannerTraining),
        "everyday-reranker": _trained(
            "everyday-reranker", everyday_reranker.AnsweringTraining, everyday_reranker.train
        ),
    },
}
