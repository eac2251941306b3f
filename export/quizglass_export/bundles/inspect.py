"""`inspect`: what is in a bundle, how it is stored, and what would run it here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quizglass_bundle.fields import files_of
from quizglass_bundle.files import Bundle
from quizglass_bundle.parts import GeneratorPart, RolePart
from quizglass_export.assembly.parity_report import ParityReport
from quizglass_export.bundles.onnx_graph import summarise
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from quizglass_server.engines.onnx.providers import AUTO, NAMES, choose
from quizglass_server.policies.table import preferred, survey


def describe(bundle: Bundle) -> dict[str, Any]:
    """A bundle as JSON values.

    Raises:
        ExportError: a model file is damaged; names it.
    """
    manifest = bundle.manifest
    parity = ParityReport.of(bundle)
    return {
        "name": manifest.name,
        "version": manifest.version,
        "format": manifest.format,
        "digest": bundle.digest,
        "bytes": sum(entry.bytes for entry in manifest.files.values()),
        "roles": {role: _role(bundle, role) for role in bundle.roles.names()},
        "policies": [
            {
                "policy": each.policy,
                "servable": each.servable,
                "missing": list(each.missing),
                "without": list(each.without),
            }
            for each in survey(bundle.has)
        ],
        "default_policy": preferred(survey(bundle.has), quotes=bundle.quotes),
        "answers": bundle.answers,
        "files": {name: entry.model_dump() for name, entry in sorted(manifest.files.items())},
        "thresholds": manifest.thresholds.model_dump(),
        "evidence": manifest.evidence.model_dump(),
        "abstain": manifest.abstain,
        "languages": list(manifest.languages),
        "parity": {"passed": parity.passed, "checks": list(map(asdict, parity.checks)), **_since(bundle, parity)},
        "packages": manifest.provenance.get("packages", {}),
    }


_MODELS = (".onnx", ".data", ".gguf")


def _since(bundle: Bundle, parity: ParityReport) -> dict[str, Any]:
    """Which files are not those that were compared when the bundle was built.

    `hashes`: whether the report names them at all; earlier versions' reports do not. `exchanged`: files with another
    content, or gone. `uncompared`: models that no comparison knows.
    """
    compared, files = parity.compared, bundle.manifest.files
    if compared is None:
        return {"hashes": False, "exchanged": [], "uncompared": []}
    exchanged = [name for name, digest in compared.items() if name not in files or files[name].sha256 != digest]
    uncompared = [name for name in files if name.endswith(_MODELS) and name not in compared]
    return {"hashes": True, "exchanged": sorted(exchanged), "uncompared": sorted(uncompared)}


def role_files(bundle: Bundle, role: str) -> list[str]:
    """Names of the files that only belong to a role or that it shares, in order."""
    names = {name for _, name in files_of(_part(bundle, role))}
    for name in [name for name in names if name.endswith(".onnx")]:
        folder = name.rpartition("/")[0]
        external = summarise(bundle.path(name)).external
        names |= {f"{folder}/{file}" if folder else file for file in external}
    return sorted(names)


def _role(bundle: Bundle, role: str) -> dict[str, Any]:
    part = _part(bundle, role)
    files = role_files(bundle, role)
    entry: dict[str, Any] = {
        "engine": part.engine,
        "kind": part.kind,
        "files": files,
        "bytes": sum(bundle.manifest.files[name].bytes for name in files),
        "runs_on": list(_runs_on(part.engine)),
        "precision": None,
    }
    if isinstance(part, GeneratorPart):
        entry["prompts"] = sorted(part.prompts)
    if isinstance(labels := getattr(part, "labels", None), tuple):  # a tagger's are a file
        entry["labels"] = [label if isinstance(label, str) else label[0] for label in labels]
    for key in ("model", "tower", "text_model", "packed", "projector", "detector"):
        if (name := getattr(part, key, None)) is not None:
            entry[key] = _model(bundle.path(name))
    for key in ("model", "detector"):
        if key in entry:
            entry["precision"] = entry[key]["precision"]
    return entry


def _part(bundle: Bundle, role: str) -> RolePart:
    part = bundle.roles.part(role)
    if part is None:
        raise ExportError(f"roles.{role}: the bundle has {', '.join(bundle.roles.names())}")
    return part


def _model(path: Path) -> dict[str, Any]:
    if path.suffix == ".onnx":
        return asdict(summarise(path))
    header = read_gguf(path)
    architecture = header.metadata.get("general.architecture")
    types: dict[str, int] = {}
    for tensor in header.tensors.values():
        types[tensor.type] = types.get(tensor.type, 0) + tensor.bytes
    return {
        "architecture": architecture,
        "parameters": header.parameters,
        "weights": types,
        "context": header.metadata.get(f"{architecture}.context_length"),
        "precision": max(types, key=lambda name: types[name]) if types else None,
    }


def _runs_on(engine: str) -> Iterator[str]:
    """What of this machine a server would try for an engine, best first."""
    if engine == "onnx":
        import onnxruntime

        short = {name: key for key, name in NAMES.items()}
        yield from (short[name] for name in choose(AUTO, onnxruntime.get_available_providers()))
    elif engine == "llama":
        import llama_cpp.llama_cpp as llama

        from quizglass_server.engines.generator.checks.backends import load_backends

        load_backends()
        yield from (["gpu"] if llama.llama_supports_gpu_offload() else [])
        yield "cpu"
    else:
        yield "cpu"


def settings_of(bundle: Bundle, role: str) -> dict[str, Any]:
    """What the manifest says of a role, as JSON values."""
    return _part(bundle, role).model_dump(mode="json", exclude_none=True)
