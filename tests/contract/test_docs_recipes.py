"""The recipes that the documentation shows are recipes, and the first serves the planning agent."""

import re
import tomllib
from pathlib import Path
from typing import Any

from quizglass_export.recipe.schema import Recipe
from quizglass_server.policies import POLICIES

PAGE = Path(__file__).parents[2] / "docs" / "bundles.md"
LEFT_OUT = {"format": 1, "name": "x", "version": "1"}


def _shown() -> list[dict[str, Any]]:
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [tomllib.loads(block.replace('sha256 = "..."', f'sha256 = "{"0" * 64}"')) for block in blocks]


def test_recipes_are_understood() -> None:
    shown = _shown()
    assert len(shown) >= 8
    for recipe in shown:
        Recipe.model_validate(LEFT_OUT | recipe)


def test_the_first_recipe_has_what_the_planning_agent_needs() -> None:
    assert set(POLICIES["planning-agent"].needs) <= set(_shown()[0]["roles"])
