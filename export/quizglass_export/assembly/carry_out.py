"""Carrying out a plan: each role a step that is kept when finished, then the bundle, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from quizglass_bundle.files import Bundle
from quizglass_bundle.manifest import Roles, nested
from quizglass_export.assembly.manifest import write_manifest
from quizglass_export.assembly.parity_report import failures
from quizglass_export.assembly.plan import Plan
from quizglass_export.assembly.quickest import choose, quickest_steps
from quizglass_export.assembly.role_steps import checks_of, code, role_steps, shown
from quizglass_export.assembly.work import Step, Work, open_work
from quizglass_export.checks import Check
from quizglass_export.directory import check_free, fresh_directory, hidden_beside, place
from quizglass_export.errors import ExportError
from quizglass_export.reading.measure import Reading, can_be_asked, measure
from quizglass_export.reading.notes import notes_digest
from quizglass_export.roles.shared.job import prompt_name
from quizglass_export.roles.shared.towers import share_towers, tower_files
from quizglass_export.roles.starting import check_start


@dataclass(frozen=True, slots=True)
class Built:
    """A finished build: the bundle, and what each role's step took and noted."""

    bundle: Bundle
    checks: list[Check]
    notes: dict[str, dict[str, Any]]
    reading: Reading | str | None = None
    """What came of the reading set; why it was not asked, if it could not be; None where there is nothing to choose."""

    @property
    def measured(self) -> dict[str, dict[str, Any]]:
        """The measurements by which precisions were chosen, by role."""
        return {role: notes["quickest"] for role, notes in self.notes.items() if "quickest" in notes}


def step_names(plan: Plan) -> tuple[str, ...]:
    """What `advance` will be told, in order."""
    return (*quickest_steps(plan), *map(shown, plan.sources), "manifest", "reading set")


def carry_out(
    plan: Plan,
    out: Path,
    *,
    replace: bool = False,
    work: Path | None = None,
    advance: Callable[[str], None] = lambda step: None,
) -> Built:
    """Build a bundle.

    Args:
        plan: what to build.
        out: the bundle's directory; it must not exist unless `replace`.
        replace: whether what is there may be replaced, once the new bundle is complete.
        work: directory that keeps finished steps for the next try; None: one that is removed in any case.
        advance: called with each of `step_names` as it starts, and with other texts while one goes on.

    Raises:
        ExportError: an input is wrong, or an exported model differs from its source. Nothing is left at `out`.
    """
    check_free(out, replace)
    torch.set_num_threads(plan.file.recipe.threads)
    with _work_directory(work, out) as opened:
        decided, measured = choose(role_steps(plan, opened), advance)
        plan, steps = decided.plan, decided.all(advance)
        checks = [check for step in steps.values() for check in checks_of(step)]
        if not all(check.passed for check in checks):
            raise ExportError(f"exported models differ from their sources, no bundle written:\n{failures(checks)}")
        advance("manifest")
        with fresh_directory(out) as folder:
            parts, dropped = _parts(plan, steps)
            known = _collect(plan, opened, steps, dropped, folder)
            write_manifest(plan.file, _roles(plan, parts), checks, folder, _sources(plan, opened), known)
            bundle = Bundle.load(folder)
            check_start(bundle)
            advance("reading set")
            reading = _reading(plan, opened, bundle)
    notes = {role: {**step.result["notes"], "seconds": step.result["seconds"]} for role, step in steps.items()}
    for role, found in measured.items():
        notes[role]["quickest"] = found
    return Built(
        Bundle.load(out, hashes=False), checks, notes, reading
    )  # hashes were compared before it took its place


@contextmanager
def _work_directory(work: Path | None, out: Path) -> Iterator[Work]:
    if work is not None:
        with open_work(work) as opened:
            yield opened
        return
    with hidden_beside(out) as folder, open_work(folder) as opened:
        yield opened


def _reading(plan: Plan, work: Work, bundle: Bundle) -> Reading | str | None:
    """What comes of the reading set, unless the recipe says how the bundle answers."""
    if "answers" in plan.file.recipe.evidence.model_fields_set or not can_be_asked(bundle):
        return None
    key = {"bundle": bundle.digest, "notes": notes_digest(), "code": code()}
    try:
        return Reading.of(work.step("reading", key, lambda _: measure(bundle).told()).result)
    except ExportError as error:  # of no part of the bundle: a prompt that is too long for a short context, say
        return str(error)


def _parts(plan: Plan, steps: Mapping[str, Step]) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """Role to its entry, those with equal vision towers naming one file, and the files that this leaves over."""
    owners = {name: step for role, step in steps.items() if role not in plan.owners for name in step.digests}

    def hashes(tower: str) -> dict[str, str]:
        step = owners[tower]
        return {name: step.digests[name] for name in tower_files(step.folder, tower)}

    return share_towers({role: step.result["part"] for role, step in steps.items()}, hashes)


def _collect(plan: Plan, work: Work, steps: dict[str, Step], dropped: set[str], folder: Path) -> dict[str, str]:
    """Put models, tokenizers and prompts where the bundle has them; returns the SHA-256 of those known already."""
    known: dict[str, str] = {}
    for step in (step for role, step in steps.items() if role not in plan.owners):
        for name, digest in step.digests.items():
            if name in dropped:
                continue
            place(step.folder / name, folder / name)
            known[name] = digest
    for source, name in plan.tokenizers(work).values():
        _copy(source, folder / name)
    for name, source in plan.prompts.items():
        _copy(source, folder / prompt_name(name))
    return known


def _roles(plan: Plan, exported: Mapping[str, dict[str, Any]]) -> Roles:
    parts = dict(exported)
    if (reader := plan.file.recipe.roles.spec("reader")) is not None and "reader" not in plan.sources:
        parts["reader"] = {"kind": "reader", **reader.model_dump(include={"engine", "gate"})}
    for role in ("hearing", "voice"):
        if (speech := plan.file.recipe.roles.spec(role)) is not None:
            parts[role] = {"kind": role, "engine": "wyoming", "address": speech.address}
    return Roles.model_validate(
        nested(parts | {role: part.model_dump(mode="json") for role, part in plan.linear.items()})
    )


def _sources(plan: Plan, work: Work) -> dict[str, str]:
    """Name to SHA-256 of every file that was exported; names are relative to the recipe where they can be."""
    root = plan.file.root
    files = {file for source in plan.sources.values() for file in source.files() if file.suffix not in _TEXTS}
    named: dict[str, Path] = {}
    for file in sorted(files, key=lambda file: (not file.is_relative_to(root), file)):
        named[_name(file, root, named)] = file
    return {name: work.digest(file) for name, file in named.items()}


_TEXTS = (".txt", ".model", ".jinja")
"""Endings of files beside weights and settings; models are not made of them."""


def _name(file: Path, root: Path, taken: Mapping[str, Path]) -> str:
    """Relative to the recipe; elsewhere the file's directory and name, and as many parents as tell it from others."""
    if file.is_relative_to(root):
        return file.relative_to(root).as_posix()
    names = ("/".join(file.parts[-depth:]) for depth in range(2, len(file.parts)))
    return next((name for name in names if name not in taken), file.as_posix())


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
