"""The server as it was at another commit, run by this environment's Python and packages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("protos", "server", "clients/python")


@dataclass(frozen=True)
class PeerTree:
    """The files of a commit."""

    commit: str
    folder: Path

    @property
    def path(self) -> str:
        """Where Python finds its packages."""
        return os.pathsep.join(str(self.folder / name) for name in _PACKAGES)


def peer_tree(commit: str, folder: Path) -> PeerTree:
    """Unpack the packages of a commit below a folder, once.

    Raises:
        subprocess.CalledProcessError: there is no such commit here.
    """
    tree = PeerTree(commit, folder / f"peer-{commit}")
    if not tree.folder.is_dir():
        partial = tree.folder.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(
            ["git", "archive", commit, *_PACKAGES], cwd=_ROOT, check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", str(partial)], input=archive, check=True)
        partial.rename(tree.folder)
    return tree


@contextmanager
def of_tree(tree: PeerTree | None) -> Iterator[None]:
    """Processes that are started in the body run the packages of a tree; None: those that are installed."""
    before = os.environ.get("PYTHONPATH")
    if tree is not None:
        os.environ["PYTHONPATH"] = tree.path
    try:
        yield
    finally:
        if before is not None:
            os.environ["PYTHONPATH"] = before
        elif tree is not None:
            del os.environ["PYTHONPATH"]
