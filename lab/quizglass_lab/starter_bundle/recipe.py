"""The recipe that a directory of checkpoints in the starter's layout stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from quizglass_export.checkpoints.files import CLASSIFIER, CONFIG, DECISIONS, ROUTER, TRAINING, read_json
from quizglass_export.errors import ExportError, reason
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.recipe.schema import Recipe, Roles, Samples
from quizglass_export.roles.shared.entry import Demands
from quizglass_lab.starter_bundle.settings import StarterSettings

TASKS = (
    *("think", "draft", "objects", "object", "split", "complete", "reason", "conclude"),
    *("conclude_from_reason", "reformulate", "next", "ask", "grade", "again", "weigh", "reconcile"),
)
"""What a generator is trained for whose deciders are, besides answering and rewriting."""
_NAMED = ("tool_router", "verifier")
_PROMPTS = {"planner": "plan"}
_LETTERS = "ABCDEFGH"


def starter_recipe(
    root: Path, settings: StarterSettings, *, samples: Samples, demands: Demands, quantisation: str, threads: int
) -> RecipeFile:
    """A recipe with all roles, from `base`, `planner`, `reranker_base`, `reranker` and the two encoders in `root`.

    Where `planner` says that its adapter was trained for further decisions, their roles share its graph, and the
    generator has the prompts of every task. What `detector` and `coarse_reranker` fill is there where `root` has these.

    Raises:
        ExportError: the file of its decisions or of its domains is damaged.
    """
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
        roles=_roles(root, settings, quantisation),
    )
    return RecipeFile(recipe, root.absolute())


def _roles(root: Path, settings: StarterSettings, quantisation: str) -> Roles:
    decisions = _decisions(root)
    picture = settings.picture
    tokenizer = None if (root / "reranker_base" / "tokenizer.json").is_file() else "base/tokenizer.json"
    planner = {
        "checkpoint": "base",
        "adapters": "planner",
        "picture": picture,
        "max_tokens": settings.planner_tokens,
        "tower": False,  # the starter's files are in the repository, which takes no more weights
    }
    reranker = {
        "checkpoint": "reranker_base",
        "adapters": "reranker",
        "max_tokens": settings.reranker_tokens,
        "tokenizer": tokenizer,
    }
    generator = {
        "checkpoint": "base",
        "quantisation": quantisation,
        "picture": picture,
        "context": settings.context,
        "max_new_tokens": settings.answer_tokens,
        "prompts": {task: task for task in TASKS} if decisions else {},
    }
    roles = {
        "planner": planner,
        "reranker": reranker,
        "image_encoder": {"checkpoint": "image_encoder"},
        "text_encoder": {"checkpoint": "text_encoder"},
        "generator": generator,
        "reader": {"gate": settings.gate},
        **_seeing_roles(root),
        **decisions,
    }
    try:
        return Roles.model_validate(roles)
    except ValidationError as error:
        raise ExportError(f"{root}: roles.{reason(error)}") from None


def _seeing_roles(root: Path) -> dict[str, Any]:
    """Roles that a directory may do without: detector, coarse reranker, and the domain router on the latter's Q-Former.

    The router's labels are the Q-Former's `id2label`.
    """
    roles: dict[str, Any] = {}
    if (root / "detector").is_dir():
        roles["detector"] = {"checkpoint": "detector"}
    q_former = root / "coarse_reranker"
    if q_former.is_dir():
        roles["coarse_reranker"] = {"checkpoint": q_former.name, "max_tokens": 128}
    if (q_former / CLASSIFIER).is_file():
        labels = read_json(q_former / CONFIG).get("id2label")
        if not isinstance(labels, dict) or not all(key.isdecimal() for key in labels):
            raise ExportError(
                f"{q_former / CONFIG}: id2label must name the domains by number, as {CLASSIFIER} has them"
            )
        names = tuple(labels[key] for key in sorted(labels, key=int))
        roles["domain_router"] = {"checkpoint": q_former.name, "labels": names}
    return roles


def _decisions(root: Path) -> dict[str, Any]:
    """Roles that share the planner's graph, and the search router."""
    path = root / "planner" / DECISIONS
    if not path.is_file():
        return {}
    roles: dict[str, Any] = {"deciders": {}}
    for role, labels in read_json(path).items():
        if not isinstance(labels, list) or not 2 <= len(labels) <= len(_LETTERS):
            raise ExportError(f"{path}: {role}: must be a list of 2 to {len(_LETTERS)} labels")
        lettered = [(str(label), f" {letter}") for label, letter in zip(labels, _LETTERS, strict=False)]
        shared = {"shares": "planner", "labels": lettered, "prompt": _PROMPTS.get(role, role)}
        if role in _NAMED:
            roles[role] = shared
        elif role != "planner":
            roles["deciders"][role] = shared
    if (path.parent / ROUTER).is_file():
        roles["deciders"]["search_router"] = {"linear": f"planner/{ROUTER}"}
    return roles
