"""The packages of this project declare what they import, and belong together."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from quizglass import __version__

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "quizglass": (ROOT, ("protos/quizglass", "clients/python/quizglass_client")),
    "quizglass-bundle": (ROOT / "bundle", ("quizglass_bundle",)),
    "quizglass-server": (ROOT / "server", ("quizglass_server",)),
    "quizglass-export": (ROOT / "export", ("quizglass_export",)),
    "quizglass-lab": (ROOT / "lab", ("quizglass_lab",)),
}
ABOVE = {
    "quizglass": (),
    "quizglass-bundle": (),
    "quizglass-server": ("quizglass", "quizglass-bundle"),
    "quizglass-export": ("quizglass-server", "quizglass-bundle", "quizglass"),
    "quizglass-lab": ("quizglass-export", "quizglass-server", "quizglass-bundle", "quizglass"),
}
"""The packages that each needs, and so imports from."""
BESIDE = {
    "quizglass-export": {"onnxruntime", "tensorrt", "pyarrow"},  # in extras of the others, which its messages name
    "quizglass-lab": {"onnxruntime", "pyarrow"},
}

PARTS = {"protobuf-py-pure": "protobuf-py"}
"""Packages that hold what another one is asked for."""


def declared(name: str) -> dict[str, Requirement]:
    """All that a package declares, its extras too but for `dev`, by name."""
    said = tomllib.loads((PACKAGES[name][0] / "pyproject.toml").read_text(encoding="utf-8"))
    if "optional-dependencies" in said["project"].get("dynamic", ()):
        extras = said["tool"]["hatch"]["metadata"]["hooks"]["custom"]["extras"]
    else:
        extras = said["project"].get("optional-dependencies", {})
    optional = [each for extra, needed in extras.items() if extra != "dev" for each in needed]
    return {each.name.lower(): each for each in map(Requirement, (*said["project"]["dependencies"], *optional))}


def imported(name: str) -> set[str]:
    """Top-level modules that a package imports, but for those of Python and of itself."""
    root, folders = PACKAGES[name]
    found: set[str] = set()
    for path in (file for folder in folders for file in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    own = {Path(folder).name for other in (name, *ABOVE[name]) for folder in PACKAGES[other][1]}
    return found - own - sys.stdlib_module_names - {"_typeshed"}


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_imported_is_declared(name: str) -> None:
    brought_by = metadata.packages_distributions()
    names = {_normal(each) for each in declared(name).keys() | BESIDE.get(name, set())}
    missing = {
        module: brought_by.get(module)
        for module in imported(name)
        if not {_normal(each) for each in brought_by.get(module, [module])} & names
    }
    assert missing == {}


def _normal(name: str) -> str:
    return PARTS.get(name, re.sub(r"[-_.]+", "-", name).lower())


@pytest.mark.parametrize("name", ["quizglass-server", "quizglass-export", "quizglass-lab"])
def test_packages_need_each_other_in_their_own_version(name: str) -> None:
    ours = {each: found.specifier for each, found in declared(name).items() if each in PACKAGES}
    assert ABOVE[name][0] in ours
    assert {str(version) for version in ours.values()} == {f"=={__version__}"}


@pytest.mark.parametrize("name", ["quizglass-server", "quizglass-export", "quizglass-lab"])
def test_what_several_packages_declare_is_of_one_version(name: str) -> None:
    above = {each: found for other in ABOVE[name] for each, found in declared(other).items()}
    for each, found in declared(name).items():
        if each in above and each not in PACKAGES:
            assert found.specifier == above[each].specifier, each
