"""Reads Parquet as pandas, Polars, DuckDB, Spark and data sets of Hugging Face write it: a row an entry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from quizglass_client.cli.imports.entries import BadLine, GoodLine, PictureOutside
from quizglass_client.cli.imports.folder import Folder
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables import parquet_process
from quizglass_client.cli.imports.tables.cells import Unreadable
from quizglass_client.cli.imports.tables.columns import Column, Columns
from quizglass_client.terminal.usage import UsageError

_LONGEST_LINE = 8 * parquet_process.LONGEST_TEXT  # bytes of the process's output: JSON has up to six for one


class ParquetFile:
    """A Parquet file that a process of its own reads. Close it with `close`."""

    def __init__(self, path: Path) -> None:
        """Begin to read it.

        Raises:
            UsageError: pyarrow is not installed, or the file cannot be imported.
        """
        if find_spec("pyarrow") is None:
            raise UsageError("reading Parquet needs pyarrow; in the clone: pip install '.[import]'")
        path.open("rb").close()  # raises the system's own error where it may not be read
        self._path = path
        self._process = _started(path)
        about = self._said()
        if "error" in about:
            self.close()
            raise UsageError(f"{path} {about['error']}")
        self.rows: int = about["rows"]
        self._columns = [Column(**column) for column in about["columns"]]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def read(self, report: ImportReport, *, anywhere: bool = False) -> Iterator[GoodLine | BadLine]:
        """Rows, numbered from 1, once; `pictures` are paths or encoded bytes, one or a list.

        Raises:
            UsageError: the file has no columns id and title, or one twice.
        """
        folder = Folder(self._path.parent, anywhere)
        try:
            columns = Columns(self._path, self._columns, report)
            number = 0
            for number in range(1, self.rows + 1):
                said = self._said()
                if "error" in said:
                    yield BadLine(number, f"the file {said['error']}")
                    return
                yield (
                    BadLine(number, said["refused"])
                    if "refused" in said
                    else self._line(number, said["cells"], columns, folder)
                )
            if not number:
                report.noted(self._path.name, "has no rows")
            columns.say_what_was_passed_over()
        finally:
            self.close()

    def _line(self, number: int, cells: list[Any], columns: Columns, folder: Folder) -> GoodLine | BadLine:
        whole = [self._whole(cell) for cell in cells]
        try:
            return GoodLine(number, columns.entry(whole, folder))
        except PictureOutside as error:
            return BadLine(number, str(error), error.field)
        except ValueError as error:
            return BadLine(number, str(error))

    def _whole(self, cell: Any) -> Any:
        """A cell with its bytes, which come in the order of the cells."""
        if isinstance(cell, list):
            return [self._whole(item) for item in cell]
        if not isinstance(cell, dict):
            return cell
        if "unreadable" in cell:
            return Unreadable(cell["unreadable"])
        assert self._process.stdout is not None
        return self._process.stdout.read(cell["bytes"])

    def _said(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            most = parquet_process.MEMORY >> 20
            return {"error": f"cannot be read: it takes more than {most} MiB, or what reads it has ended"}
        said: dict[str, Any] = json.loads(line)
        return said


def _started(path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # our own module, no shell
        [sys.executable, "-P", parquet_process.__file__, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Its memory is that of one thread, and is given back: what is bounded is what the file takes.
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
