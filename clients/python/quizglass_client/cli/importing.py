"""`quizglass knowledge import`: whatever holds entries, with progress, resuming and a report of refused entries."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from quizglass.text import plain
from quizglass_client.cli import subcommands
from quizglass_client.cli.imports.entries import GoodLine
from quizglass_client.cli.imports.progress import MOST_NAMED, TWICE, ImportedIds, ImportMemory, ImportProgress
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.intake.known import KnownEntries
from quizglass_client.cli.intake.origins import FolderOrigin
from quizglass_client.cli.intake.sources import Manner, Source, sources
from quizglass_client.cli.intake.syncing import Present, delete, gone
from quizglass_client.cli.tuning.alike import MOST, Alike, alike
from quizglass_client.errors import ClientError, NotPermitted, NotSupported
from quizglass_client.names.kinds import is_picture
from quizglass_client.sync import Client
from quizglass_client.terminal.confirm import can_ask, confirmed
from quizglass_client.terminal.output import json_line, print_json, say, stdout
from quizglass_client.terminal.usage import FAILED, OK, UsageError
from quizglass_client.types import AddReport, Entry

_MOST_SHOWN = 200
_MOST_ALIKE = 5
"""Lines of an import that are shown, and of those that give the same reason."""
_MOST_GONE = 20
"""Entries to be deleted that are named one by one on a terminal."""


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare `import`."""
    made = commands.add("import", import_entries)
    what = "texts and pictures, or a folder of them; entries.jsonl or a folder with it, CSV, Parquet, a MediaWiki dump"
    subcommands.file(made.add_argument("paths", type=Path, nargs="+", metavar="DIR|FILE", help=what))
    subcommands.scattered(made, "paths", Path)
    made.add_argument("--dry-run", action="store_true", help="say what would be added and deleted, and change nothing")
    gone_ = "of a folder: afterwards delete what earlier imports brought from it and is not there any more"
    made.add_argument("--sync", action="store_true", help=gone_)
    answer = made.add_mutually_exclusive_group()
    yes = "without asking, take pictures as the folder suggests, and delete what has gone"
    answer.add_argument("--yes", "-y", dest="answer", action="store_true", default=None, help=yes)
    no = "without asking, leave out pictures of which it is doubtful what they show, and delete nothing"
    answer.add_argument("--no", "-n", dest="answer", action="store_false", default=None, help=no)
    resume = "remembers there how far it got, and goes on from there when it is given again"
    subcommands.file(made.add_argument("--resume", type=Path, metavar="FILE", help=resume))
    report = "write what was refused, passed over, cut or guessed there, as JSON lines"
    subcommands.file(made.add_argument("--report", type=Path, metavar="FILE", help=report))
    every = "send what the server has just so, too; that mends damaged rows of a store"
    made.add_argument("--send-all", action="store_true", help=every)
    outside = "let pictures and documents lie outside of the folder; only for files that you trust"
    made.add_argument("--allow-outside", action="store_true", help=outside)
    compare = "of a folder: say which pictures the server cannot tell apart, by looking each of them up"
    made.add_argument("--compare", action=argparse.BooleanOptionalAction, default=True, help=compare)


def import_entries(client: Client, arguments: argparse.Namespace) -> int:
    """Import, with a progress bar that counts what is on disk.

    Returns:
        0 when all that was there was added as it stands; 1 when something was refused, passed over, cut or guessed, or
        there was nothing, or what has gone was not deleted.
    """
    manner = Manner(arguments.allow_outside, emptied=arguments.sync, guess=arguments.answer is not False)
    found = sources(arguments.paths, manner)
    _check(found, arguments)
    if arguments.dry_run:
        return max([_rehearse(client, source, arguments) for source in found])
    if _is_doubted(found, arguments):
        found = sources(arguments.paths, replace(manner, guess=False))
    if arguments.report is not None:
        arguments.report.write_text("")
    ids = ImportedIds()
    return max([_import(client, source, arguments, ids) for source in found])


