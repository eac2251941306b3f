"""`quizglass knowledge import`: whatever holds entries, with progress, resuming and a report of what was refused."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, islice, takewhile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Refused
from quizglass_client.cli import subcommands
from quizglass_client.cli.imports.albums import Album, albums, listed
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
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables.parquet import ParquetFile
from quizglass_client.cli.imports.tables.text import TABLES, read_csv
from quizglass_client.cli.imports.wiki.dump import read_wiki
from quizglass_client.cli.tuning.alike import MOST, Alike, alike
from quizglass_client.sync import Client
from quizglass_client.terminal.output import FAILED, OK, UsageError, json_line, print_json, say, stdout
from quizglass_client.types import AddReport, Entry

Lines = Iterator[GoodLine | BadLine]
_PICTURE = re.compile(r"pictures\[(\d{1,5})\]")
_WIKI, _PACKED = (".xml", ".bz2", ".gz"), (".bz2", ".gz")
_LINES = (".jsonl", ".ndjson", ".json", ".parquet")
_MOST_NAMED = 10_000  # refusals of one import that are kept; what comes after these is counted
_MOST_SHOWN = 200
_MOST_IDS = 1_000_000  # that are told apart, in some 60 MB
_UNNAMED = BadLine(0, "")
"""Stands for each bad line after the first that are kept."""


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


@dataclass(slots=True)
class _Memory:
    """How far an import has got, in a file that the next one is given."""

    file: Path | None
    source: str
    done: int = 0
    refused: list[dict[str, object]] = field(default_factory=list)
    more_refused: int = 0
    """How many more than those that are kept."""

    def refuse(self, line: int, entry_id: str, field: str, message: str) -> None:
        """A line gave no entry."""
        if len(self.refused) < _MOST_NAMED:
            self.refused.append({"line": line, "id": entry_id, "field": field, "message": message})
        else:
            self.more_refused += 1

    def load(self) -> None:
        """Go on where the file says. Raises UsageError when it is of another import."""
        if self.file is None or not self.file.exists():
            return
        try:
            told = json.loads(self.file.read_text(encoding="utf-8"))
            source, self.done, self.refused = str(told["source"]), int(told["done"]), list(told["refused"])
            self.more_refused = int(told.get("more_refused", 0))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self.file} does not tell how far an import got; delete it to begin anew") from error
        if source != self.source:
            raise UsageError(f"{self.file} is of another import, or the file has changed; delete it to begin anew")

    def save(self) -> None:
        """Remember how far it is: what it counts is on the server's disk."""
        if self.file is not None:
            fresh = self.file.with_name(f"{self.file.name}.partial")
            told = {"source": self.source, "done": self.done, "refused": self.refused}
            told["more_refused"] = self.more_refused
            fresh.write_text(json.dumps(told), encoding="utf-8")
            fresh.replace(self.file)


def add_command(commands: subcommands.Subcommands) -> None:
    """Declare `import`."""
    made = commands.add("import", import_entries, "import a folder or a file of entries")
    what = "entries.jsonl or a folder with it, CSV, Parquet, a MediaWiki dump, or a folder of texts and pictures"
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
    memory = _Memory(arguments.resume, _fingerprint(source))
    memory.load()
    memory.save()  # that both can be written is seen now, not when entries were added
    if arguments.report is not None:
        arguments.report.write_text("")
    taken: list[GoodLine | BadLine] = []  # since the last batch that the server has acknowledged
    added, settled = 0, 0
    noted = ImportReport()
    ids = _Added(noted)
    pictured: list[Entry] = []

    def good() -> Iterator[Entry]:
        bad = len(memory.refused)
        for line in islice(source.read(noted), memory.done, None):
            bad += isinstance(line, BadLine)
            taken.append(line if isinstance(line, GoodLine) or bad <= _MOST_NAMED else _UNNAMED)
            if isinstance(line, GoodLine):
                if line.entry.pictures and len(pictured) < compared:
                    pictured.append(line.entry)
                yield line.entry

    with _progress(arguments.json) as progress:
        task = progress.add_task("importing", total=source.total, completed=memory.done)

        def advance(report: AddReport) -> None:
            nonlocal added, settled
            settled = _settle(memory, taken, report, settled, ids)
            added = report.added
            progress.update(task, completed=memory.done)

        final = client.add_entries(good(), on_progress=advance)
        _settle(memory, taken, final, settled, ids, ended=True)
        progress.update(task, completed=memory.done)
        pairs: list[Alike] = []
        if compared:
            comparing = progress.add_task("comparing pictures", total=len(pictured))
            pairs = alike(client, pictured, lambda: progress.advance(comparing))
    if not memory.done and noted.complete:
        noted.passed_over(source.path.name, "there is no entry in it")
    _say_report(_Done(source.path, added, memory, noted, pairs), arguments)
    return OK if noted.complete and not memory.refused else FAILED


class _Added:
    """Ids of the entries that were added, to see which took the place of one before."""

    def __init__(self, noted: ImportReport) -> None:
        self._noted = noted
        self._seen: set[int] = set()

    def add(self, entry_id: str) -> None:
        """An entry was added."""
        name = hash(entry_id)
        if name in self._seen:
            self._noted.passed_over(entry_id, "this id is there more than once: the last entry replaced the others")
        elif len(self._seen) < _MOST_IDS:
            self._seen.add(name)
            if len(self._seen) == _MOST_IDS:
                self._noted.noted(entry_id, "ids after this one are not compared with each other")


def _settle(
    memory: _Memory,
    taken: list[GoodLine | BadLine],
    report: AddReport,
    settled: int,
    added: _Added,
    *,
    ended: bool = False,
) -> int:
    """Count what the server has acknowledged: entries before the position `report` has reached, bad lines among them.

    Returns:
        Entries acknowledged so far.
    """
    reached = report.added + len(report.refused)
    fresh = takewhile(lambda refused: refused.index >= settled, reversed(report.refused))  # they are in order
    refusals = {refused.index: refused for refused in fresh}
    position, kept = settled, 0
    for line in taken:
        if isinstance(line, GoodLine):
            if position == reached:
                break
            if position in refusals:
                refused = refusals[position]
                memory.refuse(line.line, refused.id, refused.field, _with_its_files(refused, line))
            else:
                added.add(line.entry.id)
            position += 1
        elif position == reached and not ended:
            break
        else:
            memory.refuse(line.line, "", line.field, line.message)
        kept += 1
    del taken[:kept]
    memory.done += kept
    memory.save()
    return position


def _with_its_files(refused: Refused, line: GoodLine) -> str:
    """Why an entry was refused, behind the names of the file that it is of and of the picture that is meant.

    Of a folder's, the other pictures are named, too: they are refused with it.
    """
    field = _PICTURE.fullmatch(refused.field)
    pictures = [picture for picture in line.entry.pictures if isinstance(picture, Path)]
    meant = pictures[int(field[1]) :][:1] if field is not None else []
    names = dict.fromkeys((line.name, *(picture.name for picture in meant)))
    others = (
        [picture for picture in pictures if picture not in meant and picture.name != line.name] if line.name else []
    )
    said = ": ".join((*(name for name in names if name and name not in refused.message), refused.message))
    return f"{said}; with it {listed(others)}" if others else said


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
    memory: _Memory
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
        say(f"and {total - _MOST_SHOWN} more refused; --report FILE has the first {_MOST_NAMED}")
    for line in chain(noted.lines(), map(str, outcome.pairs)):
        say(line)
    stdout().print(Text(plain(f"{outcome.added} entries added, {total} refused{noted.summary()}")))
