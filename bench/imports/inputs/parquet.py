"""Parquet as pandas and Arrow write it: read back by pyarrow."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
from pyarrow import parquet

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, seen_in

_COMPRESSION = ("snappy", "zstd", "gzip", "none", "lz4", "brotli")


def draw(random: Random, folder: Path) -> Drawn:
    """A table of entries."""
    path = folder / "table.parquet"
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (2, 5, 4, 1))[0]
    if state == HOSTILE:
        _hostile(random, path)
        return Drawn(path, state)
    table = _table(random, Words(random), odd=state != PLAIN)
    groups = random.choice((1, 3, 1000))
    parquet.write_table(table, path, compression=random.choice(_COMPRESSION), row_group_size=groups)
    if state == DAMAGED:
        path.write_bytes(damaged(random, path.read_bytes()))
    return Drawn(path, state, tuple(seen(path)), what=str(table.schema.remove_metadata()))


def seen(path: Path) -> list[Seen]:
    """The words of each row; none of a file that pyarrow does not read as a whole."""
    try:
        table = parquet.read_table(path)
        rows = table.to_pylist()
    except Exception:  # pyarrow's errors have no common base
        return []
    found: list[Seen] = []
    for number, row in enumerate(rows, 1):
        for at, (name, value) in enumerate(row.items(), 1):
            found += seen_in(repr(value), [f"column {name!r}", f"column {at}"], number)
    return found


def _table(random: Random, words: Words, *, odd: bool) -> pyarrow.Table:
    count = random.randrange(9)
    columns: dict[str, Any] = {
        "id": [f"e{number}" for number in range(count)],
        "title": [words() for _ in range(count)],
        "text": [words.sentence() for _ in range(count)],
        "price": [words() for _ in range(count)],
    }
    for name, make in random.sample(sorted(_COLUMNS.items()), random.randrange(6)) if odd else ():
        columns[name] = pyarrow.array([make(random, words) if random.random() < 0.9 else None for _ in range(count)])
    if odd and random.random() < 0.2:
        columns["id"] = list(range(count))
    if odd and random.random() < 0.3:
        columns["kind"] = pyarrow.array([words() for _ in range(count)], pyarrow.string()).dictionary_encode()
    if odd and random.random() < 0.3:
        columns["__index_level_0__"] = [number if number % 3 else number + 1 for number in range(count)]
    return pyarrow.table(columns)


def _day(random: Random, words: Words) -> datetime.date:
    return datetime.date(2024, 5, 1)


_COLUMNS: dict[str, Callable[[Random, Words], Any]] = {
    "caption": lambda random, words: words(),
    "tags": lambda random, words: [words(), words()],
    "made": _day,
    "seen at": lambda random, words: datetime.datetime(2024, 5, 1, 12),
    "time": lambda random, words: random.choice((datetime.datetime(2024, 5, 1, 12), datetime.datetime(1950, 1, 1))),
    "weight": lambda random, words: random.random(),
    "doors": lambda random, words: random.randrange(9),
    "true": lambda random, words: random.random() < 0.5,
    "cost": lambda random, words: Decimal("1.25"),
    "author": lambda random, words: {"name": words(), "born": 1901},
    "raw": lambda random, words: words().encode(),
    "nested": lambda random, words: [[words()], [words()]],
    "attributes": lambda random, words: {"colour": words()},
    "took": lambda random, words: datetime.timedelta(seconds=random.randrange(100)),
    "at": lambda random, words: datetime.time(12, 30),
    "large": lambda random, words: random.randrange(1 << 62),
}


def _hostile(random: Random, path: Path) -> None:
    match random.randrange(4):
        case 0:  # a little that unpacks to much
            table = pyarrow.table({"id": ["a"], "title": ["t"], "text": ["x" * (200 << 20)]})
            parquet.write_table(table, path, compression="zstd", use_dictionary=False)
        case 1:  # one long value for very many rows
            values = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 200_000), ["x" * 100_000])
            ids = pyarrow.array([f"e{number}" for number in range(200_000)])
            parquet.write_table(pyarrow.table({"id": ids, "title": ids, "note": values}), path)
        case 2:  # very many columns
            parquet.write_table(
                pyarrow.table({"id": ["a"], "title": ["t"]} | {f"c{n}": ["v"] for n in range(4_000)}), path
            )
        case _:
            path.write_bytes(b"PAR1" + random.randbytes(100_000) + (99_000).to_bytes(4, "little") + b"PAR1")
