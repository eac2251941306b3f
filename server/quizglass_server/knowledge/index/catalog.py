"""Words and facts of the entries, for keyword search and filters: FTS5 tables in memory, derived from the database.

Words are found by FTS5 with BM25 (Robertson and Zaragoza, 2009). Chunks that are gone stay among the words until the
next rebuild, as in the graphs: whoever searches passes them over. Facts of entries that are gone leave at once. The
catalog is saved as a snapshot like the graphs and brought up to date at the start. It is not part of the database on
disk, because FTS5 could not be protected against damage there: nothing tells a posting that is missing.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from quizglass.values import Filter
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import Filed
from quizglass_server.knowledge.content.spacing import spaced

LIBRARY = "catalog-3"
"""Version of the tables, of the tokenizer and of the definition of a word (`spacing.py`)."""

_TOKENIZER = "porter unicode61 remove_diacritics 2"
_TABLES = f"""
CREATE VIRTUAL TABLE words USING fts5 (passage, content = '', tokenize = '{_TOKENIZER}');
CREATE TABLE facets (
    entry INTEGER PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL, language TEXT NOT NULL,
    time INTEGER NOT NULL, expires INTEGER NOT NULL, title TEXT NOT NULL
);
CREATE INDEX facets_by_kind ON facets (kind);
CREATE INDEX facets_by_title ON facets (title) WHERE title > '';
CREATE INDEX facets_by_expiry ON facets (expires) WHERE expires > 0;
CREATE TABLE attributes (
    key TEXT NOT NULL, value TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (key, value, entry)
) WITHOUT ROWID;
CREATE INDEX attributes_of_entry ON attributes (entry);
"""
_HELPERS = f"""
CREATE VIRTUAL TABLE temp.posting USING fts5vocab (main, words, row);
CREATE VIRTUAL TABLE temp.asked USING fts5 (word, tokenize = '{_TOKENIZER}');
CREATE VIRTUAL TABLE temp.asked_term USING fts5vocab (temp, asked, instance);
"""
Row = TypeVar("Row")

_WORD = re.compile(r"\w+")
_SLICE = 32  # rows written between two moments at which a search may come in
_MOST_WORDS, _MOST_PAIRS = 64, 256  # of a question: of one that has unspaced scripts, pairs of characters among them
_POSTINGS = 300, 1_000  # rows that a search may score, the rarest words of the question first: at least and at most
_TELLING = 0.02  # of the chunks; in between, a search may score so many of them
_RAREST = 5_000  # of a question of common words, the rarest one is worth this many


class Catalog:
    """Words and facts in one SQLite connection. Any thread may call; each call sees what was written before it."""

    def __init__(self, content: bytes | None = None) -> None:
        """Empty, or from what `content` gave and whose hash was compared.

        Raises:
            KnowledgeFailed: the content is no catalog.
        """
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            if content is None:
                self._db.executescript(_TABLES)
            else:
                self._db.deserialize(content)
            self._db.executescript(_HELPERS)
            # Highest label among the words, and how many chunks they are of, with those that are gone.
            self.last = self._count("SELECT coalesce(max(id), 0) FROM words_docsize")
            self.size = self._count("SELECT count(*) FROM words_docsize")
        except sqlite3.Error as error:
            raise KnowledgeFailed("the catalog cannot be read") from error
        self._frequencies: dict[str, int] = {}
        self._counted_at = self.size

    def add_entries(self, filed: Iterable[Filed]) -> None:
        """Facts of new entries."""
        for entries in _slices(filed):
            facets = [
                (f.number, f.entry.kind, f.entry.source, f.entry.language, f.entry.time, f.expires, f.entry.title)
                for f in entries
            ]
            facts = [(key, value, f.number) for f in entries for key, value in f.entry.attributes.items()]
            with self._lock:
                self._db.executemany("INSERT OR REPLACE INTO facets VALUES (?, ?, ?, ?, ?, ?, ?)", facets)
                self._db.executemany("INSERT OR REPLACE INTO attributes VALUES (?, ?, ?)", facts)

    def add_passages(self, passages: Iterable[tuple[int, str]]) -> None:
        """Words of new chunks, by ascending label."""
        for rows in _slices((label, spaced(passage)) for label, passage in passages):
            with self._lock:
                self._db.execute("BEGIN")
                self._db.executemany("INSERT INTO words (rowid, passage) VALUES (?, ?)", rows)
                self._db.execute("COMMIT")
                self.last = max(self.last, rows[-1][0])
                self.size += len(rows)

    def remove_entries(self, numbers: Iterable[int]) -> None:
        """Facts of entries that are gone."""
        for rows in _slices((number,) for number in numbers):
            with self._lock:
                self._db.executemany("DELETE FROM facets WHERE entry = ?", rows)
                self._db.executemany("DELETE FROM attributes WHERE entry = ?", rows)

    def entries(self) -> set[int]:
        """Numbers of the entries whose facts are here."""
        with self._lock:
            return {number for (number,) in self._db.execute("SELECT entry FROM facets").fetchall()}

    def by_words(self, text: str, limit: int) -> list[int]:
        """Labels of the chunks that fit the words of a question best, best first, those that are gone included.

        Words that are too common to tell chunks apart are left out.
        """
        words = spaced(text)
        most = _MOST_WORDS if words == text else _MOST_PAIRS
        with self._lock:
            chosen = self._telling(list(dict.fromkeys(_WORD.findall(words.lower())))[:most])
            if not chosen:
                return []
            asked = " OR ".join(f'"{word}"' for word in chosen)
            by_rank = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?"
            return [label for (label,) in self._db.execute(by_rank, (asked, limit)).fetchall()]

    def matching(self, filter_: Filter) -> set[int]:
        """Numbers of the entries that pass a filter."""
        conditions, values = ["1"], list[object]()
        for column, wanted in (("kind", filter_.kinds), ("source", filter_.sources)):
            if wanted:
                conditions.append(f"{column} IN ({', '.join('?' * len(wanted))})")
                values += wanted
        if filter_.languages:
            within = "language = ? COLLATE NOCASE OR language LIKE ?"  # tags have no case
            conditions.append("(" + " OR ".join([within] * len(filter_.languages)) + ")")
            values += [value for tag in filter_.languages for value in (tag, f"{_escaped(tag)}-%")]
        if filter_.time_from:
            conditions.append("time >= ?")
            values.append(filter_.time_from)
        if filter_.time_until:
            conditions.append("time > 0 AND time < ?")
            values.append(filter_.time_until)
        for key, value in filter_.attributes.items():
            conditions.append("entry IN (SELECT entry FROM attributes WHERE key = ? AND value = ?)")
            values += [key, value]
        statement = f"SELECT entry FROM facets WHERE {' AND '.join(conditions)}"  # noqa: S608  # values are bound
        with self._lock:
            return {number for (number,) in self._db.execute(statement, values).fetchall()}

    def titled(self, titles: Sequence[str]) -> set[int]:
        """Numbers of the entries with one of these titles."""
        statement = f"SELECT entry FROM facets WHERE title > '' AND title IN ({', '.join('?' * len(titles))})"  # noqa: S608
        with self._lock:
            return {number for (number,) in self._db.execute(statement, tuple(titles)).fetchall()}

    def next_expiry(self) -> int:
        """When the next entry expires, seconds since 1970; 0: none will."""
        with self._lock:
            return self._count("SELECT coalesce(min(expires), 0) FROM facets WHERE expires > 0")

    def save(self, path: Path) -> None:
        """Write to a file (not yet synced to the disk)."""
        with self._lock:
            content = self._db.serialize()
        path.write_bytes(content)

    def close(self) -> None:
        """Give the memory back."""
        with self._lock:
            self._db.close()

    def _telling(self, words: Sequence[str]) -> list[str]:
        """The rarest words, as many as may be scored."""
        counted = sorted((self._postings(word), word) for word in words)
        counted = [(count, word) for count, word in counted if count]
        least, most = _POSTINGS
        affordable = min(max(least, int(_TELLING * self.size)), most)
        chosen, total = list[str](), 0
        for count, word in counted:
            if total + count > (affordable if chosen else _RAREST):
                break
            chosen.append(word)
            total += count
        return chosen

    def _postings(self, word: str) -> int:
        """In how many chunks a word is; as of a while ago, since counting a common one takes milliseconds."""
        if self.size > 1.1 * self._counted_at + 100:
            self._frequencies.clear()
            self._counted_at = self.size
        count = self._frequencies.get(word)
        if count is None:
            counts = [
                self._count("SELECT coalesce(sum(doc), 0) FROM temp.posting WHERE term = ?", term)
                for term in self._terms(word)
            ]
            count = min(counts, default=0)
            if len(self._frequencies) < 10_000:
                self._frequencies[word] = count
        return count

    def _terms(self, word: str) -> list[str]:
        """What the tokenizer makes of a word."""
        self._db.execute("INSERT INTO temp.asked (rowid, word) VALUES (1, ?)", (word,))
        terms = [term for (term,) in self._db.execute("SELECT term FROM temp.asked_term").fetchall()]
        self._db.execute("DELETE FROM temp.asked")
        return terms

    def _count(self, statement: str, *values: object) -> int:
        return int(self._db.execute(statement, values).fetchone()[0])


def _slices(rows: Iterable[Row]) -> Iterator[list[Row]]:
    piece: list[Row] = []
    for row in rows:
        piece.append(row)
        if len(piece) == _SLICE:
            yield piece
            piece = []
    if piece:
        yield piece


def _escaped(tag: str) -> str:
    return tag.replace("%", "").replace("_", "")
