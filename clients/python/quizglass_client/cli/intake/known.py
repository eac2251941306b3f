"""Which entries a server has just so, so that they need not be sent: by digests of all that is said of them.

A server counts such an entry as unchanged. It stores pictures as they are sent, and names them by their SHA-256.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from hashlib import sha256
from itertools import islice

from quizglass.text import clean_line, clean_text
from quizglass.values import Entry

MOST = 10_000
"""Entries that are listed; where a store has more, listing them would cost more than it saves."""
_LINES = ("title", "caption", "kind", "source")


class KnownEntries:
    """Entries that were listed, each until one of its id is met: what follows may replace what was sent before."""

    def __init__(self, stored: Iterable[Entry] = ()) -> None:
        listed = list(islice(stored, MOST + 1))
        known = listed if len(listed) <= MOST else ()
        # The time of an entry that expires begins anew whenever it is sent.
        self._digests = {each.id: _digest(each, each.picture_sha256) for each in known if not each.expires_after}
        self.unchanged: set[str] = set()
        """Ids of the entries that were met and are just so."""

    def has(self, entry: Entry, pictures: Sequence[bytes]) -> bool:
        """Whether an entry that is about to be sent with these pictures, encoded, is there just so."""
        before = self._digests.pop(entry.id, None)
        if before is None or before != _digest(entry, [sha256(picture).digest() for picture in pictures]):
            return False
        self.unchanged.add(entry.id)
        return True


def _digest(entry: Entry, pictures: Iterable[bytes]) -> bytes:
    """Of an entry as a server stores it: texts without control characters, each picture once."""
    said = {field.name: getattr(entry, field.name) for field in fields(Entry)}
    said["picture_sha256"] = [each.hex() for each in dict.fromkeys(pictures)]
    said |= {name: clean_line(said[name]) for name in _LINES} | {"text": clean_text(entry.text)}
    said["attributes"] = {clean_line(key): clean_line(value) for key, value in entry.attributes.items()}
    return sha256(json.dumps(said, sort_keys=True).encode()).digest()
