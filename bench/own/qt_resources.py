"""Files out of Qt's binary resources (`.rcc`), as far as photographs need it: what is stored without compression.

The format is Qt's own: a header with three offsets, then a tree of nodes whose names and contents lie apart; all
numbers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

_MAGIC, _FOLDER, _PACKED = b"qres", 2, 1 | 4
_NODE = {1: 14, 2: 22, 3: 22}
"""Bytes of a node, by the format's version."""
_MOST, _DEEPEST = 100_000, 32


class NoResources(ValueError):
    """A file is no such resource file, or is damaged."""


def resource(path: Path, ending: str) -> bytes:
    """The content of the one file whose path ends so.

    Raises:
        NoResources: there is none or several, it is compressed, or the file is damaged; names the file.
    """
    data = path.read_bytes()
    try:
        found = [(name, start, flags) for name, start, flags in _files(data, path) if name.endswith(f"/{ending}")]
        if len(found) != 1:
            raise NoResources(f"{path}: {len(found)} files end with /{ending}; one was expected")
        name, start, flags = found[0]
        if flags & _PACKED:
            raise NoResources(f"{path}: {name} is compressed")
        (size,) = struct.unpack_from(">I", data, start)
    except struct.error as error:
        raise NoResources(f"{path}: it ends too early") from error
    return data[start + 4 : start + 4 + size]


def _files(data: bytes, file: Path) -> Iterator[tuple[str, int, int]]:
    """Path, place of the content, and flags of each file."""
    magic, version, tree, contents, names = struct.unpack_from(">4sIIII", data)
    if magic != _MAGIC or version not in _NODE:
        raise NoResources(f"{file}: no Qt resources of a known version")
    waiting, seen = [(0, "", 0)], 0
    while waiting:
        node, above, depth = waiting.pop()
        seen += 1
        if seen > _MOST or depth > _DEEPEST:
            raise NoResources(f"{file}: more files or folders than can be")
        at = tree + node * _NODE[version]
        name_at, flags = struct.unpack_from(">IH", data, at)
        path = f"{above}/{_name(data, names + name_at)}" if node else ""
        if flags & _FOLDER:
            count, first = struct.unpack_from(">II", data, at + 6)
            waiting += [(first + number, path, depth + 1) for number in range(min(count, _MOST))]
        else:
            (offset,) = struct.unpack_from(">I", data, at + 10)
            yield path, contents + offset, flags


def _name(data: bytes, at: int) -> str:
    (length,) = struct.unpack_from(">H", data, at)
    return data[at + 6 : at + 6 + 2 * length].decode("utf-16-be", "replace")
