"""Says after an import which entries' pictures cannot be told apart by the server's image search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quizglass_client.cli.tuning.anew import SIDE, taken_anew
from quizglass_client.errors import ClientError
from quizglass_client.pictures import encode
from quizglass_client.sync import Client
from quizglass_client.types import Entry

MOST = 1000
"""Entries compared; each takes a search."""
LEAD = 0.01
"""Least cosine margin of an entry over the next one, when looked up by a new picture of its own."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Two entries that look alike to the server, by title, or by id too where both have the same."""

    one: str
    other: str
    own_score: float
    """What the first one got."""
    other_score: float

    def __str__(self) -> str:
        scores = f"{self.own_score:.2f} and {self.other_score:.2f}"
        return f"{self.one!r} and {self.other!r} look alike ({scores}); give one of them another picture"


def alike(client: Client, entries: Sequence[Entry], advance: Callable[[], None]) -> list[Alike]:
    """Look each of these entries up by its first picture, turned and made smaller as a second photograph would be.

    Those whose picture cannot be read or searched for are passed over. `advance` is called after each.
    """
    pairs: dict[frozenset[str], Alike] = {}
    for entry in entries[:MOST]:
        hits = _looked_up(client, entry)
        own = max((score for id_, _, score in hits if id_ == entry.id), default=0.0)
        others = [(title, id_, score) for id_, title, score in hits if id_ != entry.id]
        if others and others[0][2] > own - LEAD:
            title, id_, score = others[0]
            names = (entry.title, title) if entry.title != title else (f"{title} ({entry.id})", f"{title} ({id_})")
            pairs.setdefault(frozenset((entry.id, id_)), Alike(*names, own, score))
        advance()
    return list(pairs.values())


def _looked_up(client: Client, entry: Entry) -> list[tuple[str, str, float]]:
    """Id, title and score of the two entries that are most like it."""
    try:
        view = taken_anew(encode(entry.pictures[0], SIDE))
        return [(hit.entry_id, hit.title, hit.search_score) for hit in client.search(picture=view, limit=2)]
    except ClientError:
        return []
