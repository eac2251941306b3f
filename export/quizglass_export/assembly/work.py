"""A build's work directory: finished steps are kept under their fingerprint, unfinished ones are thrown away.

Knows nothing of models: a step is a name, a key that says all it depends on, and a function that fills a directory.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizglass_bundle.hashes import file_sha256
from quizglass_export.errors import ExportError

_DONE = ".done.json"
_DIGESTS = "digests.json"
_LOCK = ".lock"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step.

    Attributes:
        folder: where its files lie.
        result: what its function returned.
        reused: whether it was finished by an earlier build.
        digests: SHA-256 of each file, by its name below `folder`.
    """

    folder: Path
    result: dict[str, Any]
    reused: bool
    digests: Mapping[str, str]

    def files(self) -> Iterator[Path]:
        """Files of the step, in order."""
        return iter(_files(self.folder).values())


@dataclass(slots=True)
class Work:
    """An open work directory; made by `open_work`."""

    folder: Path
    _digests: dict[str, list[Any]] = field(default_factory=dict)

    def step(self, name: str, key: Mapping[str, Any], make: Callable[[Path], dict[str, Any]]) -> Step:
        """Carry out a step, unless it was finished with an equal key and its files are still those that it made.

        Args:
            name: a file name, unique in the build.
            key: JSON values; everything that the step's files depend on.
            make: fills an empty directory and returns what else is to be remembered (JSON).

        Raises:
            ExportError: the disk is full.
        """
        folder = self.folder / name
        fingerprint = digest_of(key)
        if (done := self._finished(folder)) is not None and done.get("fingerprint") == fingerprint:
            return Step(folder, done["result"], reused=True, digests=done["files"])
        scratch = self.folder / f".{name}.new"
        for stale in (folder, scratch):
            shutil.rmtree(stale, ignore_errors=True)
        scratch.mkdir()
        try:
            result = make(scratch)
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            if isinstance(error, OSError) and error.errno in _FULL:
                raise ExportError(
                    f"{self.folder}: no room for roles.{name} ({error.strerror}); free some, or choose another --work"
                ) from error
            raise
        digests = {name: file_sha256(path) for name, path in _files(scratch).items()}
        content = json.dumps({"fingerprint": fingerprint, "result": result, "files": digests})
        (scratch / _DONE).write_text(content, encoding="utf-8")
        scratch.rename(folder)
        return Step(folder, result, reused=False, digests=digests)

    def _finished(self, folder: Path) -> dict[str, Any] | None:
        """What a step left; None where it is not whole, or a file was changed since, in a bundle that links it too."""
        try:
            done = json.loads((folder / _DONE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(done, dict) or not isinstance(done.get("result"), dict):
            return None
        files = _files(folder)
        whole = isinstance(done.get("files"), dict) and done["files"].keys() == files.keys()
        return (
            done if whole and all(self.digest(files[name]) == known for name, known in done["files"].items()) else None
        )

    def digest(self, path: Path) -> str:
        """SHA-256 of a file; remembered as long as size and time of change stay the same."""
        try:
            status = path.stat()
        except OSError as error:
            raise ExportError(f"{path}: cannot be read: {error.strerror}") from error
        mark = [status.st_size, status.st_mtime_ns, status.st_ino]
        known = self._digests.get(str(path))
        if known is not None and known[:3] == mark:
            return str(known[3])
        digest = file_sha256(path)
        self._digests[str(path)] = [*mark, digest]
        write_atomically(self.folder / _DIGESTS, json.dumps(self._digests))
        return digest


@contextmanager
def open_work(folder: Path) -> Iterator[Work]:
    """Open a work directory for one build at a time.

    Raises:
        ExportError: another build uses it, or it is a directory of something else.
    """
    folder = folder.absolute()
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _LOCK).exists():
        raise ExportError(f"{folder}: not a work directory of a build; give an empty or a new one")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ExportError(f"{folder}: in use by another build; wait for it, or choose another --work") from error
        for stale in folder.glob(".*.new"):
            shutil.rmtree(stale, ignore_errors=True)
        yield Work(folder, _read_digests(folder / _DIGESTS))


def kept_bytes(folder: Path) -> int:
    """What the steps in a work directory take; 0 where it is none."""
    if not (folder / _LOCK).exists():
        return 0
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def digest_of(value: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Replace a file's content whole."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def _files(folder: Path) -> dict[str, Path]:
    """A step's files by their names below its directory, in order."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != _DONE]
    return {path.relative_to(folder).as_posix(): path for path in paths}


def _read_digests(path: Path) -> dict[str, list[Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    well_formed = isinstance(found, dict) and all(isinstance(v, list) and len(v) == 4 for v in found.values())
    return found if well_formed else {}
