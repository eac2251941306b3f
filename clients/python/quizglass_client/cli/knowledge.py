"""`quizglass knowledge …`."""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields as fields_of
from itertools import islice
from operator import itemgetter
from pathlib import Path
from posixpath import splitext

from rich.table import Table
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Filter
from quizglass_client.cli import subcommands
from quizglass_client.cli.imports.documents import entry_id
from quizglass_client.cli.intake.typed import typed
from quizglass_client.cli.tuning.alike import alike
from quizglass_client.errors import InvalidRequest, NotFound
from quizglass_client.names.kinds import is_picture, same_name
from quizglass_client.notes import photo_id
from quizglass_client.sync import Client
from quizglass_client.terminal.answer import NOTHING_STORED
from quizglass_client.terminal.given import picture_given
from quizglass_client.terminal.output import print_json, say, stdout
from quizglass_client.terminal.show import evidence_table
from quizglass_client.terminal.usage import FAILED, OK, UsageError
from quizglass_client.types import Entry, EntryFields

_MOST_MEANT, _MOST_LOOKED_AT = 3, 10_000
"""Entries that are offered in the place of one that is not there, and among how many they are looked for."""


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare the commands for single entries."""
    _add_add(commands)
    made = commands.add("search", search)
    made.add_argument("--text", default="")
    several = "a picture of it; repeat for more pictures or crops of the same thing"
    subcommands.file(made.add_argument("--picture", action="append", default=[], metavar="FILE", help=several))
    made.add_argument("--limit", type=int, default=5, help="results, 1 to 100 (default 5)")
    for name in ("kind", "source", "language"):
        made.add_argument(
            f"--{name}", action="append", default=[], help=f"only entries of this {name}; repeat for more"
        )
    made.add_argument(
        "--attribute", action="append", default=[], metavar="KEY=VALUE", help="only with this fact; repeat"
    )
    made.add_argument("--per-entry", action="store_true", help="only the best result of each entry")
    made.add_argument("--fold-near-duplicates", action="store_true", help="only the best of pictures that are alike")
    made.add_argument("--mode", choices=("hybrid", "vectors", "keywords"), default="", help="how --text is searched")
    commands.add("list", list_entries)
    named = (
        "id of an entry, the name of its file in the folder that was imported, or a picture that was added by itself"
    )
    subcommands.file(commands.add("get", get).add_argument("id", help=named))
    made = commands.add("delete", delete)
    subcommands.file(made.add_argument("ids", nargs="+", metavar="id", help=named))
    commands.add("compact", compact)


def _add_add(commands: subcommands.Subcommands) -> None:
    made = commands.add("add", add)
    what = 'pictures of one thing, and a text about it in quotes, or a file with the text: photo.jpg "Gerda\'s aloe. …"'
    subcommands.file(made.add_argument("things", nargs="*", metavar="PICTURE|TEXT", help=what))
    subcommands.scattered(made, "things")
    titled = "what it is called (default: as a picture's file, if a person named that, else the first sentence)"
    made.add_argument("--title", default="", help=titled)
    named = "of the entry (default: one made of the picture); with --title all of that entry is replaced"
    made.add_argument("--id", default="", help=named)
    for name in ("text", "caption", "kind", "source", "language"):
        made.add_argument(f"--{name}", default="")
    made.add_argument("--text-format", choices=("markdown", "html"), default="", help="of the text (default: plain)")
    made.add_argument(
        "--expires-after", type=int, default=0, metavar="SECONDS", help="delete it by itself after so long"
    )
    made.add_argument("--attribute", action="append", default=[], metavar="KEY=VALUE", help="a fact; repeat")
    subcommands.file(
        made.add_argument("--picture", action="append", default=[], metavar="FILE", help="a picture of it; repeat")
    )


def add(client: Client, arguments: argparse.Namespace) -> int:
    """Add one entry, or change it."""
    given = typed(arguments.things, arguments.text)
    pictures = (*given.pictures, *(picture_given(name) for name in arguments.picture))
    fields: EntryFields = {
        "caption": arguments.caption,
        "kind": arguments.kind,
        "source": arguments.source,
        "attributes": dict(_attribute(text) for text in arguments.attribute),
        "language": arguments.language,
        "text_format": arguments.text_format or given.text_format,
        "expires_after": arguments.expires_after,
    }
    if arguments.id and arguments.title:
        return _replace(
            client, Entry(arguments.id, arguments.title, text=given.text, pictures=pictures, **fields), arguments
        )
    if not (given.text or pictures or arguments.id):
        raise UsageError('give a picture, a text about it, or both: quizglass knowledge add photo.jpg "What it is. …"')
    title = arguments.title or given.title
    receipt = client.add_note(given.text, pictures, title=title, id=arguments.id, **fields)
    pairs = alike(client, [Entry(receipt.id, receipt.title, pictures=pictures)] if pictures else [], lambda: None)
    if arguments.json:
        told = {field.name: getattr(receipt, field.name) for field in fields_of(receipt)}
        print_json({"added": 1, "refused": [], **told, **({"alike": pairs} if pairs else {})})
        return OK
    for pair in pairs:
        say(str(pair))
    what = "unchanged:" if receipt.unchanged else "updated" if receipt.updated else "added"
    shown = f", {receipt.pictures} picture{'s' if receipt.pictures > 1 else ''}" if receipt.pictures else ""
    stdout().print(
        Text.assemble(f"{what} ", (plain(receipt.title), "bold"), f" ({plain(receipt.id)}){shown}"), soft_wrap=True
    )
    return OK


def _replace(client: Client, entry: Entry, arguments: argparse.Namespace) -> int:
    """Add an entry as a whole, in the place of one of its id."""
    report = client.add_entries([entry])
    if arguments.json:
        print_json(report)
    for refused in report.refused:
        say(f"{refused.field}: {refused.message}" if refused.field else refused.message)
    if report.added and not arguments.json:
        what = "changed" if report.changed else "unchanged:" if report.unchanged else "added"
        stdout().print(Text(f"{what} {plain(entry.id)}"))
    return OK if report.added else FAILED


def _attribute(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not mark or not key.strip():
        raise UsageError(f'--attribute {text!r} is not of the form "key=value"')
    return key.strip(), value.strip()


def search(client: Client, arguments: argparse.Namespace) -> int:
    """Search by text, by picture, or by both."""
    if not arguments.text and not arguments.picture:
        raise UsageError("give --text, --picture, or both to search for")
    wanted = Filter(
        attributes=dict(_attribute(text) for text in arguments.attribute),
        kinds=tuple(arguments.kind),
        sources=tuple(arguments.source),
        languages=tuple(arguments.language),
    )
    found = client.search(
        arguments.text,
        [picture_given(name) for name in arguments.picture],
        arguments.limit,
        filter=wanted,
        per_entry=arguments.per_entry,
        fold_near_duplicates=arguments.fold_near_duplicates,
        mode=arguments.mode,
    )
    if arguments.json:
        for item in found:
            print_json(item)
    elif found:
        stdout().print(evidence_table(found))
    else:
        say("nothing found")
    return OK


def list_entries(client: Client, arguments: argparse.Namespace) -> int:
    """List all entries, as they come."""
    console, empty = stdout(), True
    for entry in client.list_entries():
        empty = False
        if arguments.json:
            print_json(entry)
        else:
            kind = f"  {plain(entry.kind)}" if entry.kind else ""
            line = Text.assemble((plain(entry.id), "bold"), "  ", plain(entry.title), (kind, "dim"))
            console.print(line, soft_wrap=True)
    if empty and not arguments.json:
        say(NOTHING_STORED)
    return OK


def get(client: Client, arguments: argparse.Namespace) -> int:
    """Show one entry."""
    entry = found(client, arguments.id)
    if arguments.json:
        print_json(entry)
        return OK
    table = Table(box=None, show_header=False, pad_edge=False)
    about = ("id", "title", "kind", "caption", "source", "language", "text_format")
    facts = [(name, getattr(entry, name)) for name in about]
    facts += entry.attributes.items()  # which may be named as one of these
    facts.append(("pictures", "\n".join(digest.hex() for digest in entry.picture_sha256)))
    for name, value in facts:
        if value:
            table.add_row(Text(plain(name), "dim"), Text(plain(value)))
    console = stdout()
    console.print(table)
    if entry.text:
        console.print()
        console.print(Text(plain(entry.text)), soft_wrap=True)
    return OK


def found(client: Client, name: str) -> Entry:
    """The entry of an id, of a file of an imported folder, or of a picture that was added by itself.

    Raises:
        NotFound: there is none; the message names some that may be meant.
    """
    path = Path(name)
    with suppress(NotFound, InvalidRequest):
        return client.get_entry(name)
    for written in dict.fromkeys((path.as_posix(), *_written_otherwise(path.as_posix()))):
        with suppress(NotFound):
            return client.get_entry(entry_id(written))
    if is_picture(path) and path.is_file():
        with suppress(NotFound):
            return client.get_entry(photo_id(path))
    meant = islice(_like(client, name), _MOST_MEANT)
    offered = ", ".join(f"{entry.id} ({entry.title})" for entry in meant)
    advice = f"did you mean {offered}?" if offered else "quizglass knowledge list shows all"
    raise NotFound(f"there is no entry {name!r}; {advice}")


def _written_otherwise(name: str) -> tuple[str, ...]:
    """A name with its accents composed and taken apart: a file's may be either, and people type one."""
    return () if name.isascii() else tuple(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))


