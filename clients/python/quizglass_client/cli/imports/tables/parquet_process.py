"""Reads a Parquet file, in a process of its own that has a limit of memory: a few bytes may say any number of values.

It is started by its path and imports nothing of ours, which would take longer than the file. It writes a line of JSON
about the file (`columns`, `rows`; or `error`), and then one for each row: its `cells` and how long the pictures are
whose bytes follow it, or why it was `refused`, or an `error` after which nothing follows. A cell is a text, a number, a
truth, null, a list, {"bytes": number} for one of the pictures that follow, or {"unreadable": why}.
"""

from __future__ import annotations

import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

MEMORY = 800 << 20
"""Bytes that the process may have for itself."""
LONGEST_TEXT, LARGEST_PICTURES = 8 << 20, 128 << 20
"""Bytes of a row: of its texts, and of all its pictures."""
_MOST_ROWS, _BATCH = 256, 8 << 20  # rows that are there at a time, and their bytes if all are of the same length
_BUFFER = 1 << 20  # bytes of the file
_LARGEST_COLUMN, _MOST_PACKED = 64 << 20, 200  # a column that is packed closer than this holds nothing but repetition
_UNPACKED, _MANY_VALUES = 256 << 20, 1 << 24  # bytes that any file may unpack to, and values that it may have
_FEW_ROWS, _MOST_ROWS_A_BYTE = 100_000, 8  # so many are no harm, and more than that of each byte are all the same
_MOST_COLUMNS = 16_384
_PICTURES, _ATTRIBUTES = "pictures", "attributes"
_ADVICE = "write the file anew with smaller row groups"

Cell = Callable[[Any], Any]
"""Makes a value as pyarrow gives it one that JSON has, or bytes."""


class _Refused(Exception):
    """The file cannot be imported."""


def _main() -> None:
    import pyarrow.parquet  # noqa: F401  # what it needs itself does not count

    with suppress(ImportError):  # of a system that bounds no processes
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    path, out = sys.argv[1], sys.stdout.buffer
    try:
        file = _opened(path)
        columns = list(_columns(file.schema_arrow, file.metadata))
        told = [{key: value for key, value in column.items() if key != "cell"} for column in columns]
        _write(out, {"columns": told, "rows": file.metadata.num_rows})
        for rows in _rows(file, columns, most=max(_UNPACKED, _MOST_PACKED * Path(path).stat().st_size)):
            _write_rows(out, rows, columns)
        error = "ends before its last row"
    except MemoryError:
        error = f"takes more than {MEMORY >> 20} MiB to be read; {_ADVICE}"
    except _Refused as why:
        error = str(why)
    except BrokenPipeError:
        raise
    except Exception as why:  # pyarrow's errors have no common base
        error = f"cannot be read further: {why}"
    _write(out, {"error": error})


def _opened(path: str) -> Any:
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path, buffer_size=_BUFFER)
    except MemoryError:
        raise
    except Exception as error:  # pyarrow's errors have no common base
        raise _Refused(f"is not a Parquet file: {error}") from error
    _check(file.metadata, Path(path).stat().st_size)
    return file


def _check(metadata: Any, size: int) -> None:
    """Refuse what says of itself that it unpacks to far more than it is. Raises _Refused."""
    if metadata.num_columns > _MOST_COLUMNS:
        raise _Refused(f"has {metadata.num_columns} columns, more than {_MOST_COLUMNS}")
    if metadata.num_rows > max(_FEW_ROWS, _MOST_ROWS_A_BYTE * size):
        raise _Refused(f"has {metadata.num_rows} rows in {size} bytes, which cannot tell them apart")
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    unpacked = values = 0
    for column in (group.column(number) for group in groups for number in range(group.num_columns)):
        unpacked += column.total_uncompressed_size
        values += column.num_values
        large = max(_LARGEST_COLUMN, _MOST_PACKED * column.total_compressed_size)
        if column.total_uncompressed_size > large:
            about = f"{column.total_uncompressed_size} bytes packed into {column.total_compressed_size}"
            raise _Refused(f"has a column {column.path_in_schema!r} of {about}; {_ADVICE}")
    if values > max(_MANY_VALUES, _MOST_PACKED * size) or unpacked > max(_UNPACKED, _MOST_PACKED * size):
        raise _Refused(f"has {values} values of {unpacked} bytes packed into {size}")


