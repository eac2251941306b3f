"""What every section of the accuracy benchmark works with: worlds, a bundle and its variants, servers, questions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

import quizglass
import quizglass_bundle
import quizglass_client
import quizglass_server
from bench.fingerprints import code, weights
from bench.results import Row
from bench.sections import Part
from bench.worlds import Trial, load, prepare
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_lab import pocketworld

BUDGET_S = 120.0
"""Of a turn: no step is skipped."""
_NAMED = 3
"""Most missing parts of a policy that a row names."""


@dataclass(frozen=True)
class Ground:
    """The settings of a run."""

    seeds: Sequence[int]
    things: int
    questions: int
    """Of a world, for the largest section; the others take a part of it."""
    format: int
    clients: int
    """Questions under way at once."""
    bundle: Path
    workdir: Path
    resume: bool
    publish: bool
    """Whether plots are drawn beside the published results."""
    say: Callable[[str], None]
    """Shows what is being done."""

    def folder(self, seed: int, kind: str = "world") -> Path:
        """Of a world on disk; those of format 1 are shared with other benchmarks."""
        mark = "" if self.format == 1 else f"-{self.format}"
        return self.workdir / f"{kind}{mark}-{seed}-{self.things}"

    def trial(self, seed: int, *, share: float = 1.0, mix: str = "balanced") -> Trial:
        """A world with a share of the questions."""
        self.say(f"world {seed}: drawing")
        return prepare(seed, self.things, self.count(share), self.folder(seed), format=self.format, mix=mix)

    def count(self, share: float) -> int:
        """A share of the questions, and at least eight."""
        return max(round(self.questions * share), 8)

    def log(self, section: str, trial: Trial) -> Path:
        """Where a section keeps its answers, of this bundle and this code; emptied unless the run resumes."""
        served = code(quizglass, quizglass_client, quizglass_bundle, quizglass_server, pocketworld)
        world = f"{self.format}-{trial.seed}-{self.things}-{len(trial.questions)}"
        path = self.workdir / f"accuracy-{section}-{weights(self.bundle)}-{served}-{world}.jsonl"
        if not self.resume:
            path.unlink(missing_ok=True)
        return path

    @contextmanager
    def server(self, folder: Path, name: str = "", **changes: Any) -> Iterator[str]:
        """The address of a server with a world's entries.

        Args:
            folder: of the world.
            name: of a variant of the bundle, which has its own knowledge; empty: the bundle itself.
            changes: parts of the manifest's `evidence` that the variant sets; `roles` are those that it does without.
        """
        bundle, knowledge = self.bundle, folder / "knowledge"
        if name:
            knowledge = folder / f"knowledge-{name}"
            bundle = variant(self.bundle, folder / f"bundle-{name}", **changes)
        with LocalServer(bundle, knowledge, log=folder / f"server{name and '-'}{name}.log") as server:
            self.say(f"{folder.name}: import")
            load(server.target, folder, Progress(disable=True))
            yield server.target

    def ticker(self, title: str, total: int) -> Callable[[], None]:
        """Counts questions on the screen."""
        asked = 0

        def tick() -> None:
            nonlocal asked
            asked += 1
            self.say(f"{title}: {asked} of {total} questions")

        return tick


def variant(bundle: Path, target: Path, *, without: Sequence[str] = (), **evidence: Any) -> Path:
    """A copy of a bundle without some roles, and with other tuning of its evidence."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(bundle, target)
    manifest = json.loads((target / "manifest.json").read_text())
    manifest["roles"] = {name: role for name, role in manifest["roles"].items() if name not in without}
    manifest.setdefault("evidence", {}).update(evidence)
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


def lacking(target: str, policies: Sequence[str]) -> dict[str, str]:
    """Of the policies that a server cannot serve: what it lacks for each."""
    with Client(target) as client:
        capabilities = client.capabilities()
    missing = {name: _short(needs) for name, needs in capabilities.not_served.items() if name in policies}
    unknown = [name for name in policies if name not in capabilities.policies and name not in missing]
    return missing | dict.fromkeys(unknown, "no such policy")


def _short(needs: Sequence[str]) -> str:
    more = f" and {len(needs) - _NAMED} more" if len(needs) > _NAMED else ""
    return f"no {', '.join(needs[:_NAMED])}{more}"


def said(missing: Mapping[str, str]) -> str:
    """Why policies are not served, for a row."""
    return "; ".join(f"{policy} is not served: {why}" for policy, why in missing.items())


def roles(target: str) -> set[str]:
    """Names of the roles that a server has."""
    with Client(target) as client:
        return {role.role for role in client.capabilities().roles}


def skipped(name: str, why: str) -> Part:
    """A section that this bundle does not allow."""
    return Part([Row(name, None, "", f"not measured: {why}")])
