"""Where a benchmark's files lie in a folder, by the names under which they are published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quizglass_lab.datasets.reading.errors import DatasetError

_BELOW = ("", "*/", "*/data/", "data/")
"""Folders in which files are looked for; pictures, of which there may be millions, lie in others."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one split."""

    files: tuple[str, ...]
    """Patterns of names, {split} for the split's name; there has to be a file of one of them."""
    split: str = ""
    """The split that is measured where the user names none: by its file where names have it, else by its samples."""
    newest: bool = False
    """Whether of several files that fit only the last counts, as of versions named by month."""
    spread: bool = False
    """Whether the files may lie in several folders."""

    def find(self, folder: Path, split: str = "") -> list[Path]:
        """The files of a split, pattern by pattern.

        Raises:
            DatasetError: there is none, or they lie in several folders, of which one has to be named.
        """
        names = [pattern.format(split=split or self.split) for pattern in self.files]
        found = [paths[-1:] if self.newest else paths for paths in (_matching(folder, name) for name in names)]
        files = [path for paths in found for path in paths]
        if not files:
            raise DatasetError(f"{folder}: no {' or '.join(names)} there, as the files are published")
        homes = sorted({str(path.parent) for path in files})
        if len(homes) > 1 and not self.spread:
            raise DatasetError(f"{folder}: {names[0]} lies in several folders; name one of {', '.join(homes)}")
        return files

    def of_samples(self, split: str = "") -> str:
        """The split by which samples are chosen; empty where the file's name says it."""
        return "" if any("{split}" in pattern for pattern in self.files) else split or self.split


def _matching(folder: Path, name: str) -> list[Path]:
    """Files of a name, as it is or packed, in order."""
    found = {path for below in _BELOW for path in folder.glob(f"{below}{name}") if path.is_file()}
    return sorted(found) or sorted(path for below in _BELOW for path in folder.glob(f"{below}{name}.gz"))
