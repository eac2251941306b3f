"""Reads and writes entries in Milvus. Every method blocks; writes come from one thread."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from quizglass.values import Deleted, Entry
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import EntryDraft, Replacements, VectorKind, no_entry
from quizglass_server.knowledge.database.reader import PAGE_CHARS
from quizglass_server.knowledge.milvus.collections import Collections
from quizglass_server.knowledge.milvus.link import MilvusLink
from quizglass_server.knowledge.milvus.rows import (
    Head,
    Row,
    alive,
    entry_of,
    entry_rows,
    every,
    of_entries,
    sliced,
    text_literal,
    vector_rows,
)
from quizglass_server.steady_clock import Clock

NO_RECEIPT = 0
"""Sequence number of a deletion that no compaction answers for."""

logger = logging.getLogger(__name__)
_ROWS, _BYTES = 1_000, 8 << 20  # of one message; a Milvus proxy takes 64 MiB
_PAGE = 100  # entries read together
_TOGETHER = 200  # ids in one expression
_ATTEMPTS = 5  # reads again when an entry was replaced between two of its rows
_LEFT_OVER_S = 600  # rows of a write that was interrupted so long ago have no owner
_HEADS = "part == 0"


class MilvusStore:
    """Entries in the collections of one name."""

    def __init__(self, link: MilvusLink, collections: Collections, clock: Clock, timeout_s: float) -> None:
        """Use collections that are there; writes are tried again for `timeout_s` while nothing answers."""
        self._link = link
        self.collections = collections
        """What it reads and writes."""
        self._clock = clock
        self._patience_s = timeout_s
        self._last_revision = 0

    def put(self, drafts: Sequence[EntryDraft]) -> Replacements:
        """Add or replace entries; of two of the same id the later stays. Each is there as a whole or not at all."""
        now = int(self._clock())
        latest = {draft.entry.id: draft for draft in drafts}
        before = self._of_entries(latest, [_HEADS], ["revision"])  # expired ones too: no other sweep will remove theirs
        replaced = self._replaced(drafts, latest if before else ())
        heads, parts = list[Row](), list[Row]()
        vectors: dict[VectorKind, list[Row]] = {kind: [] for kind in VectorKind}
        for draft in latest.values():
            expires = now + draft.entry.expires_after if draft.entry.expires_after else 0
            revision = self._next_revision()
            head, *rest = entry_rows(draft, revision, expires)
            heads.append(head)
            parts += rest
            for kind, rows in vector_rows(draft, revision, expires).items():
                vectors[kind] += rows
        for kind, rows in vectors.items():
            self._upsert(self.collections.vectors[kind], rows)
        self._upsert(self.collections.entries, parts)
        self._upsert(self.collections.entries, heads)  # from here on they are seen
        self._sweep(latest, [int(row["revision"]) for row in before])
        return replaced

    def _replaced(self, drafts: Sequence[EntryDraft], ids: Iterable[str]) -> Replacements:
        """What drafts take the place of, where some of these ids are there. One that is damaged counts as none."""
        known, replaced = dict[str, Entry](), Replacements()
        with suppress(KnowledgeFailed):
            known = {name: entry for name, (_, entry) in self.entries(ids).items()} if ids else {}
        for draft in drafts:
            replaced.note(known.get(draft.entry.id), draft.entry)
            known[draft.entry.id] = draft.entry
        return replaced

    def delete(self, entry_id: str) -> Deleted:
        """Delete an entry. Raises NotFound."""
        rows = self._of_entries([entry_id], [_HEADS, alive(self._clock())], Head.FIELDS)
        if not rows:
            raise no_entry(entry_id)
        head = Head.of(rows[0])
        self._drop([head])
        return Deleted(entry_id, NO_RECEIPT, head.chunks, head.pictures)

    def expire(self) -> None:
        """Delete entries whose time has come."""
        now = int(self._clock())
        gone, count = every([_HEADS, "expires > 0", f"expires <= {now}"]), 0
        while rows := self._query(self.collections.entries, gone, Head.FIELDS, limit=_TOGETHER):
            self._drop([Head.of(row) for row in rows])
            count += len(rows)
        if count:
            logger.info("expired entries deleted", extra={"audit": True, "count": count})

    def get(self, entry_id: str) -> Entry:
        """One entry. Raises NotFound."""
        stored = self.entries([entry_id])
        if entry_id not in stored:
            raise no_entry(entry_id)
        return stored[entry_id][1]

    def page(self, after: str, limit: int) -> list[Entry]:
        """Up to `limit` entries whose id is greater than `after`, in order of id, at least one if there is any."""
        page: list[Entry] = []
        size = 0
        while len(page) < limit:
            wanted = min(_PAGE, limit - len(page))
            ids = self._ids_after(after, wanted)
            stored = self.entries(ids)
            for entry_id in ids:
                if entry_id not in stored:
                    continue  # deleted meanwhile
                entry = stored[entry_id][1]
                page.append(entry)
                size += len(entry.text) + sum(map(len, entry.attributes.values()))
                if size > PAGE_CHARS:
                    return page
            if len(ids) < wanted:
                break
            after = ids[-1]
        return page

    def count(self) -> int:
        """Number of entries."""
        rows = self._query(self.collections.entries, every([_HEADS, alive(self._clock())]), ["count(*)"])
        return int(rows[0]["count(*)"])

    def entries(self, ids: Iterable[str]) -> dict[str, tuple[int, Entry]]:
        """The entries with these ids, as far as they exist, with their revisions."""
        waiting = list(dict.fromkeys(ids))
        stored: dict[str, tuple[int, Entry]] = {}
        for _ in range(_ATTEMPTS):
            rows = self._of_entries(waiting, [_HEADS, alive(self._clock())], [*Head.FIELDS, "content"])
            heads = {str(row["entry"]): (Head.of(row), [str(row["content"])]) for row in rows}
            self._add_parts(heads)
            whole = {name: pair for name, pair in heads.items() if len(pair[1]) == pair[0].parts}
            for name, (head, contents) in whole.items():
                stored[name] = head.revision, entry_of("".join(contents), head, self._clock())
            waiting = [name for name in heads if name not in whole]  # replaced while they were read
            if not waiting:
                return stored
        raise KnowledgeFailed(f"entry {waiting[0]!r} in Milvus lacks a part; add it again")

    def search(
        self, kind: VectorKind, data: Sequence[Any], field: str, limit: int, where: str, output: Sequence[str]
    ) -> Any:
        """Rows for each query, best first: by vector, or with words on the field "words" by BM25."""
        params = (
            {"metric_type": "BM25"}
            if field == "words"
            else {"metric_type": "COSINE", "params": {"ef": max(128, limit)}}
        )
        return self._link.run(
            lambda client, left: client.search(
                self.collections.vectors[kind],
                data=list(data),
                anns_field=field,
                filter=where,
                limit=limit,
                output_fields=list(output),
                search_params=params,
                consistency_level="Strong",
                timeout=left,
            )
        )

    def _drop(self, heads: Sequence[Head]) -> None:
        """Delete entries as they are now; one that is replaced meanwhile stays."""
        revisions = [head.revision for head in heads]
        ids = [head.entry for head in heads]
        self._delete(self.collections.entries, every([of_entries(ids), _HEADS, f"revision in {revisions}"]))
        self._sweep(ids, revisions)

    def _sweep(self, ids: Iterable[str], revisions: Sequence[int]) -> None:
        """Remove what is left of these revisions of entries, and of writes that were interrupted long ago."""
        old = f"revision in {list(revisions)} or revision < {_revision(min(time.time(), self._clock()) - _LEFT_OVER_S)}"
        where = every([of_entries(ids), old])
        for kind in self.collections.kinds:
            self._delete(self.collections.vectors[kind], where)
        self._delete(self.collections.entries, every([where, "part > 0"]))

    def _add_parts(self, heads: dict[str, tuple[Head, list[str]]]) -> None:
        long = [name for name, (head, _) in heads.items() if head.parts > 1]
        if not long:
            return
        rows = self._of_entries(long, ["part > 0"], ["entry", "revision", "part", "content"])
        for row in sorted(rows, key=lambda row: int(row["part"])):
            head, contents = heads[str(row["entry"])]
            if int(row["revision"]) == head.revision:
                contents.append(str(row["content"]))

    def _ids_after(self, after: str, count: int) -> list[str]:
        """Ids that follow, in order. Only an iterator gives rows in order of their keys."""
        where = every([_HEADS, f"key > {text_literal(after)}", alive(self._clock())])

        def read(client: Any, left: float) -> list[str]:
            rows = client.query_iterator(
                self.collections.entries,
                batch_size=count,
                limit=count,
                filter=where,
                output_fields=["entry"],
                consistency_level="Strong",
                timeout=left,
            )
            try:
                return sorted(str(row["entry"]) for row in rows.next())
            finally:
                rows.close()

        return self._link.run(read)

    def _of_entries(self, ids: Iterable[str], conditions: Sequence[str], output: Sequence[str]) -> list[Row]:
        wanted = list(ids)
        rows: list[Row] = []
        for start in range(0, len(wanted), _TOGETHER):
            where = every([of_entries(wanted[start : start + _TOGETHER]), *conditions])
            rows += self._query(self.collections.entries, where, output)
        return rows

    def _query(self, name: str, where: str, output: Sequence[str], limit: int | None = None) -> list[Row]:
        some = {} if limit is None else {"limit": limit}
        return self._link.run(
            lambda client, left: list(
                client.query(
                    name, filter=where, output_fields=list(output), consistency_level="Strong", timeout=left, **some
                )
            )
        )

    def _upsert(self, name: str, rows: Sequence[Row]) -> None:
        for piece in sliced(rows, _ROWS, _BYTES):
            self._writing(partial(_upsert, name, piece))

    def _delete(self, name: str, where: str) -> None:
        self._writing(lambda client, left: client.delete(name, filter=where, timeout=left))

    def _writing(self, job: Callable[[Any, float], Any]) -> None:
        self._link.run(job, patience_s=self._patience_s)

    def _next_revision(self) -> int:
        self._last_revision = max(self._last_revision + 1, _revision(time.time()) + secrets.randbelow(1000))
        return self._last_revision


def _upsert(name: str, rows: list[Row], client: Any, left: float) -> None:
    client.upsert(name, rows, timeout=left)


def _revision(at: float) -> int:
    """Microseconds since 1970 and three digits by chance: two servers that write at once do not take the same."""
    return int(at * 1e6) * 1000
