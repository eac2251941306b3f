"""Remembers which entries the imports of a folder have brought to a server, so that what has gone can be told."""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizglass_client.files import read_file, write_private

_LARGEST = 1 << 30  # bytes


@dataclass(slots=True)
class FolderOrigin:
    """What one folder has brought to one server, by the id of the entry, in a file of this user.

    It is kept here and not in the store, where an entry says no more of its place than its path within the folder: of
    two folders with a "kettle.md" nothing else could tell whose entry is to go.
    """

    file: Path | None
    folder: str
    server: str
    sources: dict[str, str] = field(default_factory=dict)
    """Of each entry the source that it had."""

    @classmethod
    def of(cls, folder: Path, server: str) -> FolderOrigin:
        """What is remembered of a folder; nothing where there is no such file, or it is not readable."""
        name = str(folder.resolve())
        digest = hashlib.sha256(f"{server}\n{name}".encode(errors="surrogateescape")).hexdigest()[:32]
        file = _state(f"{digest}.json")
        return cls(file, name, server, _sources(_told(file)) if file is not None else {})

    def remember(self, brought: Mapping[str, str]) -> dict[str, str]:
        """Entries came from the folder, with these sources; no other folder has them any more.

        Returns:
            The other folders, by the ids of entries whose place was taken there while they hold something else.

        Raises:
            OSError: that cannot be written.
        """
        replaced: dict[str, str] = {}
        for other in self._others():
            taken = {id_: source for id_, source in other.sources.items() if id_ in brought}
            for id_, source in taken.items():
                if source and _differ(Path(other.folder, source), Path(self.folder, brought[id_])):
                    replaced[id_] = other.folder
            if taken:
                other.forget(taken)
        if not brought.items() <= self.sources.items():
            self.sources |= brought
            self._save()
        return replaced

    def forget(self, gone: Mapping[str, str]) -> None:
        """Entries are gone. Raises OSError."""
        for id_ in gone:
            self.sources.pop(id_, None)
        self._save()

    def _others(self) -> Iterator[FolderOrigin]:
        """The other folders that this user has imported from, to the same server."""
        for file in sorted(self.file.parent.glob("*.json")) if self.file is not None else ():
            told = _told(file)
            if file != self.file and told.get("server") == self.server and isinstance(told.get("folder"), str):
                yield FolderOrigin(file, told["folder"], self.server, _sources(told))

    def _save(self) -> None:
        if self.file is None:
            return
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        told = {"folder": self.folder, "server": self.server, "entries": self.sources}
        write_private(self.file, json.dumps(told).encode())


def _told(file: Path) -> dict[str, Any]:
    """What a file of these remembers; nothing where there is none, or it is something else."""
    try:
        told = json.loads(read_file(file, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _sources(told: Mapping[str, Any]) -> dict[str, str]:
    entries = told.get("entries")
    return {id_: str(source) for id_, source in entries.items()} if isinstance(entries, dict) else {}


def _differ(other: Path, own: Path) -> bool:
    """Whether a folder still has what an entry was made of there, and that is not the same as here."""
    try:
        return other.exists() and not (other.is_file() and own.is_file() and filecmp.cmp(other, own, shallow=False))
    except (OSError, ValueError):  # it cannot be read, or the source is no name of a file
        return False


def _state(name: str) -> Path | None:
    """Where programs of this user keep what they remember; None: there is no such place."""
    try:
        named = os.environ.get("XDG_STATE_HOME")
        return (Path(named) if named else Path.home() / ".local" / "state") / "quizglass" / "folders" / name
    except RuntimeError:  # of a user without a home
        return None
