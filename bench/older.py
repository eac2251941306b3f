"""An older version of this server as a peer: its own checkout beside this one, run with the same Python environment."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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
    """A work tree of a commit, made once.

    Raises:
        subprocess.CalledProcessError: git does not know the commit.
    """
    tree = workdir.resolve() / f"tree-{commit}"
    if not (tree / "server").is_dir():
        _git("worktree", "prune")
        _git("worktree", "add", "--force", "--detach", str(tree), commit)
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
    bundle = workdir.resolve() / f"bundle-{_BUNDLE_COMMIT}"
    if not bundle.is_dir():
        unfinished = bundle.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for name in _git("ls-tree", "-r", "--name-only", "-z", _BUNDLE_COMMIT, _BUNDLE).decode().split("\0")[:-1]:
            file = unfinished / Path(name).relative_to(_BUNDLE)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_git("show", f"{_BUNDLE_COMMIT}:{name}"))
        unfinished.rename(bundle)
    return bundle


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
