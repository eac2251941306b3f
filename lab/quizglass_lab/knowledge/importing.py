"""Sends a benchmark's knowledge to a server: as it is read, and on from where an earlier sitting stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from quizglass_client import Client, Entry
from quizglass_client.cli.imports.entries import GoodLine
from quizglass_client.cli.imports.progress import ImportMemory, ImportProgress
from quizglass_client.cli.imports.report import ImportReport, Outcome
from quizglass_client.terminal.usage import UsageError
from quizglass_client.types import AddReport
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.finetuning.shared.records import Record, kept_rows, write_rows
from quizglass_lab.knowledge.finding import Knowledge

_DONE = "imported.jsonl"
_MOST_SHOWN = 5


class Imported(Record):
    """What came of one file or folder of knowledge."""

    id: str
    """The store, the path, and what tells whether the file has changed."""
    path: str
    added: int
    pictured: int
    """Entries with a picture: those that image search can find."""
    refused: int
    incomplete: int
    """Notes on entries of which a part is missing, or that are there twice."""
    left_out: dict[str, int]
    """Entries that were left out by rule: what, and how many."""
    examples: tuple[str, ...]
    """The first few entries that were refused or are incomplete: which, and why."""


def import_once(client: Client, knowledge: Knowledge, out: Path, where: str, tick: Callable[[int], None]) -> Imported:
    """Import knowledge, unless it was imported before.

    Args:
        client: of the server.
        knowledge: what is imported.
        out: folder that keeps how far an import got.
        where: names the server's store, so that what one holds is not taken for another's.
        tick: called with how many more entries are on the server's disk.

    Raises:
        DatasetError: a file is damaged, or has changed since a part of it was imported.
    """
    done = kept_rows(out / _DONE, Imported)
    name = f"{where} {knowledge.source.fingerprint}"
    if name not in done:
        key = sha256(f"{where} {knowledge.source.path.absolute()}".encode(errors="surrogateescape")).hexdigest()
        far = out / f"importing-{key[:12]}.json"
        done[name] = _import(client, knowledge, ImportMemory(far, name), tick)
        write_rows(out / _DONE, done.values())
        far.unlink(missing_ok=True)
    return done[name]


def _import(client: Client, knowledge: Knowledge, memory: ImportMemory, tick: Callable[[int], None]) -> Imported:
    source, report = knowledge.source, ImportReport()
    try:
        memory.load()
    except UsageError as error:
        raise DatasetError(str(error)) from error
    settling, begun, pictured = ImportProgress(memory, report), memory.done, 0
    tick(begun)

    def entries() -> Iterator[Entry]:
        nonlocal pictured
        for number, line in enumerate(source.read(report)):
            pictured += isinstance(line, GoodLine) and bool(line.entry.pictures)
            if number >= begun:
                settling.take(line)
                if isinstance(line, GoodLine):
                    yield line.entry

    def settle(sent: AddReport, *, ended: bool = False) -> None:
        before = memory.done
        settling.settle(sent, ended=ended)
        tick(memory.done - before)

    settle(client.add_entries(entries(), on_progress=settle), ended=True)
    refused = len(memory.refused) + memory.more_refused
    told = [f"{each['id'] or each['line']}: {each['message']}" for each in memory.refused[:_MOST_SHOWN]]
    told += [f"{note.name}: {note.message}" for note in report.notes if note.kind != Outcome.NOTED]
    return Imported(
        id=memory.source,
        path=str(source.path),
        added=memory.done - refused,
        pictured=pictured,
        refused=refused,
        incomplete=sum(count for kind, count in report.counts.items() if kind != Outcome.NOTED),
        left_out=dict(report.left_out),
        examples=tuple(told[:_MOST_SHOWN]),
    )
