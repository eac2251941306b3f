"""Overwrites what SQLite leaves in the unused middle of its pages.

With `secure_delete` SQLite overwrites a row where it stands, and the pages that it frees. But when rows move between
pages, their bytes stay behind in the middle of the page that they left, until something else is written there: a row
that is deleted later is then overwritten in its new place alone. Layout: sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

_HEADER = 100  # bytes of the file's header, in front of the first page's own
_ENTRY = 5  # bytes of the pointer map for each page: what it is, and its parent
_OF_TREES = (1, 5)  # in the pointer map: a tree's root, and any other page of one
_INNER, _LEAVES = (2, 5), (10, 13)  # in a page's first byte, of indexes and of tables
_PENDING = 1 << 30  # byte of the file whose page is never used


def overwrite_slack(file: int) -> int:
    """Zero the unused middle of all pages of trees; how many pages had something there.

    Nothing that SQLite reads is changed, so that others may read meanwhile. No one may write, the write-ahead log has
    to be empty, and pages that a connection has in memory still have what was there.

    Args:
        file: descriptor of a database with `auto_vacuum`, whose pointer map says which pages are of trees.

    Raises:
        OSError: it cannot be read or written.
    """
    header = os.pread(file, _HEADER, 0)
    size = int.from_bytes(header[16:18], "big")
    size = 65_536 if size == 1 else size
    if len(header) < _HEADER or size < 512 or not int.from_bytes(header[52:56], "big"):
        return 0
    usable = size - header[20]
    changed = 0
    for number in _pages_of_trees(file, size, usable):
        at = (number - 1) * size
        page = os.pread(file, size, at)
        begin, end = _unused(page, _HEADER if number == 1 else 0, usable)
        if any(page[begin:end]):
            os.pwrite(file, bytes(end - begin), at + begin)
            changed += 1
    os.fsync(file)
    return changed


def _pages_of_trees(file: int, size: int, usable: int) -> Iterator[int]:
    """Numbers of the pages that hold rows; those of large values, of the pointer map and free ones have other forms."""
    count, covered = os.fstat(file).st_size // size, usable // _ENTRY
    yield 1
    for begin in range(2, count + 1, covered + 1):
        at = begin + (begin == _PENDING // size + 1)
        entries = os.pread(file, covered * _ENTRY, (at - 1) * size)
        kinds = entries[::_ENTRY][: min(count, begin + covered) - at]
        yield from (at + 1 + index for index, kind in enumerate(kinds) if kind in _OF_TREES)


def _unused(page: bytes, header: int, usable: int) -> tuple[int, int]:
    """Where the middle of a page begins and ends, between the places of its rows and the rows."""
    kind = page[header] if len(page) > header else 0
    if kind not in (*_INNER, *_LEAVES):
        return 0, 0
    rows = int.from_bytes(page[header + 3 : header + 5], "big")
    begin = header + (12 if kind in _INNER else 8) + 2 * rows
    end = int.from_bytes(page[header + 5 : header + 7], "big") or 65_536
    return (begin, end) if begin <= end <= usable else (0, 0)
