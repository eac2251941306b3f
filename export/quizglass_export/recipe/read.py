"""Reading a recipe: TOML to checked settings with absolute paths, or an error that names the key."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from quizglass_export.errors import ExportError
from quizglass_export.recipe.schema import Recipe, with_tasks

_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A recipe and where its relative paths begin."""

    recipe: Recipe
    root: Path

    def path(self, path: Path) -> Path:
        """A path of the recipe, absolute."""
        return self.root / path


def read_recipe(path: Path) -> RecipeFile:
    """Read `bundle.toml`.

    Raises:
        ExportError: not readable, not TOML, or a key is unknown or its value out of range.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ExportError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise ExportError(f"{path}: {len(content):,} bytes; a recipe has at most {_MOST_BYTES:,}")
    try:
        values = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{path}: not valid TOML: {error}") from None
    root = path.absolute().parent
    if isinstance(folder := values.get("prompts"), str) and folder != "general":
        values = with_tasks(values, root / folder)
    try:
        return RecipeFile(Recipe.model_validate(values), root)
    except ValidationError as error:
        raise ExportError("\n".join(f"{path}: {line}" for line in _problems(error, values))) from None


def _problems(error: ValidationError, values: dict[str, Any]) -> list[str]:
    lines = []
    for each in error.errors(include_url=False):
        key = _key(each["loc"], values, missing=each["type"] == "missing") or "top level"
        reason = "unknown key" if each["type"] == "extra_forbidden" else each["msg"].removeprefix("Value error, ")
        lines.append(f"{key}: {reason}")
    return lines


def _key(place: Sequence[str | int], values: Any, *, missing: bool) -> str:
    """The key of a recipe at a place of pydantic's, which also names the kinds of values that it tried there."""
    parts = []
    for part in place:
        keys = values if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ()
        if part in keys:
            values = values[part]
            parts.append(str(part))
    return ".".join([*parts, str(place[-1])] if missing else parts)
