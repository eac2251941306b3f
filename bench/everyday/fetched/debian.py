"""Files out of packages of Debian, fetched without root rights. Nothing is installed, and nothing is passed on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

STAMPS, WORDNET = "tuxpaint-stamps-default", "wordnet-base"
"""430 photographed things with captions, GPL-2; 82,000 nouns with what they mean, WordNet's own licence."""
_UNPACKED = "unpacked"


class PackageMissing(Exception):
    """A package cannot be had here; the message says what to do."""


def unpacked(name: str, folder: Path) -> tuple[Path, str]:
    """The files of a package below `folder`, fetched once, and the package's version.

    Raises:
        PackageMissing: it can neither be fetched nor is it there; or there is no dpkg to unpack it.
    """
    folder = folder.resolve()  # commands run in it
    folder.mkdir(parents=True, exist_ok=True)
    package = _fetched(name, folder)
    target = folder / _UNPACKED / package.stem
    if not target.is_dir():
        partial = target.with_name(f"{target.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _run(["dpkg-deb", "--extract", str(package), str(partial)], folder, name)
        partial.rename(target)
    return target, package.stem.split("_")[1]


def _fetched(name: str, folder: Path) -> Path:
    if not any(folder.glob(f"{name}_*.deb")):
        _run(["apt-get", "download", name], folder, name)
    packages = sorted(folder.glob(f"{name}_*.deb"))
    if not packages:
        raise PackageMissing(f"{folder}: apt-get brought no {name}_*.deb")
    return packages[-1]


def _run(command: list[str], folder: Path, name: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # ours
    except OSError as error:
        raise PackageMissing(f"{command[0]}: {error.strerror}; {_remedy(name, folder)}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it ended without a word"]
        raise PackageMissing(f"{' '.join(command)}: {said[-1]}; {_remedy(name, folder)}")


def _remedy(name: str, folder: Path) -> str:
    return f"fetch {name} on a Debian with `apt-get download {name}`, and put the .deb into {folder}"
