"""An older version beside this one: its files, and nothing else that stays behind."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bench import older


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = tmp_path / "repository"
    for name in ("protos/a.py", "server/b.py", "clients/python/c.py", "bench/d.py"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(name)
    author = ("-c", "user.name=somebody", "-c", "user.email=some@body")
    for command in (("init", "--quiet"), ("add", "."), (*author, "commit", "--quiet", "--message", "first")):
        subprocess.run(["git", *command], cwd=root, check=True)
    monkeypatch.setattr(older, "ROOT", root)
    return root


def test_a_checkout_has_the_packages_and_leaves_nothing_in_the_repository(repository: Path, tmp_path: Path) -> None:
    for _ in range(2):
        tree = older.checkout(tmp_path / "work", "HEAD")
        found = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*.py"))
        assert found == ["clients/python/c.py", "protos/a.py", "server/b.py"]
    listed = subprocess.run(["git", "worktree", "list"], cwd=repository, check=True, capture_output=True, text=True)
    assert len(listed.stdout.splitlines()) == 1


def test_a_checkout_that_was_interrupted_is_made_anew(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(self: object, folder: Path, **_: object) -> None:
        (folder / "server").mkdir(parents=True)
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr("tarfile.TarFile.extractall", ended)
        with pytest.raises(KeyboardInterrupt):
            older.checkout(tmp_path / "work", "HEAD")
    assert (older.checkout(tmp_path / "work", "HEAD") / "server" / "b.py").is_file()


def test_a_commit_that_is_not_there_is_an_error(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        older.checkout(tmp_path / "work", "0" * 40)
    assert not list((tmp_path / "work").glob("tree-*"))
