"""The last files of a bundle: its parity report, its provenance and its manifest."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quizglass_bundle.fields import MANIFEST
from quizglass_bundle.hashes import file_sha256
from quizglass_bundle.manifest import FileEntry, Manifest, Roles
from quizglass_export.assembly.parity_report import markdown, parity_document
from quizglass_export.checkpoints.files import read_json
from quizglass_export.checks import Check

if TYPE_CHECKING:
    from quizglass_export.recipe.read import RecipeFile
    from quizglass_export.recipe.schema import Recipe

PACKAGES = ("torch", "transformers", "peft", "optimum-onnx", "onnx", "onnxruntime", "gguf", "llama-cpp-python")


def write_manifest(
    file: RecipeFile,
    roles: Roles,
    checks: Sequence[Check],
    folder: Path,
    sources: Mapping[str, str],
    known: Mapping[str, str],
) -> None:
    """Write `parity.json`, `report.md` and the manifest of a bundle whose other files are there.

    No times and no machine names, so that equal inputs give equal bundles.

    Args:
        file: the recipe.
        roles: what the manifest says of them.
        checks: comparisons that were made.
        folder: the bundle's directory.
        sources: name to SHA-256 of every file that was exported.
        known: file of the bundle to SHA-256, where that need not be computed.
    """
    recipe = file.recipe
    compared = entries(folder, known)
    hashes = {name: entry.sha256 for name, entry in compared.items()}
    _write_reports(recipe, checks, folder, hashes)
    manifest = Manifest(
        format=1,
        name=recipe.name,
        version=recipe.version,
        roles=roles,
        thresholds=recipe.thresholds,
        abstain=recipe.abstain,
        languages=recipe.languages,
        evidence=recipe.evidence,
        files=entries(folder, hashes),
        parity="parity.json",
        provenance=_provenance(file, sources),
    )
    write_json(folder / MANIFEST, manifest.model_dump(mode="json", exclude_none=True))


def _write_reports(recipe: Recipe, checks: Sequence[Check], folder: Path, hashes: Mapping[str, str]) -> None:
    write_json(folder / "parity.json", parity_document(checks, recipe.samples.source, recipe.samples.count, hashes))
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files(folder)}
    report = markdown(f"{recipe.name} {recipe.version}", checks, sizes, recipe.samples.source)
    (folder / "report.md").write_text(report, encoding="utf-8")


def _provenance(file: RecipeFile, sources: Mapping[str, str]) -> dict[str, Any]:
    provenance: dict[str, Any] = {"packages": versions(), "sources": dict(sources)}
    if file.recipe.training is not None:
        provenance["training"] = read_json(file.path(file.recipe.training))
    return provenance


def entries(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, FileEntry]:
    """SHA-256 and size of every file but the manifest; `known` hashes are not computed again."""
    found: dict[str, FileEntry] = {}
    for path in files(folder):
        name = path.relative_to(folder).as_posix()
        if name != MANIFEST:
            digest = (known or {}).get(name) or file_sha256(path)
            found[name] = FileEntry(sha256=digest, bytes=path.stat().st_size)
    return found


def versions() -> dict[str, str]:
    """Versions of this package and of those that the export runs on."""
    return {name: _version(name) for name in ("quizglass", *PACKAGES)}


def files(folder: Path) -> Iterator[Path]:
    """Every file below a directory, in order."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Indented JSON with a newline at its end."""
    path.write_text(json.dumps(value, indent=1, sort_keys=False) + "\n", encoding="utf-8")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
