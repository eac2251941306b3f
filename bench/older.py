"""An older version of this server as a peer: its own checkout beside this one, run with the same Python environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from quizglass_client.local import LocalServer

ROOT = Path(__file__).parents[1]
COMMIT = "08bac52"
"""Before pictures were gated, and before llama.cpp was compiled once per instruction set."""
_BUNDLE_COMMIT, _BUNDLE = "2a599b54", "models/starter/bundle"
"""Whose starter both versions can serve: later manifests have keys that the older one refuses."""
_LOADING = "ac2bbbb"
"""The first commit whose llama.cpp is loaded in modules, as this environment's wheel has it."""
_NATIVE, _BACKENDS = (f"server/quizglass_server/engines/llama/{name}.py" for name in ("native", "backends"))
_OURS = "server/quizglass_server/engines/llama/native/backends.py"
_ENTRY = "server/quizglass_server/__main__.py"
_PACKAGES = ("protos", "server", "clients/python")


def checkout(workdir: Path, commit: str = COMMIT) -> Path:
    """The packages of a commit, made once; the repository does not know of them.

    Raises:
        subprocess.CalledProcessError: git does not know the commit.
    """
    tree = _unpacked(workdir.resolve() / f"tree-{commit}", commit, *_PACKAGES)
    if commit == COMMIT:  # without these files it finds no CPU in this environment's llama.cpp, and no entry
        (tree / _NATIVE).write_bytes(_git("show", f"{_LOADING}:{_NATIVE}"))
        (tree / _BACKENDS).write_bytes((ROOT / _OURS).read_bytes())
        (tree / _ENTRY).write_text("import sys\nfrom quizglass_server.cli import main\nsys.exit(main())\n")
    return tree


def common_bundle(workdir: Path) -> Path:
    """The newest starter bundle that the older version and this one can both serve, made once.

    Raises:
        subprocess.CalledProcessError: git does not know its commit.
    """
    return _unpacked(workdir.resolve() / f"bundle-{_BUNDLE_COMMIT}", f"{_BUNDLE_COMMIT}:{_BUNDLE}")


def _unpacked(folder: Path, tree: str, *paths: str) -> Path:
    """The files of a tree of git, whole or not there."""
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        with tarfile.open(fileobj=BytesIO(_git("archive", "--format=tar", tree, *paths))) as files:
            files.extractall(unfinished, filter="data")
        unfinished.rename(folder)
    return folder


@contextmanager
def older_server(tree: Path, bundle: Path, knowledge: Path, log: Path) -> Iterator[LocalServer]:
    """A server of another checkout; what it is started with is taken from there."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(str(tree / package) for package in _PACKAGES)
    server = LocalServer(bundle, knowledge, log=log)
    try:
        server.__enter__()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    try:
        yield server
    finally:
        server.__exit__(None, None, None)


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout
