"""What has gone from a folder since it was imported, and its deletion."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.intake.origins import FolderOrigin
from quizglass_client.errors import NotFound
from quizglass_client.sync import Client
from quizglass_client.types import Entry


@dataclass(slots=True)
class Present:
    """What a folder holds now."""

    ids: set[str] = field(default_factory=set)
    unknown: int = 0
    """Bad lines that may be of any entry."""

    def take(self, line: GoodLine | BadLine) -> None:
        """A line was read, whatever becomes of it."""
        entry_id = line.entry.id if isinstance(line, GoodLine) else line.id
        if entry_id:
            self.ids.add(entry_id)
        else:
            self.unknown += 1


def gone(client: Client, origin: FolderOrigin, present: Present, unread: Sequence[str]) -> list[Entry]:
    """Entries that came from a folder where nothing is of them any more, as far as the store has them as they came.

    Those of folders below that could not be read are not among them.
    """
    missing = {
        id_: source for id_, source in origin.sources.items() if id_ not in present.ids and not _below(source, unread)
    }
    found = []
    for id_, source in missing.items():
        with suppress(NotFound):
            entry = client.get_entry(id_)
            if _stored(entry.source) == _stored(source):  # else it is another's by now
                found.append(entry)
    return found


def delete(client: Client, entries: Sequence[Entry], origin: FolderOrigin) -> Iterator[Entry]:
    """Delete entries, one after the other; the origin no longer has those that were."""
    deleted: dict[str, str] = {}
    try:
        for entry in entries:
            with suppress(NotFound):
                client.delete_entry(entry.id)
            deleted[entry.id] = entry.source
            yield entry
    finally:
        origin.forget(deleted)


def _stored(source: str) -> str:
    """A source as the server keeps it: on one line, without control characters."""
    spaced = (" " if character.isspace() else character for character in source)
    kept = "".join(character for character in spaced if unicodedata.category(character) not in ("Cc", "Cs"))
    return " ".join(kept.split())


def _below(source: str, folders: Sequence[str]) -> bool:
    return any(source == folder or source.startswith(f"{folder}/") for folder in folders)
