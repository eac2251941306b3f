"""Reads CSV and Parquet: a row an entry. Columns named as an entry's fields are those, all others are attributes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from quizglass_client.cli.imports.entries import NUMBERS, TEXTS, BadLine, GoodLine, PictureOutside, picture_within
from quizglass_client.cli.imports.folder import Folder
from quizglass_client.terminal.output import UsageError
from quizglass_client.types import Entry, PictureLike

_PICTURES = "pictures"
_BETWEEN_PATHS = ";"
_LONGEST_CELL = 1 << 24
_LONGEST_LINE = 1 << 25  # characters of a line of CSV, of which a row may have several
_ROWS = 16  # of Parquet that are there at a time: a row may hold a megabyte of pictures, or say so
_MOST_PACKED, _LARGEST_COLUMN = 200, 64 << 20  # a column that is packed closer than this holds nothing but repetition


def read_csv(path: Path, *, anywhere: bool = False) -> Iterator[GoodLine | BadLine]:
    """Rows of a CSV file with a header, numbered by their line; `pictures` are paths with ";" between them.

    Raises:
        UsageError: there is no header with the columns id and title, each column once.
    """
    csv.field_size_limit(_LONGEST_CELL)
    folder = Folder(path.parent, anywhere)
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        rows = csv.DictReader(_row_by_row(file), strict=True)
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
                yield _line(rows.line_num, row, folder)


def read_parquet(path: Path, *, anywhere: bool = False) -> Iterator[GoodLine | BadLine]:
    """Rows of a Parquet file, numbered from 1; `pictures` are paths or encoded bytes, one or a list.

    Raises:
        UsageError: pyarrow is not installed, or the file has no columns id and title, or one twice.
    """
    file, folder = _parquet_file(path), Folder(path.parent, anywhere)
    with file:
        _check_columns(path, file.schema_arrow.names)
        number, batches = 0, file.iter_batches(batch_size=_ROWS)
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
                yield _line(number, row, folder)


def _row_by_row(file: TextIO) -> Iterator[str]:
    """The lines of a CSV file. Raises csv.Error at one that is too long to be kept in memory."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise csv.Error(f"a line has more than {_LONGEST_LINE} characters")
        yield line


def count_rows(path: Path) -> int:
    """Rows of a Parquet file. Raises UsageError as `read_parquet`."""
    with _parquet_file(path) as file:
        return int(file.metadata.num_rows)


def _parquet_file(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError("reading Parquet needs pyarrow; in the clone: pip install '.[import]'") from error
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:  # pyarrow's errors have no common base
        raise UsageError(f"{path} is not a Parquet file: {error}") from error
    for group in range(file.metadata.num_row_groups):
        _check_packing(path, file.metadata.row_group(group))
    return file


def _check_packing(path: Path, group: Any) -> None:
    """Refuse what would fill the memory: columns are unpacked a page at a time, and a page may be all of them."""
    for number in range(group.num_columns):
        column = group.column(number)
        size, packed = column.total_uncompressed_size, max(1, column.total_compressed_size)
        if size > _LARGEST_COLUMN and size > _MOST_PACKED * packed:
            raise UsageError(
                f"{path}: column {column.path_in_schema!r} has {size} bytes packed into {packed}; "
                "write the file anew with smaller row groups"
            )


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    missing = [name for name in ("id", "title") if name not in columns]
    if missing:
        raise UsageError(f"{path} has no column {missing[0]!r}; its columns are {', '.join(map(str, columns))}")
    twice = [name for at, name in enumerate(columns) if name in columns[:at]]
    if twice:
        raise UsageError(f"{path} has the column {twice[0]!r} twice, of which one would be lost; rename it")


def _line(number: int, row: Mapping[str, Any], folder: Folder) -> GoodLine | BadLine:
    try:
        return GoodLine(number, _entry(row, folder))
    except PictureOutside as error:
        return BadLine(number, str(error), error.field)
    except ValueError as error:
        return BadLine(number, str(error))


def _entry(row: Mapping[str, Any], folder: Folder) -> Entry:
    attributes: dict[str, str] = {}
    for name, value in row.items():
        if name not in (*TEXTS, *NUMBERS, _PICTURES, "attributes") and value not in (None, ""):
            attributes[name] = _word(name, value)
    for name, value in _pairs(row.get("attributes")):
        attributes[name] = _word(name, value)
    fields: dict[str, Any] = {name: _word(name, row.get(name)) for name in TEXTS}
    fields |= {name: _seconds(name, row.get(name)) for name in NUMBERS}
    return Entry(**fields, attributes=attributes, pictures=tuple(_pictures(row.get(_PICTURES), folder)))


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Keys and values of a Parquet map or struct; CSV has neither."""
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


def _pictures(value: Any, folder: Folder) -> Iterator[PictureLike]:
    if value is None:
        return
    several = value.split(_BETWEEN_PATHS) if isinstance(value, str) else value if isinstance(value, list) else [value]
    named = (one for one in several if not isinstance(one, str) or one.strip())
    for number, one in enumerate(named):
        if isinstance(one, bytes):
            yield one
        elif isinstance(one, str):
            yield picture_within(folder, number, one.strip())
        else:
            raise ValueError("pictures: must be paths or encoded bytes")
