"""`quizglass knowledge import`: whatever holds entries, with progress, resuming and a report of what was refused."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from quizglass.text import plain
from quizglass_client.cli import subcommands
from quizglass_client.cli.imports.albums import Album, albums
from quizglass_client.cli.imports.documents import read_documents, read_file_alone
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
from quizglass_client.cli.imports.names.kinds import is_document, is_picture
from quizglass_client.cli.imports.progress import MOST_NAMED, ImportMemory, ImportProgress
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables.parquet import ParquetFile
from quizglass_client.cli.imports.tables.text import TABLES, read_csv
from quizglass_client.cli.imports.wiki.dump import read_wiki
from quizglass_client.cli.tuning.alike import MOST, Alike, alike
from quizglass_client.sync import Client
from quizglass_client.terminal.output import FAILED, OK, UsageError, json_line, print_json, say, stdout
from quizglass_client.types import AddReport, Entry

Lines = Iterator[GoodLine | BadLine]
_WIKI, _PACKED = (".xml", ".bz2", ".gz"), (".bz2", ".gz")
_LINES = (".jsonl", ".ndjson", ".json", ".parquet")
_MOST_SHOWN = 200


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


def add_command(commands: subcommands.Subcommands) -> None:
    """Declare `import`."""
    made = commands.add("import", import_entries, "import a folder or a file of entries")
    what = (
        "entries.jsonl or a folder with it, CSV, Parquet, a MediaWiki dump, or a folder of texts and pictures, or one"
    )
    subcommands.file(made.add_argument("path", type=Path, metavar="DIR|FILE", help=what))
    resume = "remembers there how far it got, and goes on from there when it is given again"
    subcommands.file(made.add_argument("--resume", type=Path, metavar="FILE", help=resume))
    report = "write what was refused, passed over, cut or guessed there, as JSON lines"
    subcommands.file(made.add_argument("--report", type=Path, metavar="FILE", help=report))
    outside = "let pictures and documents lie outside of the folder; only for files that you trust"
    made.add_argument("--allow-outside", action="store_true", help=outside)
    compare = "of a folder: say which pictures the server cannot tell apart, by looking each of them up"
    made.add_argument("--compare", action=argparse.BooleanOptionalAction, default=True, help=compare)


def import_entries(client: Client, arguments: argparse.Namespace) -> int:
    """Import, with a progress bar that counts what is on disk.

    Returns:
        0 when all that was there was added as it stands; 1 when something was refused, passed over, cut or guessed, or
        there was nothing.
    """
    source = _source(arguments.path, anywhere=arguments.allow_outside)
    compared = MOST if source.compared and arguments.compare else 0
    memory = ImportMemory(arguments.resume, _fingerprint(source))
    memory.load()
    memory.save()  # that both can be written is seen now, not when entries were added
    if arguments.report is not None:
        arguments.report.write_text("")
    noted, pictured = ImportReport(), list[Entry]()
    settling = ImportProgress(memory, noted)

    def entries() -> Iterator[Entry]:
        for line in islice(source.read(noted), memory.done, None):
            settling.take(line)
            if isinstance(line, GoodLine):
                if line.entry.pictures and len(pictured) < compared:
                    pictured.append(line.entry)
                yield line.entry

    with _progress(arguments.json) as progress:
        task = progress.add_task("importing", total=source.total, completed=memory.done)

        def advance(report: AddReport) -> None:
            settling.settle(report)
            progress.update(task, completed=memory.done)

        settling.settle(client.add_entries(entries(), on_progress=advance), ended=True)
        progress.update(task, completed=memory.done)
        pairs = _compared(client, pictured, progress) if compared else []
    if not memory.done and noted.complete:
        noted.passed_over(source.path.name, "there is no entry in it")
    _say_report(_Done(source.path, settling.added, memory, noted, pairs), arguments)
    return OK if noted.complete and not memory.refused else FAILED


def _compared(client: Client, pictured: list[Entry], progress: Progress) -> list[Alike]:
    task = progress.add_task("comparing pictures", total=len(pictured))
    return alike(client, pictured, lambda: progress.advance(task))


def _source(path: Path, *, anywhere: bool) -> Source:
    """What a path holds, by its name; what it names may lie `anywhere`, or in its folder alone.

    Raises:
        UsageError: nothing that can be imported.
    """
    if path.is_dir() and not (path / FILE_NAME).is_file():
        seen = ImportReport()
        if (found := albums(path, seen)) or not seen.complete:
            read = partial(read_documents, path, anywhere=anywhere)
            return Source(path, read, len(found), files=_files(found), compared=True)
    if path.is_file() and (is_document(path) or is_picture(path)):
        return Source(path, partial(read_file_alone, path, anywhere=anywhere), 1, compared=True)
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
        return Source(file, partial(read_folder_of_entries, path, anywhere=anywhere), count_lines(file))
    return Source(file, lambda _: read_entries(file, anywhere=anywhere), count_lines(file))


def _files(found: Sequence[Album]) -> list[Path]:
    return [file for album in found for file in (album.document, *album.pictures) if file is not None]


def _fingerprint(source: Source) -> str:
    """Tells whether a file, or each of a folder's documents and pictures, is the same as before."""
    told = hashlib.sha256()
    for file in source.files or (source.path,):
        about = file.stat()
        told.update(f"{file} {about.st_size} {about.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return f"{source.path.resolve()} {told.hexdigest()}"


def _progress(quiet: bool) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), disable=quiet)


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of an import."""

    path: Path
    added: int
    memory: ImportMemory
    noted: ImportReport
    pairs: list[Alike]


def _say_report(outcome: _Done, arguments: argparse.Namespace) -> None:
    path, refused, noted = outcome.path, outcome.memory.refused, outcome.noted
    total = len(refused) + outcome.memory.more_refused
    if arguments.report is not None:
        notes = [{"kind": note.kind, "name": note.name, "message": note.message} for note in noted.notes]
        lines = [json_line(item) + "\n" for item in (*refused, *notes)]
        arguments.report.write_text("".join(lines), encoding="utf-8")
    if arguments.json:
        told: dict[str, object] = {"alike": [asdict(pair) for pair in outcome.pairs]} if outcome.pairs else {}
        told |= {"more_refused": outcome.memory.more_refused} if outcome.memory.more_refused else {}
        print_json({"file": str(path), "added": outcome.added, "refused": refused, **noted.as_json(), **told})
        return
    for item in refused[:_MOST_SHOWN]:
        field_ = f"{item['field']}: " if item["field"] else ""
        name = f" ({item['id']})" if item["id"] else ""
        say(f"{path}:{item['line']}{name}: {field_}{item['message']}")
    if total > _MOST_SHOWN:
        say(f"and {total - _MOST_SHOWN} more refused; --report FILE has the first {MOST_NAMED}")
    for line in chain(noted.lines(), map(str, outcome.pairs)):
        say(line)
    stdout().print(Text(plain(f"{outcome.added} entries added, {total} refused{noted.summary()}")))
