"""Files of one JSON object a line: read with the line and field of errors, written whole, or added to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from quizglass_export.errors import ExportError, reason

Row = TypeVar("Row")
Item = TypeVar("Item")


class Record(BaseModel):
    """A line of a file; a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Every line of a file as a record or a dataclass; raises as `placed_rows`."""
    return [row for _, row in placed_rows(path, kind)]


def placed_rows(path: Path, kind: type[Row]) -> list[tuple[str, Row]]:
    """Every line of a file that is not empty, as "FILE:LINE" and a record or a dataclass.

    Raises:
        ExportError: cannot be read, or a line is no JSON or lacks a field; names file, line and field.
    """
    adapter = TypeAdapter(kind)
    try:
        # Models write separators such as U+2028, which stay in a row as they are and end no line of a file.
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ExportError(f"{path}: cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rows.append((f"{path}:{number}", adapter.validate_json(line)))
        except ValidationError as error:
            raise ExportError(f"{path}:{number}: {reason(error)}") from None
    return rows


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """A file to write, which takes the place of `path` when all is written; until then `path` is as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    with scratch.open("w", encoding="utf-8") as file:
        yield file
    scratch.replace(path)


def write_rows(path: Path, rows: Iterable[BaseModel | Mapping[str, Any]]) -> None:
    """Write a file whole, or not at all."""
    with written_whole(path) as file:
        file.writelines(_line(row) for row in rows)


def _line(row: BaseModel | Mapping[str, Any]) -> str:
    value = row.model_dump(mode="json") if isinstance(row, BaseModel) else row
    return json.dumps(value, ensure_ascii=False) + "\n"


Kept = TypeVar("Kept", bound=BaseModel)


def kept_rows(path: Path, kind: type[Kept]) -> dict[str, Kept]:
    """What an earlier sitting finished, by `id`; a last line that a kill cut off is removed."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    if len(content) > (whole := content.rfind(b"\n") + 1):
        os.truncate(path, whole)  # nothing is written anew, which a second kill could leave half done
    return {str(getattr(row, "id")): row for row in read_rows(path, kind)}  # noqa: B009 - records with an id


def each_kept(
    path: Path,
    kind: type[Kept],
    items: Mapping[str, Item],
    make: Callable[[list[Item]], Iterable[Kept]],
    *,
    chunk: int,
    tick: Callable[[int], None] = lambda count: None,
) -> dict[str, Kept]:
    """A record for each item, made a chunk at a time and kept as they come, so that a stopped run goes on.

    Args:
        path: file that keeps them.
        kind: of the records; has an `id`.
        items: by id, in order.
        make: gives the records of some items.
        chunk: items at once.
        tick: called with the number of those that are done.
    """
    done = kept_rows(path, kind)
    waiting = [(name, item) for name, item in items.items() if name not in done]
    tick(len(items) - len(waiting))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for start in range(0, len(waiting), chunk):
            part = waiting[start : start + chunk]
            for record in make([item for _, item in part]):
                done[str(getattr(record, "id"))] = record  # noqa: B009
                file.write(_line(record))
            file.flush()
            tick(len(part))
    return {name: done[name] for name in items if name in done}


def file_hash(path: Path) -> str:
    """SHA-256 of a file, hex."""
    digest = sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def chunks(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Consecutive parts of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
