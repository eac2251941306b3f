"""Names that a reader meets stand for one thing each, read from the source."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "protos": ROOT / "protos" / "quizglass",
    "bundle": ROOT / "bundle" / "quizglass_bundle",
    "server": ROOT / "server" / "quizglass_server",
    "export": ROOT / "export" / "quizglass_export",
    "lab": ROOT / "lab" / "quizglass_lab",
    "client": ROOT / "clients" / "python" / "quizglass_client",
}
GENERATED = {"sync.py"}
"""The blocking client has the names of the one it is made from."""


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_class_name_stands_for_two_things_in_a_package(package: str) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    root = PACKAGES[package]
    for path in sorted(root.rglob("*.py")):
        if path.name in GENERATED:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(root)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_tests_stand_in_rooms_that_exist() -> None:
    server = PACKAGES["server"]
    others = {
        "bench",
        "bundle",
        "client",
        "deploy",
        "export",
        "protos",
        "server",
    }  # server: the whole of it, from its command line
    rooms = others | {path.name for path in server.iterdir() if path.is_dir()}
    for kind in ("unit", "integration"):
        folders = {path.name for path in (ROOT / "tests" / kind).iterdir() if any(path.rglob("*.py"))}
        assert folders <= rooms, sorted(folders - rooms)
