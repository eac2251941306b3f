"""`quizglass knowledge export`: everything that was added, as a folder that can be imported again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.text import Text

from quizglass_client.cli import subcommands
from quizglass_client.cli.imports.entries import FILE_NAME
from quizglass_client.errors import NotFound
from quizglass_client.sync import Client
from quizglass_client.terminal.output import print_json, stdout
from quizglass_client.terminal.usage import OK, UsageError
from quizglass_client.types import Entry

_PICTURES = "pictures"
_KINDS = {b"\xff\xd8\xff": ".jpg", b"\x89PNG": ".png", b"RIFF": ".webp", b"GIF8": ".gif"}


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare `export`."""
    made = commands.add("export", export)
    subcommands.folder(made.add_argument("folder", type=Path, metavar="DIR"))


def export(client: Client, arguments: argparse.Namespace) -> int:
    """Write entries.jsonl and the pictures, each picture once."""
    folder: Path = arguments.folder
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; give a folder that does not exist yet")
    (folder / _PICTURES).mkdir(parents=True)
    names: dict[bytes, str] = {}
    count = 0
    fresh = folder / f"{FILE_NAME}.partial"
    with fresh.open("w", encoding="utf-8") as file:
        for listed in client.list_entries():
            entry = _with_pictures(client, listed, folder, names)
            if entry is not None:
                file.write(json.dumps(record(entry, names), ensure_ascii=False) + "\n")
                count += 1
    fresh.replace(folder / FILE_NAME)
    if arguments.json:
        print_json({"folder": str(folder), "entries": count, "pictures": len(names)})
    else:
        stdout().print(Text(f"{count} entries and {len(names)} pictures in {folder}"))
    return OK


def record(entry: Entry, names: dict[bytes, str]) -> dict[str, object]:
    """A line of entries.jsonl; what is empty is left out."""
    fields: dict[str, object] = {
        "id": entry.id,
        "title": entry.title,
        "kind": entry.kind,
        "caption": entry.caption,
        "text": entry.text,
        "text_format": entry.text_format,
        "language": entry.language,
        "attributes": dict(entry.attributes),
        "pictures": [names[digest] for digest in entry.picture_sha256],
        "source": entry.source,
        "time": entry.time,
        "expires_after": entry.expires_after,
    }
    return {name: value for name, value in fields.items() if value}


def _with_pictures(client: Client, entry: Entry, folder: Path, names: dict[bytes, str]) -> Entry | None:
    """The entry, once its pictures are written: as it is by then if it has been replaced, None if it was deleted."""
    while True:
        try:
            for digest in entry.picture_sha256:
                if digest not in names:
                    names[digest] = _write(folder, digest, client.get_picture(digest))
            return entry
        except NotFound:
            try:
                now = client.get_entry(entry.id)
            except NotFound:
                return None
            if now.picture_sha256 == entry.picture_sha256:
                raise
            entry = now


def _write(folder: Path, digest: bytes, encoded: bytes) -> str:
    suffix = next((suffix for start, suffix in _KINDS.items() if encoded.startswith(start)), ".picture")
    name = f"{_PICTURES}/{digest.hex()}{suffix}"
    (folder / name).write_bytes(encoded)
    return name
