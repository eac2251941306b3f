"""Remembers which entries the imports of a folder have brought to a server, so that what has gone can be told."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
        made = cls(_state(f"{digest}.json"), name, server)
        try:
            told = json.loads(read_file(made.file, _LARGEST)) if made.file is not None else {}
            made.sources = {str(id_): str(source) for id_, source in dict(told.get("entries", {})).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            pass
        return made

    def remember(self, brought: Mapping[str, str]) -> None:
        """Entries came from the folder, with these sources. Raises OSError where that cannot be written."""
        if not brought.items() <= self.sources.items():
            self.sources |= brought
            self._save()

    def forget(self, gone: Mapping[str, str]) -> None:
        """Entries are gone. Raises OSError."""
        for id_ in gone:
            self.sources.pop(id_, None)
        self._save()

    def _save(self) -> None:
        if self.file is None:
            return
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        told = {"folder": self.folder, "server": self.server, "entries": self.sources}
        write_private(self.file, json.dumps(told).encode())


def _state(name: str) -> Path | None:
    """Where programs of this user keep what they remember; None: there is no such place."""
    try:
        named = os.environ.get("XDG_STATE_HOME")
        return (Path(named) if named else Path.home() / ".local" / "state") / "quizglass" / "folders" / name
    except RuntimeError:  # of a user without a home
        return None
