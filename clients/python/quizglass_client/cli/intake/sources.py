"""What a path on the command line holds, by its name, and how it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from quizglass_client.cli.imports.albums import Album, album_of, albums, albums_of, is_named
from quizglass_client.cli.imports.documents import read_documents, read_files
from quizglass_client.cli.imports.entries import (
    FILE_NAME,
    BadLine,
    GoodLine,
    count_lines,
    entries_file,
    read_entries,
    read_folder_of_entries,
)
from quizglass_client.cli.imports.folder import Folder, Outside
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables.parquet import ParquetFile
from quizglass_client.cli.imports.tables.text import TABLES, read_csv
from quizglass_client.cli.imports.wiki.dump import read_wiki
from quizglass_client.names.kinds import is_document, is_picture
from quizglass_client.terminal.usage import UsageError

Lines = Iterator[GoodLine | BadLine]
_WIKI, _PACKED = (".xml", ".bz2", ".gz"), (".bz2", ".gz")
_LINES = (".jsonl", ".ndjson", ".json", ".parquet")


@dataclass(frozen=True, slots=True)
class Source:
    """What is imported."""

    path: Path
    read: Callable[[ImportReport], Lines]
    """Its items; what is passed over, cut or guessed meanwhile goes into the report."""
    total: int | None
    """Items, where that is known without reading everything."""
    files: Sequence[Path] = ()
    """Of a folder: what is read of it."""
    compared: bool = False
    """Whether the pictures of its entries are compared afterwards."""
    doubts: Sequence[str] = ()
    """Which pictures were put together by a rule that can be wrong."""
    folder: Path | None = None
    """That was named, of which this is all: what is not there any more has gone."""

    @property
    def fingerprint(self) -> str:
        """Tells whether a file, or each of a folder's documents and pictures, is the same as before."""
        told = hashlib.sha256()
        for file in self.files or (self.path,):
            about = file.stat()
            told.update(f"{file} {about.st_size} {about.st_mtime_ns}\n".encode(errors="surrogateescape"))
        return f"{self.path.resolve()} {told.hexdigest()}"


@dataclass(frozen=True, slots=True)
class Manner:
    """How paths are read."""

    anywhere: bool = False
    """Whether what they name may lie out of their folders."""
    emptied: bool = False
    """Whether a folder without anything is a source as well."""
    guess: bool = True
    """Whether pictures are put where they may not belong, which `Source.doubts` names then."""


def sources(paths: Sequence[Path], manner: Manner) -> list[Source]:
    """What paths hold; texts and pictures that lie in one folder are one source.

    Raises:
        UsageError: one holds nothing that can be imported.
    """
    found: list[Source] = []
    together: dict[Path, list[Path]] = {}
    for path in dict.fromkeys(paths):
        if path.is_file() and (is_document(path) or is_picture(path)):
            together.setdefault(path.parent, []).append(path)
        else:
            found.append(_source(path, manner))
    return [_of_files(files, manner) for files in together.values()] + found


def _of_files(files: Sequence[Path], manner: Manner) -> Source:
    """Documents, each with the pictures that it has in an import of its folder, and pictures."""
    seen = ImportReport()
    guess = manner.guess and (len(files) == 1 or any(is_picture(file) and not is_named(file) for file in files))
    found = [album_of(file, seen, guess=guess) for file in files if is_document(file)]
    taken = {picture for album in found for picture in album.pictures}
    if left := [file for file in files if is_picture(file) and file not in taken]:
        found += albums_of(left, seen)

    def read(report: ImportReport) -> Lines:
        for note in seen.notes:
            report.add(note)
        return read_files(found, report, anywhere=manner.anywhere, alone=len(files) == 1)

    path = files[0] if len(files) == 1 else files[0].parent
    return Source(path, read, len(found), _files(found), compared=True, doubts=_doubts(found))


def _source(path: Path, manner: Manner) -> Source:
    anywhere = manner.anywhere
    if path.is_dir() and not (path / FILE_NAME).is_file():
        seen = ImportReport()
        if (found := albums(path, seen, guess=manner.guess)) or not seen.complete or manner.emptied:
            read = partial(read_documents, path, anywhere=anywhere, guess=manner.guess)
            return Source(path, read, len(found), _files(found), True, _doubts(found), path)
    suffix = path.suffix.lower() if path.is_file() else ""
    if suffix in _PACKED and Path(path.stem).suffix.lower() in (*TABLES, *_LINES):
        raise UsageError(f"{path} is packed; unpack it first")
    if suffix in TABLES:
        return Source(path, lambda report: read_csv(path, report, anywhere=anywhere), None)
    if suffix == ".parquet":
        table = ParquetFile(path)
        return Source(path, lambda report: table.read(report, anywhere=anywhere), table.rows)
    if suffix in _WIKI:
        return Source(path, lambda report: read_wiki(path, report), None)
    file = entries_file(path)
    if file != path:
        try:
            Folder(path, anywhere).file(FILE_NAME)
        except Outside as error:
            raise UsageError(f"{file}: {error}") from error
        return Source(file, partial(read_folder_of_entries, path, anywhere=anywhere), count_lines(file), folder=path)
    return Source(file, lambda _: read_entries(file, anywhere=anywhere), count_lines(file))


def _files(found: Sequence[Album]) -> list[Path]:
    return [file for album in found for file in (album.document, *album.pictures) if file is not None]


def _doubts(found: Sequence[Album]) -> list[str]:
    return [album.doubt for album in found if album.doubt]
