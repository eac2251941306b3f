"""Where evidence comes from without a turn of the server: its searches, or what a question's record says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from quizglass import values
from quizglass.values import Origin
from quizglass_client import Client
from quizglass_lab.finetuning.asking.served import with_room
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.rerank import merged


class EvidenceSearch(Protocol):
    """Looks pictures and queries up."""

    def image(self, picture: Path | None, limit: int) -> list[Evidence]:
        """Entries that look like a picture, best first, each once."""
        ...

    def text(self, queries: Sequence[str], limit: int) -> list[Evidence]:
        """Passages that go with any of the queries, each once: the best of every query, then the second of each, ..."""
        ...

    def picture(self, evidence: Evidence) -> Path | None:
        """The entry's first picture; None where it has none."""
        ...


class ServerSearch:
    """The searches of a running server, in the order of its indexes: its reranker has no part in them.

    Args:
        client: of the server.
        folder: where pictures of entries are kept.
    """

    def __init__(self, client: Client, folder: Path) -> None:
        self._client, self._folder = client, folder

    def image(self, picture: Path | None, limit: int) -> list[Evidence]:
        """Entries that look like a picture."""
        if picture is None:
            return []
        hits = with_room(lambda: self._client.search(picture=picture, limit=limit, per_entry=True))
        return [own_evidence(item, Origin.IMAGE_SEARCH) for item in hits]

    def text(self, queries: Sequence[str], limit: int) -> list[Evidence]:
        """Passages for the queries."""
        return merged([self._found(query, limit) for query in dict.fromkeys(queries)])[:limit]

    def _found(self, query: str, limit: int) -> list[Evidence]:
        hits = with_room(lambda: self._client.search(text=query, limit=limit))
        return [own_evidence(item, Origin.TEXT_SEARCH) for item in hits]

    def picture(self, evidence: Evidence) -> Path | None:
        """The entry's first picture, brought once."""
        if not evidence.picture:
            return None
        path = self._folder / f"{evidence.picture.hex()}.jpg"
        if not path.is_file():
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f"{path.name}.{uuid4().hex}")  # others may be reading it
            partial.write_bytes(self._client.get_picture(evidence.picture))
            partial.replace(path)
        return path


@dataclass(frozen=True, slots=True)
class RecordedSearch:
    """What a question's own record has: the oracle's evidence."""

    entity: str = ""
    """Name of the thing that the picture shows; empty where it is not recorded."""
    passages: tuple[str, ...] = ()
    entry: str = ""

    def image(self, picture: Path | None, limit: int) -> list[Evidence]:
        """The entry of the recorded thing, with its first passage; none where no name is recorded."""
        text = self.passages[0] if self.passages else ""
        return [Evidence("1", Origin.IMAGE_SEARCH, self.entry, self.entity, text)] if self.entity and limit else []

    def text(self, queries: Sequence[str], limit: int) -> list[Evidence]:
        """The texts that support the answer."""
        return [
            Evidence(str(number), Origin.TEXT_SEARCH, self.entry, self.entity, text)
            for number, text in enumerate(self.passages[:limit], 1)
        ]

    def picture(self, evidence: Evidence) -> Path | None:
        """None: records have no pictures of entries."""
        return None


def own_evidence(item: values.Evidence, origin: Origin | None = None) -> Evidence:
    """What came over the wire as policies work on it, perhaps as of another search."""
    said = {field.name: getattr(item, field.name) for field in fields(values.Evidence)}
    return Evidence(**{**said, "origin": origin or item.origin})
