"""`verify`: hashes, the inside of every model file, what a server checks at its start, and parity again where the
checkpoints are at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quizglass_bundle.files import Bundle
from quizglass_bundle.hashes import file_sha256
from quizglass_export.bundles.onnx_graph import chosen_precision, read_onnx
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from quizglass_export.roles.starting import check_start

if TYPE_CHECKING:
    from quizglass_export.assembly.plan import Plan


def check_models(bundle: Bundle) -> list[str]:
    """Look into every model file; returns their names.

    Raises:
        ExportError: a file is no model, or its weights lie outside the bundle; names it.
    """
    looked = []
    for name in bundle.manifest.files:
        if name.endswith(".onnx"):
            read_onnx(bundle.path(name))
        elif name.endswith(".gguf"):
            read_gguf(bundle.path(name))
        else:
            continue
        looked.append(name)
    return looked


def check_parity(bundle: Bundle, plan: Plan, advance: Callable[[str], None] = lambda role: None) -> list[Check]:
    """Compare a bundle's models with the checkpoints of a recipe once more, by the recipe's prompts.

    They are given the source's tokens, so a bundle's tokenizer has to be that file.

    Raises:
        ExportError: the recipe has a role that the bundle lacks, or an input is wrong.
    """
    checks: list[Check] = []
    for role in plan.undecided:
        if (model := getattr(bundle.roles.part(role), "model", None)) is not None:
            plan = plan.decided(role, chosen_precision(bundle.path(model)))
    for role in plan.sources:
        part = bundle.roles.part(role)
        if part is None:
            raise ExportError(f"roles.{role}: in the recipe, but not in {bundle.root}")
        advance(role)
        job = plan.job(role, bundle.root, getattr(part, "tokenizer", ""), plan.samples)
        if job.tokenizer:
            same = bundle.sha256(job.tokenizer) == file_sha256(job.source.tokenizer_file())
            checks.append(Check(role, "the source's own tokenizer", float(same), ">= 1", 1, same))
        checks += plan.exporter(role).check(job, plan.spec(role), part)
    return checks


def verification(root: Path, plan: Plan | None, advance: Callable[[str], None] = lambda role: None) -> dict[str, Any]:
    """Everything that can be verified, as JSON values.

    Raises:
        BundleError, ExportError: the first thing that is wrong; differences from the checkpoints are returned instead.
    """
    bundle = Bundle.load(root)
    models = check_models(bundle)
    check_start(bundle)
    checks = check_parity(bundle, plan, advance) if plan is not None else []
    return {
        "bundle": {"name": bundle.manifest.name, "version": bundle.manifest.version, "digest": bundle.digest},
        "files": len(bundle.manifest.files),
        "models": models,
        "checks": [asdict(check) for check in checks],
        "passed": all(check.passed for check in checks),
    }