def _check(found: Sequence[Source], arguments: argparse.Namespace) -> None:
    """Raises UsageError where an option does not go with what is imported."""
    if arguments.resume is not None and len(found) > 1:
        raise UsageError("--resume remembers one import; import these one by one")
    if arguments.sync and (other := next((source for source in found if source.folder is None), None)):
        raise UsageError(f"--sync is for folders, and {other.path} is none")


def _is_doubted(found: Sequence[Source], arguments: argparse.Namespace) -> bool:
    """Whether a person says that pictures are not where only a rule puts them.

    Raises:
        UsageError: there is no person to ask.
    """
    doubts = [doubt for source in found for doubt in source.doubts]
    if not doubts or arguments.answer:
        return False
    for doubt in doubts:
        say(doubt)
    if not arguments.json and can_ask():
        return not confirmed("Is that right? No leaves these pictures out.")
    right, wrong = _again(arguments, "--yes"), _again(arguments, "--no")
    raise UsageError(f"nothing was imported. If that is right: {right}; to leave these pictures out: {wrong}")


def _again(arguments: argparse.Namespace, *options: str) -> str:
    """The command once more, with options."""
    return shlex.join(["quizglass", "knowledge", "import", *options, *map(str, arguments.paths)])


def _import(client: Client, source: Source, arguments: argparse.Namespace, ids: ImportedIds) -> int:
    memory = ImportMemory(arguments.resume, source.fingerprint)
    memory.load()
    memory.save()  # that both can be written is seen now, not when entries were added
    noted, present = ImportReport(), Present()
    origin = FolderOrigin.of(source.folder, client.target) if source.folder is not None else None
    settling = ImportProgress(memory, noted, keeps_sources=origin is not None, ids=ids, place=str(source.path))
    first = origin is not None and not origin.sources
    try:
        try:
            pictured = _send(client, source, arguments, settling, present)
        finally:
            if origin is not None:
                _remember(origin, settling.brought, noted, arguments.paths)
        if arguments.sync and origin is not None and first:
            unknown = "what has gone from it before is not known"
            noted.noted(origin.folder, f"was not imported to {client.target} by this user yet: {unknown}")
        if not memory.done and noted.complete and not (arguments.sync and origin is not None and origin.sources):
            noted.passed_over(source.path.name, "there is no entry in it")
        outcome = _Done(source.path, settling.report, memory, noted)
        _write_report(outcome, arguments)
        whole = noted.complete and not memory.refused
        if origin is not None and arguments.sync:
            whole &= _drop_gone(client, origin, present, outcome, arguments)
        outcome.pairs = _compared(client, pictured, arguments)  # with what is left: entries that have gone look alike
    except (KeyboardInterrupt, ClientError) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        if interrupted or settling.report.added:
            say(_left_off(source, settling.report.added, arguments, interrupted=interrupted))
        raise
    if arguments.json:
        _print_report(outcome)
    for pair in outcome.pairs if not arguments.json else ():
        say(str(pair))
    return OK if whole else FAILED


def _send(
    client: Client, source: Source, arguments: argparse.Namespace, settling: ImportProgress, present: Present
) -> list[Entry]:
    """Add what a source has, with a progress bar; the first entries with pictures, as far as these are compared."""
    memory, pictured, known = settling.memory, list[Entry](), _known(client, source, arguments)
    compared = MOST if source.compared and arguments.compare else 0

    def entries() -> Iterator[Entry]:
        before = memory.done
        for number, line in enumerate(source.read(settling.noted)):
            if arguments.sync:
                present.take(line)
            if number < before:
                continue
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

        settling.settle(client.add_entries(entries(), on_progress=advance, known=known.has), ended=True)
        progress.update(task, completed=memory.done)
    # Of those that were refused there is nothing to find, and those that are as they were have been compared before.
    out = known.unchanged | {str(item["id"]) for item in memory.refused}
    return [entry for entry in pictured if entry.id not in out]


def _known(client: Client, source: Source, arguments: argparse.Namespace) -> KnownEntries:
    """Entries that the server has, where what is imported has pictures: they are not to be sent again."""
    pictured = source.folder is not None or any(map(is_picture, source.files))
    try:
        return KnownEntries(client.list_entries() if pictured and not arguments.send_all else ())
    except (NotPermitted, NotSupported):  # with a token that may write alone
        return KnownEntries()


