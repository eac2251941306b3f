"""Reads tables of text: CSV and TSV as Excel, pandas, Polars, R and others write them.

The delimiter is the one with which the first row names the columns id and title, or what a first line "sep=;" says.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from quizglass_client.cli.imports.encodings import NoText, encoding_of
from quizglass_client.cli.imports.entries import BadLine, GoodLine, PictureOutside
from quizglass_client.cli.imports.folder import Folder
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables.columns import Column, Columns, is_header
from quizglass_client.terminal.usage import UsageError

TABLES = (".csv", ".tsv", ".tab")
"""Endings of tables of text."""
_DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR = re.compile(r'"?sep=(?P<delimiter>[^"\r\n])"?\s*', re.IGNORECASE)  # Excel writes and obeys it
_LONGEST_CELL = 1 << 24
_MOST_DELIMITERS = 200_000  # of a row: those of all its columns, and as many in its texts
_LONGEST_ROW = 1 << 25  # characters of a row of CSV, which may have several lines


def read_csv(path: Path, report: ImportReport, *, anywhere: bool = False) -> Iterator[GoodLine | BadLine]:
    """Rows of a table with a header, numbered by their first line; `pictures` are paths with ";" between them.

    Raises:
        UsageError: there is no header with the columns id and title, each column once.
    """
    csv.field_size_limit(_LONGEST_CELL)
    folder = Folder(path.parent, anywhere)
    encoding, errors = _encoding(path, report)
    with path.open(newline="", encoding=encoding, errors=errors) as file:
        rows = _Rows(file, *_begin(file))
        header = _header(path, rows)
        columns = Columns(path, [Column(name) for name in header], report)
        found = False
        for number, cells in rows:
            if isinstance(cells, BadLine):
                yield cells
            elif not any(cells):
                report.leave_out("blank rows")
                continue
            elif len(cells) < len(header) or any(cells[len(header) :]):
                yield BadLine(number, "has more or fewer cells than the header")
            else:
                yield _line(number, cells, columns, folder, report)
            found = True
        if not found:
            report.noted(path.name, "has a header and no rows")
        columns.say_what_was_passed_over()


def _encoding(path: Path, report: ImportReport) -> tuple[str, str]:
    """As for `open`. Of a file that is UTF-8 but for some bytes, the cells that have these can be told from others."""
    with path.open("rb") as file:
        try:
            encoding = encoding_of(file)
        except NoText as error:
            raise UsageError(f"{path} {error}") from error
    if encoding.errors != "strict" and encoding.name.startswith("utf-8"):
        return encoding.name, "surrogateescape"
    if encoding.guess:
        report.guessed(path.name, encoding.guess)
    return encoding.name, encoding.errors


def _line(number: int, cells: list[str], columns: Columns, folder: Folder, report: ImportReport) -> GoodLine | BadLine:
    whole: list[Any] = [cell.replace("\0", "") for cell in cells]
    if whole != cells:
        report.cut(f"line {number}", "has NUL characters, which were left out")
    try:
        return GoodLine(number, columns.entry(whole, folder))
    except PictureOutside as error:
        return BadLine(number, str(error), error.field)
    except ValueError as error:
        return BadLine(number, str(error))


def _header(path: Path, rows: _Rows) -> list[str]:
    _, header = next(rows, (0, []))
    if isinstance(header, BadLine):
        raise UsageError(f"{path} has no header: {header.message}")
    if not any(header):
        raise UsageError(f"{path} has no header: its first line names no columns")
    if any("\0" in name for name in header):
        raise UsageError(f"{path} has NUL characters in its header; save it as CSV in UTF-8")
    return header


def _begin(file: TextIO) -> tuple[int, str, bool]:
    """How many lines come before the header, the delimiter, and whether a space follows it; the file stands there."""
    said = _SEPARATOR.fullmatch(file.readline(_LONGEST_ROW))
    before = 1 if said is not None else 0
    start = 0 if said is None else file.tell()
    delimiters = _DELIMITERS if said is None else (said["delimiter"],)
    for delimiter in (*delimiters, delimiters[0]):
        file.seek(start)
        header = next(_Rows(file, before, delimiter, False), (0, []))[1]
        if not isinstance(header, BadLine) and is_header(header):
            break
    spaced = not isinstance(header, BadLine) and len(header) > 1 and all(name.startswith(" ") for name in header[1:])
    file.seek(start)
    return before, delimiter, spaced


class _Rows:
    """The rows of a table of text with their first lines; a `BadLine` for what is no row. No row fills the memory."""

    def __init__(self, file: TextIO, before: int, delimiter: str, spaced: bool) -> None:
        """Go on in a file of which so many lines were read; `spaced` is whether a space follows each delimiter."""
        self._file, self._delimiter, self._spaced = file, delimiter, spaced
        self._line = before
        self._characters = self._cells = 0
        self._ended = False
        self._rows = self._reader()

    def __iter__(self) -> Iterator[tuple[int, list[str] | BadLine]]:
        return self

    def __next__(self) -> tuple[int, list[str] | BadLine]:
        first = self._line + 1
        self._characters = self._cells = 0
        try:
            return first, next(self._rows)
        except csv.Error as error:
            self._rows = self._reader()  # the one before takes the next line for more of the same row
            return first, BadLine(first, self._why(first, error))
        except UnicodeDecodeError as error:
            self._file.seek(0, 2)
            return first, BadLine(self._line + 1, f"is not {error.encoding}, so that nothing after it can be read")

    def _reader(self) -> Iterator[list[str]]:
        return csv.reader(self._lines(), delimiter=self._delimiter, skipinitialspace=self._spaced, strict=True)

    def _lines(self) -> Iterator[str]:
        """Lines of the file. Raises csv.Error at one that makes the row too long, and then passes it over."""
        while line := self._file.readline(_LONGEST_ROW):
            self._line += 1
            self._characters += len(line)
            self._cells += line.count(self._delimiter)
            if self._characters >= _LONGEST_ROW:
                while line and not line.endswith(("\n", "\r")):
                    line = self._file.readline(_LONGEST_ROW)
                raise csv.Error(f"a row has more than {_LONGEST_ROW} characters")
            if self._cells > _MOST_DELIMITERS:
                raise csv.Error(f"a row has more than {_MOST_DELIMITERS} cells")
            yield line
        self._ended = True

    def _why(self, first: int, error: csv.Error) -> str:
        if self._ended:
            return f"is not CSV, so that nothing after it can be read: {error}"
        if self._line > first:
            return f"is not CSV, up to line {self._line}: {error}"
        return f"is not CSV: {error}"
