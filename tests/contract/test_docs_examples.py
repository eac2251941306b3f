"""The examples of the documentation: recipes are recipes, and Python is Python that imports what is there."""

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bench import render
from quizglass_export.recipe.schema import Recipe
from quizglass_server.policies import POLICIES

PAGE = Path(__file__).parents[2] / "docs" / "bundles.md"
LEFT_OUT = {"format": 1, "name": "x", "version": "1"}


def _examples(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def _recipes() -> list[dict[str, Any]]:
    shown = _examples(PAGE, "toml")
    return [tomllib.loads(example.replace('sha256 = "..."', f'sha256 = "{"0" * 64}"')) for example in shown]


def test_recipes_are_understood() -> None:
    shown = _recipes()
    assert len(shown) >= 8
    for recipe in shown:
        Recipe.model_validate(LEFT_OUT | recipe)


def test_the_first_recipe_has_what_the_planning_agent_needs() -> None:
    assert set(POLICIES["planning-agent"].needs) <= set(_recipes()[0]["roles"])


@pytest.mark.parametrize("path", render.documents(), ids=lambda path: path.name)
def test_python_imports_what_is_there(path: Path) -> None:
    for example in _examples(path, "python"):
        for node in ast.walk(ast.parse(example, path.name)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quizglass"):
                module = import_module(node.module or "")
                for name in node.names:
                    assert hasattr(module, name.name), f"{path.name}: {node.module}.{name.name}"