def _left_off(source: Source, added: int, arguments: argparse.Namespace, *, interrupted: bool) -> str:
    """How far an import got that ended early, and how it goes on."""
    total = f" of {source.total}" if source.total is not None else ""
    stored = f"at least {added}{total} entries are stored" if added else "no entry is known to be stored"
    again = "after these" if arguments.resume is not None else "and takes these again; with --resume FILE after them"
    went = "interrupted: " if interrupted else ""
    return f"{went}{stored}; the same command goes on{f' {again}' if added else ''}"


def _remember(origin: FolderOrigin, brought: dict[str, str], noted: ImportReport, paths: Sequence[Path]) -> None:
    """Remember what came from a folder, and note what took the place of entries of folders imported before."""
    try:
        replaced = origin.remember(brought)
    except OSError as error:
        say(f"{error.filename or origin.file}: {error.strerror}; --sync will not know this import")
        return
    named = {str(path.resolve()) for path in paths}  # those of one command are compared as they come
    for id_, folder in replaced.items():
        if folder not in named:
            noted.passed_over(id_, f"{TWICE}: the entry from {origin.folder} replaced that from {folder}")


def _drop_gone(
    client: Client, origin: FolderOrigin, present: Present, outcome: _Done, arguments: argparse.Namespace
) -> bool:
    """Delete what has gone from a folder, if that is meant; whether nothing of it is left."""
    outcome.deleted = []
    missing = gone(client, origin, present, outcome.noted.unread)
    if not missing:
        return True
    if why := _not_to_delete(missing, origin, present, arguments):
        say(why)
        return False
    outcome.deleted.extend(entry.id for entry in delete(client, missing, origin))
    if not arguments.json:
        stdout().print(f"{_entries(len(outcome.deleted))} deleted")
    return True


def _not_to_delete(
    missing: Sequence[Entry], origin: FolderOrigin, present: Present, arguments: argparse.Namespace
) -> str:
    """Why what has gone stays; empty: it may be deleted."""
    if present.unknown:
        return f"nothing was deleted: {present.unknown} lines were refused, so it is not known what has gone"
    for entry in missing[:_MOST_GONE]:
        say(f"{entry.title} ({entry.id}) is not in {origin.folder} any more")
    if len(missing) > _MOST_GONE:
        say(f"and {len(missing) - _MOST_GONE} more")
    if not present.ids:
        say(f"{origin.folder} is empty: if it is a disk or a share, it may not be mounted")
    if arguments.answer is not None:
        return "" if arguments.answer else "nothing was deleted"
    if not arguments.json and can_ask():
        return "" if confirmed(f"Delete {_entries(len(missing))}?") else "nothing was deleted"
    return f"nothing was deleted. If these are to go: {_again(arguments, '--sync', '--yes')}"


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _rehearse(client: Client, source: Source, arguments: argparse.Namespace) -> int:
    """Say what an import would do. Pictures are not opened, and the server does not judge the entries."""
    noted, present = ImportReport(), Present()
    taken, refused = list[tuple[str, str, list[str]]](), list[dict[str, object]]()
    for line in source.read(noted):
        present.take(line)
        if isinstance(line, GoodLine):
            pictures = [picture.name for picture in line.entry.pictures if isinstance(picture, Path)]
            taken.append((line.entry.id, line.entry.title, pictures))
        else:
            refused.append({"line": line.line, "field": line.field, "message": line.message})
    origin = FolderOrigin.of(source.folder, client.target) if arguments.sync and source.folder is not None else None
    missing = gone(client, origin, present, noted.unread) if origin is not None else []
    if arguments.json:
        added = [{"id": id_, "title": title, "pictures": pictures} for id_, title, pictures in taken]
        told: dict[str, object] = {"would_add": added, "refused": refused, "doubts": list(source.doubts)}
        told |= {"would_delete": [entry.id for entry in missing]} if arguments.sync else {}
        print_json({"file": str(source.path), **told, **noted.as_json()})
    else:
        for id_, title, pictures in taken:
            _print_line("would add", f"{title} ({id_})", ", ".join(pictures))
        for entry in missing:
            _print_line("would delete", f"{entry.title} ({entry.id})")
        for message in chain(_shown(refused), noted.lines()):
            say(message)
        if source.doubts and arguments.answer is None:
            say("an import asks whether that is right, unless it has --yes or --no")
    return OK if noted.complete and not refused else FAILED


