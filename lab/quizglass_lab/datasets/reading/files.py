"""Reading files from front to back: JSON lines, lists inside one JSON document, CSV, Parquet and Arrow.

Every record comes with its place, "FILE:LINE" or "FILE, row N", for error messages.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from quizglass_lab.datasets.reading.errors import DatasetError

Placed = tuple[str, Any]
"""(place, record): where a record stands, as "FILE:LINE" or "FILE, row N", and its values."""
_ROWS = 16
"""Rows of a table that are in memory at once: they may hold pictures of some MiB."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file for reading, unpacked while it is read when it ends in .gz, or in .zip and holds one file."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_only_member(archive, path)) as file:
                yield file
        else:
            with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
                yield file  # type: ignore[misc]
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError) as error:
        kind = "zip" if path.suffix == ".zip" else "gzip"
        raise DatasetError(f"{path}: not a whole {kind} file: {error}") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror or error}") from error


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [each for each in archive.namelist() if not each.endswith("/") and not each.startswith("__MACOSX/")]
    if len(names) != 1:
        raise DatasetError(f"{path}: holds {len(names)} files; unpack it")
    return names[0]


def json_lines(path: Path) -> Iterator[Placed]:
    """The objects of a file that has one JSON object a line; empty lines are passed over."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                record = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                raise DatasetError(f"{place}: expected one JSON object a line: {error}") from None
            yield place, record


def json_items(path: Path, key: str, *, required: bool = True) -> Iterator[Placed]:
    """The elements of the list under a top-level `key` of one JSON document, or of the document with an empty key.

    Raises:
        DatasetError: the file is no JSON, or, if `required`, has no such list or an empty one.
    """
    import ijson

    number = 0
    with opened(path) as file:
        items = iter(ijson.items(file, f"{key}.item" if key else "item", use_float=True))
        while True:
            try:
                item = next(items)
            except StopIteration:
                break
            except (ijson.JSONError, ValueError, RecursionError, OverflowError) as error:
                message = " ".join(str(error).split())
                raise DatasetError(f"{path}, {key or 'element'} {number + 1}: not valid JSON: {message}") from None
            number += 1
            yield f"{path}, {key or 'element'} {number}", item
    if required and not number:
        raise DatasetError(f"{path}: {key or 'top level'}: expected a list of objects that is not empty")


def json_values(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Place, key and value of each member of the object that a JSON document is, one at a time in memory.

    Raises:
        DatasetError: the file is no JSON object.
    """
    import ijson

    number = 0
    with opened(path) as file:
        items = iter(ijson.kvitems(file, "", use_float=True))
        while True:
            try:
                key, value = next(items)
            except StopIteration:
                return
            except (ijson.JSONError, ValueError, RecursionError, OverflowError) as error:
                message = " ".join(str(error).split())
                raise DatasetError(f"{path}, member {number + 1}: not valid JSON: {message}") from None
            number += 1
            yield f"{path}, member {number}", key, value


def json_head(path: Path, keys: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Which of some top-level `keys` comes first in a JSON document, and the plain values that stand before it."""
    import ijson

    head: dict[str, Any] = {}
    with opened(path) as file:
        try:
            name = ""
            for prefix, event, value in ijson.parse(file, use_float=True):
                if prefix == "" and event == "map_key":
                    name = str(value)
                    if name in keys:
                        return name, head
                elif prefix == name and event in ("string", "number"):
                    head[name] = value
        except (ijson.JSONError, ValueError, RecursionError, OverflowError) as error:
            raise DatasetError(f"{path}: not valid JSON: {' '.join(str(error).split())}") from None
    raise DatasetError(f"{path}: expected an object with the key {' or '.join(keys)}")


def csv_rows(path: Path, columns: tuple[str, ...]) -> Iterator[Placed]:
    """The rows of a CSV file with a header, as texts by column.

    Raises:
        DatasetError: one of `columns` is missing, a row has another number of fields, or the file is no CSV.
    """
    with opened(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        rows = csv.DictReader(text, strict=True)
        try:
            missing = [name for name in columns if name not in (rows.fieldnames or ())]
            if missing:
                raise DatasetError(f"{path}:1: {missing[0]}: expected a column of that name in the header")
            for row in rows:
                place = f"{path}:{rows.line_num}"
                if None in row or None in row.values():
                    expected = len(rows.fieldnames or ())
                    raise DatasetError(f"{place}: expected {expected} fields as in the header")
                yield place, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise DatasetError(f"{path}:{rows.line_num + 1}: not valid CSV: {error}") from None


class TableFile:
    """A Parquet file, or an Arrow file as Hugging Face `datasets` saves it (stream or file format)."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet.

        Raises:
            DatasetError: pyarrow is not installed, which the extra `import` brings.
        """
        try:
            import pyarrow
        except ModuleNotFoundError:
            raise DatasetError(f"{path}: needs pyarrow; in the clone: pip install '.[import]'") from None
        self._path = path
        self._errors = (pyarrow.ArrowException, ValueError, OSError)

    def rows(self) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
        """Place and values of every row, and what `datasets` knows of the columns (`features`, may be empty)."""
        batches = self._batches()
        number = 0
        while True:
            try:
                batch = next(batches)
                batch.validate(full=True)  # what a damaged file points at is not looked up unseen
                features, rows = _features(batch.schema.metadata), batch.to_pylist()
            except StopIteration:
                return
            except self._errors as error:
                message = str(error).partition("\n")[0]
                raise DatasetError(f"{self._path}: not a Parquet or Arrow file, or a damaged one: {message}") from None
            for row in rows:
                number += 1
                yield f"{self._path}, row {number}", row, features

    def _batches(self) -> Iterator[Any]:
        if self._path.suffix == ".parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(self._path) as file:
                yield from file.iter_batches(batch_size=_ROWS)
            return
        import pyarrow

        with pyarrow.memory_map(str(self._path)) as source:
            if source.read_at(6, 0) == b"ARROW1":
                reader = pyarrow.ipc.open_file(source)
                batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
            else:
                batches = iter(pyarrow.ipc.open_stream(source))
            for batch in batches:
                yield from (batch.slice(start, _ROWS) for start in range(0, batch.num_rows, _ROWS))


def _features(metadata: Mapping[bytes, bytes] | None) -> Mapping[str, Any]:
    """The columns as `datasets` describes them in a file's metadata."""
    try:
        features = json.loads((metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}
