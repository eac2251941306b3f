"""The folder that an import stays within: a file from elsewhere names no other files of whoever imports it."""

from __future__ import annotations

from dataclasses import dataclass
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

        Raises:
            Outside: it is not in the folder, because of its name or because something on the way is a link.
        """
        path = self.path / name
        if self.anywhere:
            return path
        try:
            whole, folder = path.resolve(), self.path.resolve()
        except (
            OSError,
            RuntimeError,
            ValueError,
        ):  # links in a circle, a name that no file has: there is nothing to read
            return path
        if not whole.is_relative_to(folder):
            raise Outside(f"{str(name)!r} leads out of {folder}; --allow-outside permits it")
        return whole
