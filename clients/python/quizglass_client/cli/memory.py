"""`quizglass memory …`."""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.table import Table
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Sighting
from quizglass_client.cli import subcommands
from quizglass_client.pictures import encode
from quizglass_client.sync import Client
from quizglass_client.terminal.given import picture_given
from quizglass_client.terminal.output import print_json, say, stdout
from quizglass_client.terminal.usage import OK, UsageError

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare what stands behind `memory`."""
    made = commands.add("search", search)
    shown = "what it looks like: JPEG, PNG, WebP or HEIC file (default: whatever was seen last)"
    subcommands.file(made.add_argument("picture", metavar="PICTURE", nargs="?", help=shown))
    made.add_argument("--text", default="", help="words of the question, the answer, or what was recognised")
    _add_sightings(made)
    made.add_argument("--limit", type=int, default=5, help="results, 1 to 100 (default 5)")
    made.add_argument("--best", action="store_true", help="the most similar first")
    least = "least similarity to the picture, -1 to 1 (default: what the server takes for the same thing)"
    made.add_argument("--least-score", type=float, default=0.0, metavar="COSINE", help=least)
    small = "save the small pictures there, by the name of the turn"
    subcommands.folder(made.add_argument("--thumbnails", type=Path, metavar="DIR", help=small))
    made = commands.add("forget", forget)
    _add_sightings(made)
    made.add_argument("--everything", action="store_true", help="forget all of it")
    commands.add("compact", compact)
    commands.add("stats", stats)


def _add_sightings(made: argparse.ArgumentParser) -> None:
    made.add_argument("--session-id", default="", metavar="NAME", help="only of this session")
    subcommands.file(
        made.add_argument("--frame", default="", metavar="FILE|SHA256", help="only of exactly this picture")
    )
    made.add_argument("--since", default="", metavar="TIME", help="from then on: 2026-11-21T14:05, or 2h, 3d (ago)")
    made.add_argument("--until", default="", metavar="TIME", help="before then")


def search(client: Client, arguments: argparse.Namespace) -> int:
    """Search by picture, by text, or for the latest; save small pictures if asked to."""
    picture = None if arguments.picture is None else picture_given(arguments.picture)
    if picture is not None and arguments.text:
        raise UsageError("give a picture or --text, not both")
    found = client.memory.search(
        picture,
        arguments.text,
        limit=arguments.limit,
        order="best" if arguments.best else "latest",
        session_id=arguments.session_id,
        frame=_frame(client, arguments.frame),
        since=moment(arguments.since, "--since"),
        until=moment(arguments.until, "--until"),
        least_score=arguments.least_score,
    )
    if arguments.thumbnails is not None:
        _save(client, found, arguments.thumbnails)
    if arguments.json:
        for sighting in found:
            print_json(sighting)
    elif found:
        stdout().print(_table(found))
    else:
        say("nothing like that is remembered")
    return OK


def forget(client: Client, arguments: argparse.Namespace) -> int:
    """Forget by time, session or frame, or everything."""
    times = moment(arguments.since, "--since"), moment(arguments.until, "--until")
    given = bool(arguments.session_id or arguments.frame or any(times))
    if given is arguments.everything:
        raise UsageError("give --session-id, --frame, --since or --until, or --everything alone")
    receipt = client.memory.forget(
        session_id=arguments.session_id,
        frame=_frame(client, arguments.frame),
        since=times[0],
        until=times[1],
        everything=arguments.everything,
    )
    if arguments.json:
        print_json(receipt)
    else:
        stdout().print(Text(f"forgot {_count(receipt.sightings)} (commit {receipt.sequence})"))
    return OK


def compact(client: Client, arguments: argparse.Namespace) -> int:
    """Remove what is forgotten from the files."""
    sequence = client.memory.compact()
    if arguments.json:
        print_json({"sequence": sequence})
    else:
        stdout().print(Text(f"nothing forgotten up to commit {sequence} is left"))
    return OK


def stats(client: Client, arguments: argparse.Namespace) -> int:
    """Show how much is remembered."""
    found = client.memory.stats()
    if arguments.json:
        print_json(found)
        return OK
    facts = {
        "remembered": f"{_count(found.sightings)} of at most {found.max_sightings:,}",
        "size": f"{found.bytes / 1e6:.1f} of at most {found.max_bytes / 1e6:,.1f} MB",
        "kept for": str(timedelta(seconds=found.ttl)),
        "oldest": _when(found.oldest_time),
        "latest": _when(found.latest_time),
        "since the start": f"{found.remembered} written, {found.waiting} waiting, {found.dropped} left out for want of "
        f"room, {found.failed} lost to failures",
    }
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        table.add_row(Text(name, "dim"), Text(value))
    stdout().print(table)
    return OK


def moment(text: str, flag: str) -> int:
    """Seconds since 1970 of "2026-11-21", "2026-11-21T14:05" or "2h" (ago); 0 of nothing.

    Raises:
        UsageError: it is none of these.
    """
    if not text:
        return 0
    try:
        ago = _AGO.fullmatch(text)
        if ago is None:
            then = datetime.fromisoformat(text)
        else:  # in UTC: on the day on which clocks are changed, two hours by the clock are one or three
            then = datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return max(1, int(then.timestamp()))
    except (ValueError, OverflowError) as error:
        known = '2026-11-21T14:05, or 2h for "2 hours ago"'
        raise UsageError(f"{flag} {text!r} is no time; give one such as {known}") from error


def _frame(client: Client, given: str) -> bytes:
    """The hash of a frame, given itself or by the picture's file, as this client would send it."""
    if not given:
        return b""
    if _SHA256.fullmatch(given):
        return bytes.fromhex(given)
    return hashlib.sha256(encode(picture_given(given), client.capabilities().useful_picture_side)).digest()


def _save(client: Client, found: Sequence[Sighting], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for sighting in found:
        if sighting.has_thumbnail:
            (folder / f"{Path(sighting.id).name}.jpg").write_bytes(client.memory.thumbnail(sighting.id))


def _table(found: Sequence[Sighting]) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for title in ("seen", "session", "recognised", "question", "answer"):
        table.add_column(title, overflow="fold", no_wrap=title == "seen")
    table.add_column("score", justify="right", no_wrap=True)
    for sighting in found:
        table.add_row(
            Text(_when(sighting.time)),
            Text(plain(sighting.session_id)),
            Text(plain(", ".join(sighting.recognised))),
            Text(plain(sighting.question)),
            Text(plain(sighting.answer)),
            f"{sighting.score:.2f}" if sighting.score else "",
        )
    return table


def _when(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}" if seconds else "-"


def _count(sightings: int) -> str:
    return f"{sightings:,} frame{'' if sightings == 1 else 's'}"
