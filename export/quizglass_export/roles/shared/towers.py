"""Vision towers that are graphs of their own: what they are called, and how roles come to share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from quizglass_export.onnx.file import external_files


def tower_name(model: str) -> str:
    """What the tower of a scorer's graph is called, beside it."""
    path = PurePosixPath(model)
    return str(path.with_name(path.name.replace("model", "tower", 1)))


def tower_files(folder: Path, tower: str) -> list[str]:
    """Names of a tower's file and of those with its weights, of a bundle in a directory."""
    place = PurePosixPath(tower)
    return [tower, *(str(place.with_name(name)) for name in sorted(external_files(folder / tower)))]


def share_towers(
    parts: Mapping[str, Mapping[str, Any]], hashes: Callable[[str], Mapping[str, str]]
) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """Have roles with equal towers name one file, that of the first of them.

    Args:
        parts: role to its entry in the manifest.
        hashes: of a tower its file and those of its weights, each with its SHA-256, always in the same order.

    Returns:
        The entries, and the names of the files that no role needs any more.
    """
    first: dict[Sequence[str], str] = {}
    dropped: set[str] = set()

    def shared(entry: Mapping[str, Any]) -> dict[str, Any]:
        if entry.get("tower") is None:
            return dict(entry)
        files = hashes(entry["tower"])
        kept = first.setdefault(tuple(files.values()), entry["tower"])
        if kept != entry["tower"]:
            dropped.update(files)
        return {**entry, "tower": kept}

    renamed: dict[str, dict[str, Any]] = {}
    for role, part in parts.items():
        renamed[role] = shared(part)
        if part.get("grids"):
            renamed[role]["grids"] = [shared(grid) for grid in part["grids"]]
    return renamed, dropped
