"""A folder of Markdown, looked at before each search: what is changed in it is found by the next question."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from itertools import groupby
from pathlib import Path
from stat import S_ISREG
from typing import Any

from pydantic import BaseModel, ConfigDict, DirectoryPath

from quizglass_server.decoding.markup.blocks import blocks
from quizglass_server.knowledge.content.spacing import spaced
from quizglass_server.knowledge.sources.cleaning import MAX_TEXT
from quizglass_server.knowledge.sources.protocol import Passage, SourceError, TextQuery

logger = logging.getLogger(__name__)

MOST_FILES, LARGEST_FILE = 10_000, 1 << 20
"""Files that are read, and bytes of one; others are left out, and logged once."""
_ENDINGS = (".md", ".markdown")
_HIDDEN = "."
"""Begins names that are not looked at: programs for notes keep deleted ones in `.trash`."""
_LONG = 800
"""Characters from which on paragraphs under one heading are a passage."""
_SCHEMA = """
    CREATE VIRTUAL TABLE passages USING fts5(
        title_words, words, title UNINDEXED, text UNINDEXED, path UNINDEXED, tokenize='porter unicode61'
    )
"""
_ADD = "INSERT INTO passages (title_words, words, title, text, path) VALUES (?, ?, ?, ?, ?)"
_SEARCH = """
    SELECT rowid, title, text, path FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 2.0, 1.0) LIMIT ?
"""
_WORD = re.compile(r"\w+")
_MOST_WORDS, _MOST_PAIRS = 64, 256
"""Of a question: of one that has unspaced scripts, pairs of characters among them."""


class MarkdownKeys(BaseModel):
    """What its table may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    folder: DirectoryPath


class MarkdownFolder:
    """The passages of a folder's files, ranked by their words (BM25)."""

    remote = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, "source-markdown")
        self._database: sqlite3.Connection | None = None
        self._known: dict[str, tuple[int, int]] = {}
        self._left_out = False
        self._thread.submit(self._looked_at)  # the first question finds most of it read

    async def search_text(self, query: TextQuery, limit: int) -> Sequence[Passage]:
        """Passages that have words of the query."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._search, query.text, limit)

    async def close(self) -> None:
        """Let go of the thread, once it has ended what it does."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _search(self, text: str, limit: int) -> list[Passage]:
        said = spaced(text)
        words = list(dict.fromkeys(_WORD.findall(said)))[: _MOST_WORDS if said == text else _MOST_PAIRS]
        try:
            database = self._looked_at()
        except OSError as error:
            raise SourceError(f"the folder cannot be read ({error.strerror})") from None
        if not words:
            return []
        found = database.execute(_SEARCH, (" OR ".join(f'"{word}"' for word in words), limit))
        # What is left of markup is meant as it stands, in code say; a passage may be HTML.
        return [Passage(f"{path}#{row}", escape(title), escape(text), path) for row, title, text, path in found]

    def _looked_at(self) -> sqlite3.Connection:
        """The database as the folder is now."""
        if self._database is None:
            self._database = sqlite3.connect(":memory:", check_same_thread=False)
            self._database.execute(_SCHEMA)
        now = dict(self._files())
        for path in self._known.keys() - now.keys():
            self._database.execute("DELETE FROM passages WHERE path = ?", (_readable(path),))
        for path, state in now.items():
            if self._known.get(path) != state:
                rows = list(_passages(_readable(path), self._read(path)))
                self._database.execute("DELETE FROM passages WHERE path = ?", (_readable(path),))
                words = ((spaced(title), spaced(said), title, said, below) for title, said, below in rows)
                self._database.executemany(_ADD, words)
        self._known = now
        return self._database

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Path below the folder, and when it was changed and its size; of links, pipes and hidden files none."""
        count = 0
        for folder, folders, names in os.walk(self._folder, onerror=self._unreadable):
            folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
            for name in sorted(names):
                path = Path(folder, name)
                if path.suffix.lower() not in _ENDINGS or name.startswith(_HIDDEN):
                    continue
                try:
                    state = path.lstat()
                except FileNotFoundError:  # it is gone since
                    continue
                except OSError:  # of a folder that may be listed and not entered
                    self._leave_out(str(path.relative_to(self._folder)))
                    continue
                if not S_ISREG(state.st_mode):  # reading a pipe would never end
                    continue
                count += 1
                below = str(path.relative_to(self._folder))
                if count > MOST_FILES or state.st_size > LARGEST_FILE:
                    self._leave_out(below)
                else:
                    yield below, (state.st_mtime_ns, state.st_size)

    def _unreadable(self, error: OSError) -> None:
        if error.filename == str(self._folder):
            raise error
        self._leave_out(str(error.filename))

    def _read(self, path: str) -> str:
        try:
            return (self._folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            self._leave_out(path)
            return ""

    def _leave_out(self, path: str) -> None:
        if not self._left_out:
            why = f"it cannot be read, is larger than {LARGEST_FILE} bytes, or there are more than {MOST_FILES}"
            logger.warning("a file is left out, and perhaps others", extra={"file": path, "why": why})
        self._left_out = True


def _readable(path: str) -> str:
    """A path as text, though a system may name a file by bytes that are none."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _passages(path: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Title, text and path of each passage: paragraphs under one heading, together until they are long."""
    for headings, group in groupby(blocks(text, "markdown"), key=lambda block: block.headings):
        title = ", ".join(headings) or Path(path).stem
        together = ""
        for block in group:
            if together and len(together) + len(block.text) > _LONG:
                yield title, together, path
                together = ""
            together = f"{together} {block.text}".strip()
            while len(together) > MAX_TEXT:
                cut = together.rfind(" ", 0, MAX_TEXT) + 1 or MAX_TEXT
                yield title, together[:cut], path
                together = together[cut:]
        if together:
            yield title, together, path


def opened(keys: Mapping[str, Any]) -> MarkdownFolder:
    """A source of this kind. Raises ValueError for a wrong key."""
    return MarkdownFolder(MarkdownKeys.model_validate(keys).folder)
