"""The steps that make and compare each role, kept in the work directory when finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from quizglass_bundle.manifest import Roles, nested
from quizglass_export.assembly.manifest import versions
from quizglass_export.assembly.plan import Plan, step_key
from quizglass_export.assembly.work import Step, Work
from quizglass_export.checks import Check
from quizglass_export.code_digest import EXPORT, files_digest, modules, serving_modules
from quizglass_export.roles.decider import shared_part
from quizglass_export.roles.shared.job import RoleJob
from quizglass_export.roles.shared.samples import ParitySample


@dataclass(frozen=True, slots=True)
class RoleSteps:
    """What the steps of a build's roles have in common; made by `role_steps`.

    Attributes:
        plan: what is built.
        work: keeps finished steps.
        code: the code that makes and compares models, and the packages that it runs on.
        tokenizers: role to tokenizer file and its name in the bundle.
    """

    plan: Plan
    work: Work
    code: dict[str, Any]
    tokenizers: Mapping[str, tuple[Path, str]]

    def by(self, plan: Plan) -> RoleSteps:
        """The same for a plan of other precisions."""
        return replace(self, plan=plan)

    def all(self, advance: Callable[[str], None]) -> dict[str, Step]:
        """Make and compare every role; `advance` is called with each one's name as it starts."""
        steps: dict[str, Step] = {}
        for role in self.plan.sources:
            advance(shown(role))
            steps[role] = self.run(role, steps)
        return steps

    def run(self, role: str, steps: Mapping[str, Step]) -> Step:
        """Make and compare one role; `steps` has the one whose graph it shares, if it does."""
        plan, name = self.plan, self.plan.step_name(role)
        key = self.key(role)
        if (owner := plan.owners.get(role)) is not None:
            exported = self._shared(role, steps[owner])
        else:
            exported = self.work.step(name, key, partial(self._export, role))
        compared = {"demands": plan.file.recipe.demands.model_dump(), "files": dict(exported.digests)}
        checked = self.work.step(f"{name}.check", key | compared, partial(self._check, role, exported))
        return replace(exported, result=exported.result | {"checks": checked.result["checks"]})

    def key(self, role: str) -> dict[str, Any]:
        """All that a role's files depend on, as JSON values."""
        return step_key(self.plan, role, self.work, self.tokenizers) | {"code": self.code}

    def job(self, role: str, folder: Path, samples: tuple[ParitySample, ...] | None = None) -> RoleJob:
        """What a role's exporter works with, below `folder`; samples are the plan's unless others are given."""
        name = self.tokenizers.get(role, (None, ""))[1]
        return self.plan.job(role, folder, name, self.plan.samples if samples is None else samples)

    def _export(self, role: str, folder: Path) -> dict[str, Any]:
        started = time.monotonic()
        exported = self.plan.exporter(role).export(self.job(role, folder), self.plan.spec(role))
        part = exported.part.model_dump(mode="json", exclude_none=True)
        return {"part": part, "notes": exported.notes, "seconds": round(time.monotonic() - started, 3)}

    def _shared(self, role: str, owner: Step) -> Step:
        """What there is of a decider that uses another's files."""
        part = shared_part(self.job(role, owner.folder, ()), self.plan.spec(role), owner.result["part"])
        return replace(owner, result={"part": part, "notes": {"shares": self.plan.owners[role]}, "seconds": 0.0})

    def _check(self, role: str, exported: Step, _: Path) -> dict[str, Any]:
        checks = self.plan.exporter(role).check(
            self.job(role, exported.folder), self.plan.spec(role), part_of(role, exported)
        )
        return {"checks": [asdict(check) for check in checks]}


def role_steps(plan: Plan, work: Work) -> RoleSteps:
    """The steps of a plan's roles."""
    return RoleSteps(plan, work, code(), plan.tokenizers(work))


def code() -> dict[str, Any]:
    """The code that makes and compares models, and what it runs on: with other code every step is done again."""
    return {"modules": files_digest([*modules(EXPORT), *serving_modules()]), "packages": versions()}


def part_of(role: str, step: Step) -> Any:
    """A role's entry in the manifest, as its finished step has it."""
    return Roles.model_validate(nested({role: step.result["part"]})).part(role)


def checks_of(step: Step) -> list[Check]:
    """The comparisons of a finished step."""
    return [Check(**check) for check in step.result["checks"]]


def shown(role: str) -> str:
    """A role's name as progress shows it."""
    return role.replace("_", " ")
