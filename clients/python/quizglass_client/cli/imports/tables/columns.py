"""What the columns of a table are: fields of an entry, its pictures, attributes, or nothing that an entry takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizglass_client.cli.imports.entries import NUMBERS, TEXTS
from quizglass_client.cli.imports.folder import Folder
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables import cells as cell_values
from quizglass_client.terminal.usage import UsageError
from quizglass_client.types import Entry, PictureLike

_PICTURES, _ATTRIBUTES = "pictures", "attributes"
_FIELDS = frozenset((*TEXTS, *NUMBERS, _PICTURES, _ATTRIBUTES))
_INDEX = re.compile(r"__index_level_\d+__")  # how pandas and those who read its files name an index without a name
_NAMELESS = re.compile(r"(unnamed: \d+(\.\d+)*(_level_\d+)?)?", re.IGNORECASE)  # the name pandas gives to none
_WHOLE = re.compile(r"\d{1,18}")
_BETWEEN_WORDS = re.compile(r"[\s_-]+")
_LONGEST_NAME = 60  # characters of an attribute's name
_MOST_SHOWN = 60  # characters of a cell, and columns, in a message

MOST_COLUMNS = 16_384
"""Columns of one table: as many as a sheet of Excel has."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as its file describes it."""

    name: str
    is_picture: bool = False
    """Whether its type says that it holds pictures."""
    left_out: str = ""
    """Why no entry takes it; empty: entries do."""
    filled: int = 0
    """Of a column that is left out, how many cells say something; rows have None for them."""


def is_header(names: Sequence[str]) -> bool:
    """Whether the columns that every table must have are among these."""
    return {"id", "title"} <= {_field(name) for name in names}


class Columns:
    """Makes entries of rows, and counts what their cells held that no entry takes."""

    def __init__(self, path: Path, columns: Sequence[Column], report: ImportReport) -> None:
        """Decide what each column is.

        Raises:
            UsageError: there is no column id or title, two have one name, or there are too many.
        """
        names = [" ".join(column.name.split()) for column in columns]
        _check(path, names)
        self._report = report
        self._fields: dict[str, int] = {}
        self._attributes: list[tuple[int, str]] = []
        self._pictures: list[tuple[int, str]] = []
        self._passed: list[_PassedOver] = []
        for number, (column, name) in enumerate(zip(columns, names, strict=True)):
            field = _field(name)
            if field == _PICTURES or column.is_picture:
                self._pictures.append((number, name))
            elif _INDEX.fullmatch(name) or _NAMELESS.fullmatch(name):
                self._passed.append(_PassedOver(number, name))
            elif len(name) > _LONGEST_NAME and field not in _FIELDS:
                self._passed.append(_PassedOver(number, name, f"has a name of more than {_LONGEST_NAME} characters"))
            elif column.left_out:
                self._passed.append(_PassedOver(number, name, column.left_out, column.filled))
            elif field in _FIELDS:
                self._fields[field] = number
            else:
                self._attributes.append((number, name))

    def entry(self, cells: Sequence[Any], folder: Folder) -> Entry:
        """The entry of a row, which has a cell for each column.

        Raises:
            PictureOutside: one of its pictures lies out of the folder.
            ValueError: a cell does not hold what its column is for.
        """
        for passed in self._passed:
            passed.count(cells[passed.number])
        fields: dict[str, Any] = {name: cell_values.text(name, self._cell(cells, name)) for name in TEXTS}
        fields["id"] = fields["id"].strip()
        fields["time"] = cell_values.moment("time", self._cell(cells, "time"))
        fields["expires_after"] = cell_values.seconds("expires_after", self._cell(cells, "expires_after"))
        return Entry(**fields, attributes=self._facts(cells), pictures=tuple(self._shown(cells, folder)))

    def say_what_was_passed_over(self) -> None:
        """Note what the columns that are in no entry held, once all rows are read."""
        for passed in self._passed:
            passed.say(self._report)

    def _cell(self, cells: Sequence[Any], field: str) -> Any:
        number = self._fields.get(field)
        return None if number is None else cells[number]

    def _facts(self, cells: Sequence[Any]) -> dict[str, str]:
        facts = {name: cell_values.text(name, cells[number]) for number, name in self._attributes}
        facts = {name: value for name, value in facts.items() if value}
        for name, value in cell_values.pairs(self._cell(cells, _ATTRIBUTES)):
            if name in facts:
                raise ValueError(f"attributes: {name!r} is there twice; rename one, or its column")
            if not cell_values.is_empty(value):
                facts[name] = cell_values.text(name, value)
        return facts

    def _shown(self, cells: Sequence[Any], folder: Folder) -> list[PictureLike]:
        pictures: list[PictureLike] = []
        for number, name in self._pictures:
            pictures.extend(cell_values.pictures(name, cells[number], folder, len(pictures)))
        return pictures


class _PassedOver:
    """A column of which entries take nothing."""

    def __init__(self, number: int, name: str, why: str = "", filled: int = 0) -> None:
        self.number = number
        self._name, self._why, self._filled = name, why, filled
        self._counts = True  # its cells are whole numbers, as those of an index are
        self._first = ""

    def count(self, cell: Any) -> None:
        """See what a row has there."""
        if cell_values.is_empty(cell):
            return
        if not self._filled:
            self._first = str(cell)[:_MOST_SHOWN]
        self._filled += 1
        self._counts = self._counts and _WHOLE.fullmatch(str(cell)) is not None

    def say(self, report: ImportReport) -> None:
        """Note what was there."""
        name = f"column {self._name[:_MOST_SHOWN]!r}" if self._name else f"column {self.number + 1}"
        if not self._filled:
            report.leave_out("empty columns")
        elif self._why:
            report.passed_over(name, f"{self._why}; cells that were passed over: {self._filled}")
        elif self._counts and (self.number == 0 or _INDEX.fullmatch(self._name)):
            report.noted(name, "is an index that counts rows, and is no attribute")
        else:
            held = f"cells that were passed over: {self._filled}, the first is {self._first!r}"
            report.passed_over(name, f"has no name of its own; {held}; name the column to keep it")


def _field(name: str) -> str:
    """A column's name as fields are written: "Text Format" is text_format."""
    return _BETWEEN_WORDS.sub("_", name.strip()).casefold()


def _check(path: Path, names: Sequence[str]) -> None:
    if len(names) > MOST_COLUMNS:
        raise UsageError(f"{path} has {len(names)} columns, more than {MOST_COLUMNS}")
    fields = [_field(name) for name in names]
    missing = [name for name in ("id", "title") if name not in fields]
    if missing:
        known = ", ".join(name[:_MOST_SHOWN] for name in names[:_MOST_SHOWN] if name)
        raise UsageError(f"{path} has no column {missing[0]!r}; its columns are {known or 'without names'}")
    first: dict[str, str] = {}
    for name, field in zip(names, fields, strict=True):
        if _NAMELESS.fullmatch(name):
            continue
        other = first.setdefault(field if field in _FIELDS else f"attribute {name}", name)
        if other is name:
            continue
        if other == name:
            raise UsageError(
                f"{path} has the column {name[:_MOST_SHOWN]!r} twice, of which one would be lost; rename it"
            )
        raise UsageError(f"{path} has the columns {other!r} and {name!r}, both for {field}; rename one of them")
