"""The server as it was at another commit, run by this environment's Python and packages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("protos", "bundle", "server", "clients/python")
_PATH, _NO_BYTECODE = "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"


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
        there = _git("ls-tree", "--name-only", commit, "--", *_PACKAGES).decode().split()  # older commits have fewer
        archive = _git("archive", commit, *there)
        subprocess.run(["tar", "-x", "-C", str(partial)], input=archive, check=True)
        partial.rename(tree.folder)
    return tree


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=_ROOT, check=True, capture_output=True).stdout


@contextmanager
def of_tree(tree: PeerTree | None) -> Iterator[None]:
    """Processes that are started in the body run the packages of a tree; None: those that are installed.

    Both keep what Python compiles, as an installation does: without it every start compiles all of them anew.
    """
    before = {name: os.environ.pop(name, None) for name in (_PATH, _NO_BYTECODE)}
    if tree is not None:
        os.environ[_PATH] = tree.path
    elif (path := before[_PATH]) is not None:
        os.environ[_PATH] = path
    try:
        yield
    finally:
        os.environ.pop(_PATH, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})
