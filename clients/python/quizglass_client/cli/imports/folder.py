"""The folder that an import stays within: a file from elsewhere names no other files of whoever imports it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


class Outside(ValueError):
    """A name leads out of the folder."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, and whether names may lead out of it."""

    path: Path
    anywhere: bool = False

    def file(self, name: str | Path) -> Path:
        """The file of that name, relative to the folder, with all links followed.

        It may be written with its accents taken apart, as some systems do, and be named with them composed.

        Raises:
            Outside: it is not in the folder, because of its name or because something on the way is a link.
        """
        path = self.path / name
        if not str(name).isascii() and not path.exists():
            path = _as_written(self.path, Path(name))
        if self.anywhere:
            return path
        try:
            whole, folder = path.resolve(), self.path.resolve()
        except (OSError, RuntimeError, ValueError):
            return path  # links in a circle, a name that no file has: there is nothing to read
        if not whole.is_relative_to(folder):
            raise Outside(f"{str(name)!r} leads out of {folder}; --allow-outside permits it")
        return whole


def _as_written(folder: Path, name: Path) -> Path:
    """A path whose parts are as the system has them; as far as there is something of the same name."""
    path = folder
    for part in name.parts:
        step = path / part
        if not step.exists():
            with suppress(OSError):  # it is no folder, or not to be read
                step = path / _names(path, path.stat().st_mtime_ns).get(unicodedata.normalize("NFC", part), part)
        path = step
    return path


@lru_cache(64)
def _names(folder: Path, _changed: int) -> Mapping[str, str]:
    """What a folder has, by its composed names."""
    return {unicodedata.normalize("NFC", path.name): path.name for path in folder.iterdir() if not path.name.isascii()}
