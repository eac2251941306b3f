"""What every section works with: counts, folders, and the processes of contenders."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.knowledge.worker import Absent, Worker
from bench.results import Row
from bench.sections import Part

_LIBRARIES = ("numpy", "hnswlib", "faiss-cpu", "usearch", "chromadb", "lancedb pyarrow")
_OURS = {"quizglass": "store", "quizglass index": "index"}


@dataclass(frozen=True)
class Setup:
    """Of one run."""

    rounds: int
    quick: bool
    """Small counts, to see that everything runs; the figures mean nothing."""
    folder: Path
    """Where stores are put: the disk to measure on."""
    python: Path
    """Of the peers' environment."""
    bundle: Path
    kills: int
    mutations: int
    """Of every file."""
    say: Callable[[str], None]
    """Shows what is being done."""

    def count(self, full: int, quick: int) -> int:
        """How often to repeat something."""
        return quick if self.quick else full

    @contextmanager
    def workers(
        self, names: Sequence[str], size: int, part: Part, folder: Path | None = None
    ) -> Iterator[dict[str, Worker]]:
        """Processes of contenders, by name. One that is absent leaves a row that says why."""
        home = folder or self.folder
        running: dict[str, Worker] = {}
        with ExitStack() as ended:
            for name in names:
                self.say(f"starting {name}")
                ours = [sys.executable, "-m", "bench.knowledge.ours", _OURS.get(name, "")]
                command = ours if name in _OURS else [str(self.python), "-m", "bench.knowledge.peers", name]
                try:
                    worker = Worker(name, [*command, str(size), str(home / name.replace(" ", "-"))])
                except Absent as why:
                    if name in _OURS:
                        raise
                    part.rows.append(Row(f"{name}, {size:,}", None, "", f"absent: {why}"))
                else:
                    ended.callback(worker.close)
                    running[name] = worker
            yield running


def environment(workdir: Path, say: Callable[[str], None]) -> Path:
    """The Python of the peers' environment, made when it does not exist.

    What cannot be installed is left out, and tried again by the next run.
    """
    home = workdir / "peers-venv-knowledge"
    python = home / "bin" / "python"
    if not (home / ".whole").exists():
        if not python.exists():
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        failed = 0
        for library in _LIBRARIES:
            say(f"installing {library} into {home}")
            command = [str(python), "-m", "pip", "install", "--quiet", *library.split()]
            failed += subprocess.run(command, check=False).returncode != 0
        if not failed:
            (home / ".whole").touch()
    return python.absolute()


def installed(python: Path) -> dict[str, str]:
    """Versions of the peers; those that are absent are left out."""
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format", "json"], stdout=subprocess.PIPE, text=True, check=False
    )
    wanted = {name for names in _LIBRARIES for name in names.split()}
    found = json.loads(listed.stdout or "[]")
    return {package["name"]: package["version"] for package in found if package["name"] in wanted}
