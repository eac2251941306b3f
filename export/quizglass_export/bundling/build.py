"""`quizglass-export build`: from checkpoints to a bundle that is written only if parity holds."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

from quizglass_export.bundling import roles_llama, roles_onnx
from quizglass_export.bundling.checkpoints import PARTS, TRAINING, Checkpoints, read_json
from quizglass_export.bundling.directory import fresh_directory
from quizglass_export.bundling.errors import ExportError
from quizglass_export.bundling.job import BuildJob
from quizglass_export.bundling.llama_jobs import FILE_TYPES
from quizglass_export.bundling.parity import Check, Demands
from quizglass_export.bundling.report import failures, markdown, parity_document
from quizglass_export.bundling.samples import draw_samples
from quizglass_export.bundling.settings import read_settings
from quizglass_server.bundle import Bundle, file_digest
from quizglass_server.manifest import MANIFEST, FileEntry, Manifest, Reader, Roles

STEPS = ("planner", "reranker", "image encoder", "text encoder", "generator", "manifest")
_PACKAGES = ("torch", "transformers", "peft", "optimum-onnx", "onnx", "onnxruntime", "gguf", "llama-cpp-python")


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What to build and how strictly to compare.

    Attributes:
        checkpoints: directory of checkpoints.
        out: the bundle's directory; it must not exist unless `replace`.
        replace: whether an existing bundle may be replaced.
        source: where parity samples come from, a key of `samples.SOURCES`.
        samples: how many samples scorers and encoders are compared on.
        generated: how many of them the generator answers.
        file_type: quantisation of the generator's text model.
        demands: bounds of the comparison.
        threads: CPU threads for PyTorch.
    """

    checkpoints: Path
    out: Path
    replace: bool = False
    source: str = "pocketworld"
    samples: int = 160
    generated: int = 80
    file_type: str = "q8_0"
    demands: Demands = field(default_factory=Demands)
    threads: int = 1


def build(options: BuildOptions, advance: Callable[[str], None] = lambda step: None) -> Bundle:
    """Build a bundle.

    Args:
        options: what to build.
        advance: called with each of `STEPS` as it starts.

    Returns:
        The bundle, verified as a server would verify it.

    Raises:
        ExportError: an input is wrong, or an exported model differs from its source. Nothing is left at `out`.
    """
    if options.out.exists() and not options.replace:
        raise ExportError(f"{options.out}: already exists; choose another directory, or pass --replace")
    if options.samples < 2 or options.generated < 1:
        raise ExportError("--samples must be at least 2 and --generated at least 1, or nothing is compared")
    if options.file_type not in FILE_TYPES:
        raise ExportError(f"--quantisation {options.file_type!r}: must be one of {', '.join(FILE_TYPES)}")
    checkpoints = Checkpoints.find(options.checkpoints)
    settings = read_settings(options.checkpoints)
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    with fresh_directory(options.out) as folder:
        job = BuildJob(
            checkpoints=checkpoints,
            settings=settings,
            folder=folder,
            samples=draw_samples(options.source, options.samples),
            generated=options.generated,
            demands=options.demands,
            file_type=options.file_type,
            advance=advance,
        )
        job.copy_texts()
        roles, checks = _build_roles(job)
        if not all(check.passed for check in checks):
            raise ExportError(f"exported models differ from PyTorch, no bundle written:\n{failures(checks)}")
        advance("manifest")
        _write_manifest(job, options, roles, checks)
        Bundle.load(folder)
    return Bundle.load(options.out)


def _build_roles(job: BuildJob) -> tuple[Roles, list[Check]]:
    job.advance("planner")
    planner, checks = roles_onnx.build_planner(job)
    job.advance("reranker")
    reranker, more = roles_onnx.build_reranker(job)
    checks += more
    job.advance("image encoder")
    image_encoder, more = roles_onnx.build_image_encoder(job)
    checks += more
    job.advance("text encoder")
    text_encoder, more = roles_onnx.build_text_encoder(job)
    checks += more
    job.advance("generator")
    generator, more = roles_llama.build_generator(job)
    checks += more
    roles = Roles(
        planner=planner,
        reranker=reranker,
        image_encoder=image_encoder,
        text_encoder=text_encoder,
        generator=generator,
        reader=Reader(engine="rapidocr", kind="reader"),
    )
    return roles, checks


def _write_manifest(job: BuildJob, options: BuildOptions, roles: Roles, checks: Sequence[Check]) -> None:
    parity = parity_document(checks, options.source, len(job.samples))
    _write_json(job.path("parity.json"), parity)
    sizes = {file.relative_to(job.folder).as_posix(): file.stat().st_size for file in _files(job.folder)}
    job.path("report.md").write_text(
        markdown(f"{job.settings.name} {job.settings.version}", checks, sizes, options.source), encoding="utf-8"
    )
    manifest = Manifest(
        format=1,
        name=job.settings.name,
        version=job.settings.version,
        roles=roles,
        thresholds=job.settings.thresholds,
        abstain=job.settings.abstain,
        evidence=job.settings.evidence,
        files={
            file.relative_to(job.folder).as_posix(): FileEntry(sha256=file_digest(file), bytes=file.stat().st_size)
            for file in _files(job.folder)
        },
        parity="parity.json",
        provenance=_provenance(job.checkpoints),
    )
    _write_json(job.folder / MANIFEST, manifest.model_dump(mode="json", exclude_none=True))


def _provenance(checkpoints: Checkpoints) -> dict[str, Any]:
    """What the bundle was made of and with; no times or machine names, so that equal inputs give equal bundles."""
    sources = {
        file.relative_to(checkpoints.root).as_posix(): file_digest(file)
        for part in PARTS
        for file in _files(checkpoints.part(part))
        if file.suffix in (".json", ".safetensors")
    }
    provenance: dict[str, Any] = {
        "packages": {name: _version(name) for name in ("quizglass", *_PACKAGES)},
        "sources": sources,
    }
    if (checkpoints.root / TRAINING).is_file():
        provenance["training"] = read_json(checkpoints.root / TRAINING)
    return provenance


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=False) + "\n", encoding="utf-8")
