"""Reads entries.jsonl: one knowledge entry a line, its pictures named by paths relative to the file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizglass_client.cli.imports.folder import Folder, Outside
from quizglass_client.cli.imports.folder_tree import folder_tree
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.files import lines
from quizglass_client.terminal.usage import UsageError
from quizglass_client.types import Entry

FILE_NAME = "entries.jsonl"
TEXTS = ("id", "title", "caption", "kind", "text", "source", "language", "text_format")
NUMBERS = ("time", "expires_after")
"""Numeric fields of an entry, by the names that files of entries have for them."""
MOST_PICTURES = 16
"""Most pictures that one entry takes."""
_LONGEST_LINE = 8 << 20  # bytes; an entry at all its limits has half of that
_LONGEST_KEY = 60  # characters of a key in a message
_KEYS = frozenset((*TEXTS, *NUMBERS, "attributes", "pictures"))
_LINES = (".jsonl", ".ndjson")
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
_NOT_UTF_8 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_KNOWN = f"entries.jsonl, CSV, Parquet, a MediaWiki dump, or a folder with {FILE_NAME} or with texts and pictures"


class PictureOutside(ValueError):
    """A picture lies out of the folder; `field` is its place in the entry."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that holds no entry, and why."""

    line: int
    message: str
    field: str = ""
    id: str = ""
    """Of the entry that is missing, where that is known."""


@dataclass(frozen=True, slots=True)
class GoodLine:
    """A line, or the number of a row, page or file, and its entry."""

    line: int
    entry: Entry
    name: str = ""
    """Of the file that it was made of, where that is not the one which is imported."""
    pictures: tuple[str, ...] = ()
    """Paths of the entry's pictures, in its order and from the imported folder, where `name` is given."""


def entries_file(path: Path) -> Path:
    """The file to import, given itself or its folder.

    Raises:
        UsageError: there is none, or it is another kind of file.
    """
    if path.is_file():
        _check_kind(path)
        return path
    inside = path / FILE_NAME
    if inside.is_file():
        _check_kind(inside)
        return inside
    missing = f"{path} has no text, no picture and no {FILE_NAME} in it" if path.is_dir() else f"{path} does not exist"
    raise UsageError(f"{missing}; give {_KNOWN}")


def _check_kind(path: Path) -> None:
    """Refuse at once what would be refused line by line. Raises UsageError."""
    with path.open("rb") as file:
        start = file.read(1 << 10)
    if start.startswith(_NOT_UTF_8):
        raise UsageError(f"{path} is UTF-16; save it as UTF-8")
    begins = start.removeprefix(codecs.BOM_UTF8).lstrip()
    if begins.startswith(b"["):
        raise UsageError(f"{path} is one JSON array; write an object a line: jq -c '.[]' {path.name} > {FILE_NAME}")
    if path.suffix.lower() in _WORKBOOKS:
        raise UsageError(f"{path} is a workbook; save its sheet as CSV in UTF-8")
    if path.suffix.lower() not in _LINES and not begins.startswith(b"{"):
        raise UsageError(f"{path} is no kind of file that can be imported; give {_KNOWN}")


def count_lines(path: Path) -> int:
    """Number of lines that are not blank."""
    with path.open("rb") as file:
        return sum(1 for line in lines(file, _LONGEST_LINE) if line is None or line.strip())


def read_entries(path: Path, *, anywhere: bool = False) -> Iterator[GoodLine | BadLine]:
    """Each line that is not blank, in order; lines are numbered from 1.

    Pictures lie in the folder of the file, or `anywhere`.
    """
    folder = Folder(path.parent, anywhere)
    with path.open("rb") as file:
        for number, line in enumerate(lines(file, _LONGEST_LINE), 1):
            if line is None:
                yield BadLine(number, f"has more than {_LONGEST_LINE} bytes")
                continue
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not line.strip():
                continue
            try:
                yield GoodLine(number, _entry(json.loads(line, object_pairs_hook=_object), folder))
            except PictureOutside as error:
                yield BadLine(number, str(error), error.field)
            except (ValueError, RecursionError) as error:
                yield BadLine(number, _why(error))


def read_folder_of_entries(
    folder: Path, report: ImportReport, *, anywhere: bool = False
) -> Iterator[GoodLine | BadLine]:
    """The lines of the folder's entries.jsonl; `report` gets how many texts and pictures beside it no line names."""
    tree = folder_tree(folder, ImportReport())
    beside = {path.resolve() for path in (*tree.documents, *tree.pictures)}
    for line in read_entries(folder / FILE_NAME, anywhere=anywhere):
        if isinstance(line, GoodLine):
            beside.difference_update(picture for picture in line.entry.pictures if isinstance(picture, Path))
        yield line
    if beside:
        first = min(beside).name
        report.noted(FILE_NAME, f"alone is imported; texts and pictures beside it: {len(beside)}, such as {first}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError where one of two values would be lost."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"has the key {name[:_LONGEST_KEY]!r} twice")
        made[name] = value
    return made


def _why(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"is not JSON: {error.msg} at character {error.colno}"
        case UnicodeDecodeError():
            return "is not UTF-8"
        case RecursionError():
            return "is nested too deeply"
        case _:
            return str(error)


def picture_within(folder: Folder, number: int, name: str) -> Path:
    """File of a picture that an entry names as one of several, also as Windows does.

    Raises:
        PictureOutside: it leads out of the folder.
        ValueError: it is one more than an entry takes.
    """
    if number >= MOST_PICTURES:
        raise ValueError(f"pictures: there are more than the {MOST_PICTURES} that an entry takes")
    try:
        path = folder.file(name)
        return folder.file(name.replace("\\", "/")) if "\\" in name and not path.exists() else path
    except Outside as error:
        raise PictureOutside(f"pictures[{number}]", str(error)) from error


def _entry(record: object, folder: Folder) -> Entry:
    if not isinstance(record, dict):
        raise ValueError("is not a JSON object")  # as all that is wrong with a line
    unknown = sorted(set(record) - _KEYS)
    if unknown:
        raise ValueError(f"has the unknown key {unknown[0][:_LONGEST_KEY]!r}; the keys are {', '.join(sorted(_KEYS))}")
    record = {key: value for key, value in record.items() if value is not None}  # pandas writes what is missing so
    attributes, pictures = record.get("attributes", {}), record.get("pictures", [])
    if not isinstance(attributes, dict) or not all(isinstance(value, str) for value in attributes.values()):
        raise ValueError("attributes: must be an object of strings")
    if not isinstance(pictures, list) or not all(isinstance(name, str) for name in pictures):
        raise ValueError("pictures: must be a list of paths")
    fields: dict[str, Any] = {key: _string(record, key) for key in TEXTS}
    fields |= {key: _number(record, key) for key in NUMBERS}
    files = tuple(picture_within(folder, number, name) for number, name in enumerate(pictures))
    return Entry(**fields, attributes=attributes, pictures=files)


def _string(record: dict[str, object], key: str) -> str:
    value = record.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key}: must be a string")
    return value


def _number(record: dict[str, object], key: str) -> int:
    value = record.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError(f"{key}: must be a whole number of seconds, 0 or more")
    return value