def _like(client: Client, name: str) -> Iterator[Entry]:
    """Entries whose id, title or source has a name in it, of the first that there are; then those of its file.

    Ids are paths within the folder that was imported, and people type what their shell completes, or a picture's name.
    """
    parts = Path(name).parts
    ends = [_bare("/".join(parts[first:])) for first in range(len(parts))]
    of_file = list[tuple[int, Entry]]()
    for entry in islice(client.list_entries(), _MOST_LOOKED_AT):
        said = (entry.id, entry.title, entry.source)
        if any(same_name(name) in same_name(text) for text in said):
            yield entry
        elif (end := next((end for end in ends if end in map(_bare, said)), None)) is not None:
            of_file.append((ends.index(end), entry))
    yield from (entry for _, entry in sorted(of_file, key=itemgetter(0)))  # the longest part of the path first


def _bare(name: str) -> str:
    """A name without the ending of a file, as it is compared."""
    return same_name(splitext(name)[0])


def delete(client: Client, arguments: argparse.Namespace) -> int:
    """Delete entries; none where one of them is not there."""
    named = [found(client, name) for name in dict.fromkeys(arguments.ids)]
    for entry in {entry.id: entry for entry in named}.values():  # two names may be of one
        receipt = client.delete_entry(entry.id)
        if arguments.json:
            print_json({"deleted": entry.id, "sequence": receipt.sequence})
        else:
            stdout().print(Text(f"deleted {plain(entry.id)}, {plain(entry.title)} (commit {receipt.sequence})"))
    return OK


def compact(client: Client, arguments: argparse.Namespace) -> int:
    """Remove what deleted entries have left in the files."""
    sequence = client.compact()
    if arguments.json:
        print_json({"sequence": sequence})
    else:
        stdout().print(Text(f"nothing deleted up to commit {sequence} is left"))
    return OK
