"""Environments that have packages of this project as their wheels install them, or that lack some others."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "quizglass": ROOT,
    "quizglass-bundle": ROOT / "bundle",
    "quizglass-server": ROOT / "server",
    "quizglass-export": ROOT / "export",
}
"""Where each package of this project is built from."""

HEAVY = ("torch", "transformers", "peft", "optimum", "accelerate", "llama_cpp", "scipy", "sklearn")
"""What `make demo` does not install."""
_SITE = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""Python imports `sitecustomize` at each start, so processes that the first one starts lack these packages as well."""
_HELPS = """
import argparse

def levels(parser):
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from levels(below)

print(sum(bool(each.format_help()) for each in levels(made())))
"""


def wheel(package: str, into: Path) -> Path:
    """Build the wheel of a package."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", into]
    subprocess.run(command, cwd=FOLDERS[package], capture_output=True, check=True)
    (built,) = into.glob("*.whl")
    return built


def _among(wheels: Path, package: str) -> Path:
    (found,) = wheels.glob(f"{package.replace('-', '_')}-[0-9]*.whl")
    return found


class Installed:
    """A virtual environment, without anything that the packages do not declare.

    What they declare is linked from the environment of the tests, so that no index is asked.

    Args:
        folder: where it is made.
        packages: those of this project, each with the extras that are wanted, such as "quizglass-server[cpu]".
        bare: those of this project that are installed without what they declare.
        wheels: folder with wheels that are there already; None: they are built.
    """

    def __init__(self, folder: Path, *packages: str, bare: Iterable[str] = (), wheels: Path | None = None) -> None:
        venv.create(folder / "venv", symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        self.site = next((folder / "venv" / "lib").glob("python*/site-packages"))
        wanted = [*map(Requirement, packages)]
        names = [*(each.name for each in wanted), *bare]
        files = [_among(wheels, name) if wheels else wheel(name, folder / name) for name in names]
        install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", *files]
        subprocess.run([sys.executable, "-m", "pip", "--python", self.python, *install], check=True)
        for each in _needed(wanted, self.site):
            self._link(each)

    @property
    def commands(self) -> set[str]:
        """This project's commands."""
        return {path.name for path in self.python.parent.glob("quizglass*")}

    def declared(self, package: str) -> list[str]:
        """What a package of this project says that it needs."""
        (found,) = metadata.distributions(name=package, path=[str(self.site)])
        return found.requires or []

    def run(self, *command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment; "python" is its interpreter."""
        program = self.python.with_name(str(command[0]))
        return subprocess.run(
            [program, *command[1:]], cwd=cwd or self.site, capture_output=True, text=True, check=False, timeout=120
        )

    def helps(self, module: str, parser: str) -> int:
        """For how many commands a program can say what they take; what makes its parser is named.

        Raises:
            AssertionError: the parser cannot be made.
        """
        done = self.run("python", "-c", f"from {module} import {parser} as made\n{_HELPS}")
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    def _link(self, package: metadata.Distribution) -> None:
        for top in {path.parts[0] for path in package.files or () if path.parts[0] != ".."}:
            if not (self.site / top).exists():
                (self.site / top).symlink_to(Path(str(package.locate_file(top))).resolve())


def _needed(packages: list[Requirement], site: Path) -> Iterator[metadata.Distribution]:
    """All that packages need, of their extras too, but for those of this project, which are installed in `site`."""
    waiting, seen = list(packages), set()
    while waiting:
        named = waiting.pop()
        if (key := (named.name, frozenset(named.extras))) in seen:
            continue
        seen.add(key)
        if named.name in FOLDERS:
            (found,) = metadata.distributions(name=named.name, path=[str(site)])
        else:
            yield (found := metadata.distribution(named.name))
        waiting += [other for other in map(Requirement, found.requires or ()) if _applies(other, named.extras)]


def _applies(needed: Requirement, extras: Iterable[str]) -> bool:
    return needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def without_heavy(folder: Path) -> Mapping[str, str]:
    """The environment of a process that lacks `HEAVY`; a file of it is written into the folder."""
    (folder / "sitecustomize.py").write_text(_SITE)
    return {**os.environ, "PYTHONPATH": str(folder)}
