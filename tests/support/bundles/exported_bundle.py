"""Roles and bundles whose models come out of the exporter, from tiny random checkpoints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.export.parity import exported, plan_role
from quizglass_bundle.files import Bundle
from quizglass_export.assembly.manifest import entries
from quizglass_export.assembly.plan import make_plan
from quizglass_export.checks import Check
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.recipe.schema import Recipe
from quizglass_export.roles.shared.samples import random_samples

_SAMPLES = {"source": "random", "count": 2}


def exported_role(folder: Path, role: str, spec: Mapping[str, Any], samples: int) -> tuple[Any, list[Check]]:
    """One role, its files below `files` of a folder: its entry in the manifest, and its comparisons.

    Args:
        folder: where the paths of `spec` begin.
        role: its name.
        spec: what a recipe says of it.
        samples: how many random samples it is compared on.
    """
    plan = plan_role(folder, role, spec, _SAMPLES)
    job, part = exported(plan, role, random_samples(samples), folder / "files")
    return part, plan.exporter(role).check(job, plan.spec(role), part)


def exported_bundle(
    root: Path, roles: dict[str, dict[str, Any]], base: Mapping[str, Any] | None = None, **settings: Any
) -> Bundle:
    """A bundle of roles, each named with its recipe.

    Args:
        root: its directory, which may hold the files of other roles already.
        roles: what a recipe says of them.
        base: manifest entries of roles whose files are there.
        settings: further keys of the manifest.
    """
    recipe = Recipe.model_validate({"format": 1, "name": "tiny", "version": "0", "samples": _SAMPLES, "roles": roles})
    plan = make_plan(RecipeFile(recipe, root))
    parts = dict(base or {})
    for role in roles:
        tokenizer = f"{role}/tokenizer.json"
        job = plan.job(role, root, tokenizer, random_samples(4))
        (root / role).mkdir(parents=True, exist_ok=True)
        part = plan.exporter(role).export(job, plan.spec(role)).part
        parts[role] = part.model_dump(mode="json", exclude_none=True)
        if "tokenizer" in parts[role]:
            shutil.copyfile(plan.sources[role].tokenizer_file(), root / tokenizer)
    return write_manifest(root, parts, **settings)


def write_manifest(root: Path, roles: dict[str, Any], **settings: Any) -> Bundle:
    """The manifest for the files of a directory."""
    (root / "parity.json").write_text("{}")
    content = {"format": 1, "name": "tiny", "version": "0", "abstain": "I don't know", "parity": "parity.json"}
    content |= {"roles": roles, "provenance": {}, **settings}
    content["files"] = {name: entry.model_dump() for name, entry in entries(root).items()}
    (root / "manifest.json").write_text(json.dumps(content))
    return Bundle.load(root)