def _print_line(what: str, name: str, about: str = "") -> None:
    line = Text.assemble((f"{what}  ", "dim"), plain(name), (f"  {plain(about)}" if about else "", "dim"))
    stdout().print(line, soft_wrap=True)


def _compared(client: Client, pictured: list[Entry], arguments: argparse.Namespace) -> list[Alike]:
    if not pictured:
        return []
    with _progress(arguments.json) as progress:
        task = progress.add_task("comparing pictures", total=len(pictured))
        return alike(client, pictured, lambda: progress.advance(task))


def _progress(quiet: bool) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True)


@dataclass(slots=True)
class _Done:
    """What came of an import."""

    path: Path
    report: AddReport
    memory: ImportMemory
    noted: ImportReport
    pairs: list[Alike] = field(default_factory=list)
    deleted: list[str] | None = None
    """Ids of entries that had gone from the folder; None: not looked for."""


def _write_report(outcome: _Done, arguments: argparse.Namespace) -> None:
    """Into the file that was named, and for people on the terminal."""
    path, refused, noted = outcome.path, outcome.memory.refused, outcome.noted
    total = len(refused) + outcome.memory.more_refused
    if arguments.report is not None:
        notes = [{"kind": note.kind, "name": note.name, "message": note.message} for note in noted.notes]
        with arguments.report.open("a", encoding="utf-8") as file:
            file.writelines(json_line(item) + "\n" for item in (*refused, *notes))
    if arguments.json:
        return
    lines = list(_shown(refused, path))
    for line in lines[:_MOST_SHOWN]:
        say(line)
    if len(lines) > _MOST_SHOWN or total > len(refused):
        say(f"{total} in all were refused; --report FILE names the first {MOST_NAMED}")
    for line in noted.lines():
        say(line)
    stdout().print(Text(plain(f"{_added(outcome.report)}, {total} refused{noted.summary()}")))


def _added(report: AddReport) -> str:
    """How many entries were added, and how many of these were there before."""
    if not (report.changed or report.unchanged):
        return f"{_entries(report.added)} added"
    return f"{_entries(report.created)} added, {report.changed} changed, {report.unchanged} unchanged"


def _shown(refused: Sequence[Mapping[str, object]], path: Path | None = None) -> Iterator[str]:
    """For people: what was refused and where; the first few per reason."""
    reasons = [_reason(str(item["message"])) for item in refused]
    alike, seen = Counter(reasons), Counter[str]()
    for item, reason in zip(refused, reasons, strict=True):
        seen[reason] += 1
        if seen[reason] <= _MOST_ALIKE:
            place = "" if path is None else str(path) if path.is_dir() else f"{path}:{item['line']}"
            name = f" ({item['id']})" if item.get("id") else ""
            field = f"{item['field']}: " if item["field"] else ""
            yield f"{place}{name}{': ' if place else ''}{field}{item['message']}"
        elif seen[reason] == alike[reason]:
            yield f"and {alike[reason] - _MOST_ALIKE} more for the same reason"


def _reason(message: str) -> str:
    """Why something was refused, whatever its file is called."""
    name = message.partition(":")[0]
    return message.replace(name, "").replace(Path(name).stem, "") if Path(name).stem else message


def _print_report(outcome: _Done) -> None:
    told: dict[str, object] = {"alike": [asdict(pair) for pair in outcome.pairs]} if outcome.pairs else {}
    told |= {"more_refused": outcome.memory.more_refused} if outcome.memory.more_refused else {}
    told |= {"deleted": outcome.deleted} if outcome.deleted is not None else {}
    refused, report = outcome.memory.refused, outcome.report
    added = {"file": str(outcome.path), "added": report.added, "refused": refused}
    if report.compared:
        told |= {"new": report.created, "changed": report.changed, "unchanged": report.unchanged}
    print_json({**added, **outcome.noted.as_json(), **told})
