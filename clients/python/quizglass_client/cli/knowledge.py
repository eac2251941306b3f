"""`quizglass knowledge …`."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Filter
from quizglass_client.cli import subcommands
from quizglass_client.sync import Client
from quizglass_client.terminal.output import FAILED, OK, UsageError, print_json, say, stdout
from quizglass_client.terminal.show import evidence_table
from quizglass_client.types import Entry


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare the commands for single entries."""
    made = commands.add("add", add, "add or replace one entry")
    for name in ("id", "title"):
        made.add_argument(f"--{name}", required=True)
    for name in ("text", "caption", "kind", "source", "language"):
        made.add_argument(f"--{name}", default="")
    made.add_argument("--text-format", choices=("markdown", "html"), default="", help="of --text (default: plain)")
    made.add_argument(
        "--expires-after", type=int, default=0, metavar="SECONDS", help="delete it by itself after so long"
    )
    made.add_argument("--attribute", action="append", default=[], metavar="KEY=VALUE", help="a fact; repeat")
    subcommands.file(
        made.add_argument("--picture", action="append", default=[], metavar="FILE", help="a picture of it; repeat")
    )
    made = commands.add("search", search, "search by text, by picture, or by both")
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
    commands.add("list", list_entries, "list all entries")
    commands.add("get", get, "show one entry").add_argument("id")
    commands.add("delete", delete, "delete one entry").add_argument("id")
    commands.add("compact", compact, "remove what deleted entries have left in the files")


def add(client: Client, arguments: argparse.Namespace) -> int:
    """Add one entry."""
    entry = Entry(
        id=arguments.id,
        title=arguments.title,
        text=arguments.text,
        caption=arguments.caption,
        kind=arguments.kind,
        source=arguments.source,
        attributes=dict(_attribute(text) for text in arguments.attribute),
        language=arguments.language,
        text_format=arguments.text_format,
        expires_after=arguments.expires_after,
        pictures=tuple(subcommands.picture_file(name) for name in arguments.picture),
    )
    report = client.add_entries([entry])
    if arguments.json:
        print_json(report)
    for refused in report.refused:
        say(f"{refused.field}: {refused.message}" if refused.field else refused.message)
    if report.added and not arguments.json:
        stdout().print(Text(f"added {plain(entry.id)}"))
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
        [subcommands.picture_file(name) for name in arguments.picture],
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
    console = stdout()
    for entry in client.list_entries():
        if arguments.json:
            print_json(entry)
        else:
            line = Text.assemble((plain(entry.id), "bold"), "  ", plain(entry.title), (f"  {plain(entry.kind)}", "dim"))
            console.print(line, soft_wrap=True)
    return OK


def get(client: Client, arguments: argparse.Namespace) -> int:
    """Show one entry."""
    entry = client.get_entry(arguments.id)
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


def delete(client: Client, arguments: argparse.Namespace) -> int:
    """Delete one entry."""
    receipt = client.delete_entry(arguments.id)
    if arguments.json:
        print_json({"deleted": arguments.id, "sequence": receipt.sequence})
    else:
        stdout().print(Text(f"deleted {plain(arguments.id)} (commit {receipt.sequence})"))
    return OK


def compact(client: Client, arguments: argparse.Namespace) -> int:
    """Remove what deleted entries have left in the files."""
    sequence = client.compact()
    if arguments.json:
        print_json({"sequence": sequence})
    else:
        stdout().print(Text(f"nothing is left of what was deleted up to commit {sequence}"))
    return OK
