"""`python -m quizglass_server.knowledge`: looks after the files of a knowledge store, on the machine they are on.

`quizglass knowledge verify`, `repair`, `snapshot` and `restore` run this.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from quizglass.text import escape_unencodable_output, plain
from quizglass_server.config import logs
from quizglass_server.config.address import MilvusAddress, knowledge_address
from quizglass_server.config.audit import Note, audited, user_name
from quizglass_server.config.load import setting_of
from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked, SettingsError
from quizglass_server.knowledge.database.lock import DirectoryLock
from quizglass_server.knowledge.repair.backup import restore, snapshot
from quizglass_server.knowledge.repair.inspection import inspect
from quizglass_server.knowledge.repair.salvage import check_repairable, salvage

logger = logging.getLogger("quizglass_server.knowledge")
_FINE, _FOUND, _FAILED, _INTERRUPTED = 0, 1, 4, 130
_EVERY = 10_000  # rows between two words on progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        0 when all is well, 1 when something was damaged or lost, 4 when it could not be done, 130 when interrupted.
    """
    escape_unencodable_output()
    options = _parser().parse_args(arguments)
    try:
        said, status = _run(options)
    except (KnowledgeFailed, KnowledgeLocked, SettingsError) as error:
        print(plain(f"quizglass knowledge: {error.message}"), file=sys.stderr)
        return _FAILED
    except OSError as error:  # of a path that is something else than expected
        print(plain(f"quizglass knowledge: {error.filename or options.command}: {error.strerror}"), file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    if options.json:
        print(json.dumps(said))
    else:
        _print(said)
    return int(status)


def _run(options: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """Run the command; what reads or writes a store as a whole is a line of the audit log, if there is one."""
    named = setting_of("audit_log", options.audit_log, options.config) if options.run is not _verify else ""
    with audited(Path(named) if named else None, f"knowledge {options.command}") as note:
        done: tuple[dict[str, Any], int] = options.run(options, note)
        return done


def _verify(options: argparse.Namespace, _note: Note) -> tuple[dict[str, Any], int]:
    defects = inspect(options.directory, _rows)
    said = {
        "directory": str(options.directory),
        "damaged": [f"{defect.file}: {defect.message}" for defect in defects if defect.in_database],
        "rebuilt by itself": [f"{defect.file}: {defect.message}" for defect in defects if not defect.in_database],
    }
    return said, _FOUND if said["damaged"] else _FINE


def _repair(options: argparse.Namespace, note: Note) -> tuple[dict[str, Any], int]:
    check_repairable(options.directory)
    with closing(DirectoryLock(options.directory)):
        done = salvage(options.directory, lambda entries: _rows("entries", entries))
    _tell(note, "store repaired", options.directory, count=done.entries, lost=len(done.lost) + done.nameless)
    said = {
        "directory": str(options.directory),
        "entries kept": done.entries,
        "lost": done.lost,
        "lost without a name": done.nameless,
        "not known": done.doubts,
        "entries embedded anew at the next start": done.remade,
        "the files before": str(done.kept_as),
    }
    return said, _FOUND if done.lost or done.nameless or done.doubts else _FINE


def _snapshot(options: argparse.Namespace, note: Note) -> tuple[dict[str, Any], int]:
    state = snapshot(options.directory, options.target)
    made = {"target": str(options.target), "count": state.count, "sequence": state.sequence}
    _tell(note, "snapshot made", options.directory, **made)
    return {"snapshot": str(options.target), "entries": state.count, "sequence": state.sequence}, _FINE


def _restore(options: argparse.Namespace, note: Note) -> tuple[dict[str, Any], int]:
    kept = restore(options.source, options.directory)
    _tell(note, "snapshot restored", options.directory, source=str(options.source))
    return {"directory": str(options.directory), "the files before": "" if kept is None else str(kept)}, _FINE


def _tell(note: Note, done: str, directory: Path, **fields: object) -> None:
    """Log what was read or written as a whole, and by whom, on standard error and in the audit log."""
    logger.info(done, extra={"user": user_name(), "directory": str(directory), **fields})
    note(done, directory=str(directory), **fields)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quizglass knowledge", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    directory, source = ("directory", "directory of the knowledge store"), ("source", "a snapshot")
    verify = "look whether everything is as it was written; beside a running server too"
    _command(commands, "verify", _verify, verify, directory)
    repair = "keep what is sound of a damaged store; the server must not run"
    _command(commands, "repair", _repair, repair, directory)
    copy = "copy a store as of one commit, while its server writes on"
    _command(commands, "snapshot", _snapshot, copy, directory, ("target", "directory to make"))
    put = "put a snapshot in the place of a store; the server must not run"
    _command(commands, "restore", _restore, put, source, directory)
    return parser


def _command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace, Note], tuple[dict[str, Any], int]],
    summary: str,
    *paths: tuple[str, str],
) -> None:
    command = commands.add_parser(name, help=summary, description=summary.capitalize() + ".")
    for path, words in paths:
        command.add_argument(path, type=_directory, help=words)
    command.add_argument("--json", action="store_true", help="print JSON")
    if run is not _verify:
        audit_log = "file to which a line on it is added, the server's (QUIZGLASS_AUDIT_LOG)"
        command.add_argument("--audit-log", metavar="FILE", help=audit_log)
        command.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings that names it")
    command.set_defaults(run=run)


def _directory(text: str) -> Path:
    """A directory; these commands work on files."""
    try:
        place = knowledge_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if isinstance(place, MilvusAddress):
        raise argparse.ArgumentTypeError("knowledge in Milvus has no files here; back it up with Milvus's own tools")
    return place


def _rows(table: str, rows: int) -> None:
    if rows % _EVERY == 0:
        print(f"{table}: {rows}", file=sys.stderr)


def _print(said: dict[str, Any]) -> None:
    for name, value in said.items():
        if isinstance(value, list):
            print(f"{name}: {len(value) or 'nothing'}")
            for line in value:
                print(plain(f"  {line}"))
        else:
            print(plain(f"{name}: {value}"))


if __name__ == "__main__":
    logs.configure("json" if "--json" in sys.argv else "human", "info")
    sys.exit(main())
