"""Reads CSV and Parquet: a row an entry. Columns named as an entry's fields are those, all others are attributes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quizglass_client.cli.entries import BadLine, GoodLine
from quizglass_client.cli.output import UsageError
from quizglass_client.types import Entry, PictureLike

_TEXTS = ("id", "title", "caption", "kind", "text", "source", "language", "text_format")
_NUMBERS = ("time", "expires_after")
_PICTURES = "pictures"
_BETWEEN_PATHS = ";"
_LONGEST_CELL = 1 << 24


def read_csv(path: Path) -> Iterator[GoodLine | BadLine]:
    """Rows of a CSV file with a header, numbered by their line; `pictures` are paths with ";" between them.

    Raises:
        UsageError: there is no header with the columns id and title, each column once.
    """
    csv.field_size_limit(_LONGEST_CELL)
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        rows = csv.DictReader(file, strict=True)
        try:
            columns = rows.fieldnames or ()
        except csv.Error as error:
            raise UsageError(f"{path} has no header: it is not CSV ({error})") from error
        _check_columns(path, columns)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield BadLine(rows.line_num, f"is not CSV, so that nothing after it can be read: {error}")
                return
            if None in row or None in row.values():
                yield BadLine(rows.line_num, "has more or fewer cells than the header")
            else:
                yield _line(rows.line_num, row, path.parent)


def read_parquet(path: Path) -> Iterator[GoodLine | BadLine]:
    """Rows of a Parquet file, numbered from 1; `pictures` are paths or encoded bytes, one or a list.

    Raises:
        UsageError: pyarrow is not installed, or the file has no columns id and title, or one twice.
    """
    file = _parquet_file(path)
    with file:
        _check_columns(path, file.schema_arrow.names)
        number, batches = 0, file.iter_batches(batch_size=256)
        while True:
            try:
                batch = next(batches, None)
                rows = [] if batch is None else batch.to_pylist()
            except Exception as error:  # pyarrow's errors have no common base
                yield BadLine(number + 1, f"the file cannot be read further: {error}")
                return
            if batch is None:
                return
            for row in rows:
                number += 1
                yield _line(number, row, path.parent)


def count_rows(path: Path) -> int:
    """Rows of a Parquet file. Raises UsageError as `read_parquet`."""
    with _parquet_file(path) as file:
        return int(file.metadata.num_rows)


def _parquet_file(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError("reading Parquet needs pyarrow; install quizglass with the extra import") from error
    try:
        return parquet.ParquetFile(path)
    except Exception as error:  # pyarrow's errors have no common base
        raise UsageError(f"{path} is not a Parquet file: {error}") from error


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    missing = [name for name in ("id", "title") if name not in columns]
    if missing:
        raise UsageError(f"{path} has no column {missing[0]!r}; its columns are {', '.join(map(str, columns))}")
    twice = [name for at, name in enumerate(columns) if name in columns[:at]]
    if twice:
        raise UsageError(f"{path} has the column {twice[0]!r} twice, of which one would be lost; rename it")


def _line(number: int, row: Mapping[str, Any], folder: Path) -> GoodLine | BadLine:
    try:
        return GoodLine(number, _entry(row, folder))
    except ValueError as error:
        return BadLine(number, str(error))


def _entry(row: Mapping[str, Any], folder: Path) -> Entry:
    attributes: dict[str, str] = {}
    for name, value in row.items():
        if name not in (*_TEXTS, *_NUMBERS, _PICTURES, "attributes") and value not in (None, ""):
            attributes[name] = _word(name, value)
    for name, value in _pairs(row.get("attributes")):
        attributes[name] = _word(name, value)
    fields: dict[str, Any] = {name: _word(name, row.get(name)) for name in _TEXTS}
    fields |= {name: _seconds(name, row.get(name)) for name in _NUMBERS}
    return Entry(**fields, attributes=attributes, pictures=tuple(_pictures(row.get(_PICTURES), folder)))


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Of a Parquet map or struct; CSV has none."""
    if value in (None, ""):
        return
    items = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(isinstance(item, tuple) and len(item) == 2 for item in items):
        raise ValueError("attributes: must be a map of texts")
    yield from ((str(name), one) for name, one in items if one not in (None, ""))


def _word(name: str, value: Any) -> str:
    if isinstance(value, bytes | list | dict):
        raise ValueError(f"{name}: must be a text or a number")
    text = "" if value is None else str(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: is not UTF-8") from error
    return text


def _seconds(name: str, value: Any) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: must be a whole number of seconds") from error


def _pictures(value: Any, folder: Path) -> Iterator[PictureLike]:
    if value is None:
        return
    several = value.split(_BETWEEN_PATHS) if isinstance(value, str) else value if isinstance(value, list) else [value]
    for one in several:
        if isinstance(one, bytes):
            yield one
        elif isinstance(one, str):
            if one.strip():
                yield folder / one.strip()
        else:
            raise ValueError("pictures: must be paths or encoded bytes")