def _rows(file: Any, columns: list[dict[str, Any]], most: int) -> Iterator[list[Any]]:
    """The columns that cells are made of, some rows at a time. Raises _Refused at more than so many bytes."""
    names = [column["name"] for column in columns if column["cell"] is not None]
    unpacked = 0
    for batch in file.iter_batches(_rows_at_once(file.metadata), columns=names, use_threads=False):
        rows = [values.dictionary_decode() if _is_packed(values.type) else values for values in batch.columns]
        unpacked += sum(values.nbytes for values in rows)
        if unpacked > most:
            raise _Refused(f"cannot be read further: it unpacks to more than {_MOST_PACKED} times what it is")
        if rows:
            yield rows


def _rows_at_once(metadata: Any) -> int:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    longest = max((about.total_byte_size // max(1, about.num_rows) for about in groups), default=0)
    return max(1, min(_MOST_ROWS, _BATCH // max(1, longest)))


def _columns(schema: Any, metadata: Any) -> Iterator[dict[str, Any]]:
    labels = _labels(schema.metadata or {})
    twice = len(set(schema.names)) < len(schema.names)
    for field in schema:
        kind = _stored(field.type)
        name = field.name.strip().casefold()
        cell = None if twice else _cell(name, kind, labels.get(field.name))
        is_picture = cell is not None and (name == _PICTURES or _is_picture(kind))
        column = {"name": field.name, "is_picture": is_picture, "cell": cell}
        if cell is None:
            column |= {"left_out": f"holds {kind}, which is no text or number", "filled": metadata.num_rows}
        yield column


def _labels(metadata: dict[bytes, bytes]) -> dict[str, list[str]]:
    """Names of the classes that a data set of Hugging Face has numbers for, by column."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"].items()
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {}
    classes = {
        name: about for name, about in features if isinstance(about, dict) and about.get("_type") == "ClassLabel"
    }
    named = {name: about.get("names") for name, about in classes.items()}
    return {name: [str(label) for label in labels] for name, labels in named.items() if isinstance(labels, list)}


def _cell(name: str, kind: Any, labels: list[str] | None) -> Cell | None:
    """How values of a column are made cells; None: it holds what none can be."""
    from pyarrow import types

    if labels is not None and types.is_integer(kind):
        return lambda value: labels[value] if 0 <= value < len(labels) else value
    one = _items(kind)
    if name == _PICTURES or _is_picture(kind):
        picture = _picture_cell(kind if one is None else one)
        return picture if one is None or picture is None else _list_of(picture)
    if name == _ATTRIBUTES and (types.is_struct(kind) or types.is_map(kind)):
        return _pairs_cell
    if one is None:
        return _scalar_cell(kind)
    scalar = None if types.is_floating(one) else _scalar_cell(one)  # which are vectors
    return scalar and _list_of(scalar)


def _list_of(cell: Cell) -> Cell:
    return lambda value: [None if item is None else cell(item) for item in value]


def _scalar_cell(kind: Any) -> Cell | None:
    from pyarrow import types

    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view" or types.is_null(kind):
        return str
    if types.is_boolean(kind) or types.is_integer(kind):
        return lambda value: value
    if types.is_float32(kind):
        return _short("f")
    if types.is_float16(kind):
        return _short("e")
    if types.is_floating(kind):
        return lambda value: None if math.isnan(value) else value
    if types.is_decimal(kind) or types.is_temporal(kind):
        return str
    return None


def _short(form: str) -> Cell:
    """The shortest number that is the same in fewer bits: 0.1, and not 0.10000000149011612."""

    def cell(value: float) -> float | None:
        if math.isnan(value) or math.isinf(value) or value.is_integer():
            return None if math.isnan(value) else value
        written = (float(f"{value:.{digits}g}") for digits in range(1, 9))
        return next((short for short in written if _same(form, short, value)), value)

    return cell


def _same(form: str, one: float, other: float) -> bool:
    try:
        return struct.pack(form, one) == struct.pack(form, other)
    except OverflowError:  # rounded up beyond what there is in so few bits
        return False


def _picture_cell(kind: Any) -> Cell | None:
    from pyarrow import types

    if types.is_struct(kind):
        return lambda value: value["bytes"] if value["bytes"] is not None else value["path"]
    if "binary" in str(kind) or "string" in str(kind):
        return lambda value: value
    return None


def _pairs_cell(value: Any) -> list[list[Any]]:
    items = value.items() if isinstance(value, dict) else value
    return [[str(key), _plain(one)] for key, one in items]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | list | dict):
        return {"unreadable": "must be a text or a number"}
    return value if isinstance(value, str | int | float | None) else str(value)


def _is_picture(kind: Any) -> bool:
    """Whether it is what data sets of Hugging Face hold pictures in, or a list of these."""
    from pyarrow import types

    one = _items(kind) or kind
    return types.is_struct(one) and {one.field(at).name for at in range(one.num_fields)} == {"bytes", "path"}


def _items(kind: Any) -> Any:
    """The type of a list's items; None: it is no list."""
    return _stored(kind.value_type) if re.match(r"(large_|fixed_size_)?list(_view)?<", str(kind)) else None


def _stored(kind: Any) -> Any:
    """The type of a column's values, whatever they are packed in."""
    return kind.value_type if _is_packed(kind) else kind


def _is_packed(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_dictionary(kind))


def _write_rows(out: BinaryIO, rows: list[Any], columns: list[dict[str, Any]]) -> None:
    """Some rows, given as arrays of the columns that there are cells of."""
    sizes = [values.nbytes for values in rows]
    if sum(sizes) > LONGEST_TEXT:  # whatever is long is made cells of a row at a time, if at all
        if len(rows[0]) > 1:
            for row in range(len(rows[0])):
                _write_rows(out, [values.slice(row, 1) for values in rows], columns)
            return
        shown = [column["is_picture"] for column in columns if column["cell"] is not None]
        pictures = sum(size for size, is_picture in zip(sizes, shown, strict=True) if is_picture)
        if sum(sizes) - pictures > LONGEST_TEXT:
            _write(out, {"refused": f"has more than {LONGEST_TEXT} bytes of text"})
            return
        if pictures > LARGEST_PICTURES:
            _write(out, {"refused": f"has more than {LARGEST_PICTURES} bytes of pictures"})
            return
    parts = iter(rows)
    nothing = [None] * len(rows[0])
    cells = [nothing if column["cell"] is None else _cells(next(parts), column["cell"]) for column in columns]
    for of_row in zip(*cells, strict=True):
        _write_row(out, of_row)


def _write_row(out: BinaryIO, cells: Sequence[Any]) -> None:
    pictures: list[bytes] = []

    def packed(cell: Any) -> Any:
        if isinstance(cell, list):
            return [packed(item) for item in cell]
        if not isinstance(cell, bytes):
            return cell
        pictures.append(cell)
        return {"bytes": len(cell)}

    line = json.dumps({"cells": [packed(cell) for cell in cells]}).encode("ascii")
    out.write(b"".join([line, b"\n", *pictures]))


def _cells(values: Any, cell: Cell) -> list[Any]:
    """The cells of a column; of a value that cannot be read, why."""
    try:
        return [None if value is None else cell(value) for value in _moments(values).to_pylist()]
    except MemoryError:
        raise
    except Exception as error:  # pyarrow's errors have no common base
        if len(values) > 1:
            return [cell_ for at in range(len(values)) for cell_ in _cells(values.slice(at, 1), cell)]
        why = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else f"cannot be read: {error}"
        return [{"unreadable": why}]


def _moments(values: Any) -> Any:
    """Times as Python has them: to the microsecond, in UTC where they have a zone."""
    import pyarrow
    from pyarrow import types

    kind = values.type
    if types.is_timestamp(kind) and (kind.unit == "ns" or kind.tz not in (None, "UTC")):
        return values.cast(pyarrow.timestamp("us", "UTC" if kind.tz else None), safe=False)
    if types.is_time64(kind) and kind.unit == "ns":
        return values.cast(pyarrow.time64("us"), safe=False)
    if types.is_duration(kind) and kind.unit == "ns":
        return values.cast(pyarrow.duration("us"), safe=False)
    return values


def _write(out: BinaryIO, said: dict[str, Any]) -> None:
    out.write(json.dumps(said).encode("ascii") + b"\n")
    out.flush()


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever reads has seen enough
        _main()
