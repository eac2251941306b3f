"""The recipe that a directory of checkpoints in the starter's layout stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quizglass_export.assembly.settings import Settings
from quizglass_export.checkpoints.files import CLASSIFIER, CONFIG, TRAINING, read_json
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.recipe.schema import (
    CoarseReranker,
    Demands,
    Detector,
    DomainRouter,
    Generator,
    ImageEncoder,
    Planner,
    Reader,
    Recipe,
    Reranker,
    Roles,
    Samples,
    TextEncoder,
)


def starter_recipe(
    root: Path, settings: Settings, *, samples: Samples, demands: Demands, quantisation: str, threads: int
) -> RecipeFile:
    """A recipe with all roles, from `base`, `planner`, `reranker_base`, `reranker` and the two encoders in `root`,
    and from `detector` and `coarse_reranker` where it has them.
    """
    roles = Roles(
        planner=Planner.model_validate(
            {
                "checkpoint": "base",
                "adapters": "planner",
                "picture": settings.picture,
                "max_tokens": settings.planner_tokens,
            }
        ),
        reranker=Reranker.model_validate(
            {
                "checkpoint": "reranker_base",
                "adapters": "reranker",
                "max_tokens": settings.reranker_tokens,
                "tokenizer": None if (root / "reranker_base" / "tokenizer.json").is_file() else "base/tokenizer.json",
            }
        ),
        image_encoder=ImageEncoder(checkpoint=Path("image_encoder")),
        text_encoder=TextEncoder(checkpoint=Path("text_encoder")),
        generator=Generator.model_validate(
            {
                "checkpoint": "base",
                "quantisation": quantisation,
                "picture": settings.picture,
                "context": settings.context,
                "max_new_tokens": settings.answer_tokens,
            }
        ),
        reader=Reader(),
        **_seeing_roles(root),
    )
    recipe = Recipe(
        format=1,
        name=settings.name,
        version=settings.version,
        abstain=settings.abstain,
        prompts=Path("prompts") if (root / "prompts").is_dir() else None,
        training=Path(TRAINING) if (root / TRAINING).is_file() else None,
        thresholds=settings.thresholds,
        evidence=settings.evidence,
        samples=samples,
        demands=demands,
        threads=threads,
        roles=roles,
    )
    return RecipeFile(recipe, root.absolute())


def _seeing_roles(root: Path) -> dict[str, Any]:
    """Roles that a directory may do without: detector, coarse reranker, and the domain router on the latter's Q-Former.

    The router's labels are the Q-Former's `id2label`.
    """
    roles: dict[str, Any] = {}
    if (root / "detector").is_dir():
        roles["detector"] = Detector(checkpoint=Path("detector"))
    q_former = root / "coarse_reranker"
    if q_former.is_dir():
        roles["coarse_reranker"] = CoarseReranker(checkpoint=Path(q_former.name), max_tokens=128)
    if (q_former / CLASSIFIER).is_file():
        labels = read_json(q_former / CONFIG).get("id2label", {})
        names = tuple(labels[key] for key in sorted(labels, key=int))
        roles["domain_router"] = DomainRouter(checkpoint=Path(q_former.name), labels=names)
    return roles
