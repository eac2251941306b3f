"""Reads a folder of documents: a file of Markdown, HTML or plain text an entry, with the picture of the same name."""

from __future__ import annotations

import hashlib
import html
import os
import re
from collections.abc import Iterator
from pathlib import Path

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.folder import Folder, Outside
from quizglass_client.files import read_file
from quizglass_client.types import Entry

FORMATS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".txt": ""}
_PICTURES = (".jpg", ".jpeg", ".png", ".webp")
_TITLE = {
    "markdown": re.compile(r"^#[ \t]+(.+)$", re.MULTILINE),
    "html": re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL),
}
_TAG, _NOT_OF_AN_ID = re.compile(r"<[^<>]*>"), re.compile(r"[^A-Za-z0-9._:/-]+")
_LONG_NUMBER = re.compile(r"&#[0-9]{8,}|&#[xX][0-9a-fA-F]{7,}")  # no character; Python refuses numbers of 4,300 digits
_LARGEST = 4 << 20  # bytes; a text of 200,000 characters has a fifth of that at most
_TITLE_WITHIN = 10_000  # characters in which a title is looked for
_LONGEST_TITLE, _LONGEST_ID, _DIGEST = 200, 200, 12


def documents(folder: Path) -> list[Path]:
    """Documents of a folder and those below, in order. Raises OSError when one of the folders cannot be read."""

    def fail(error: OSError) -> None:
        raise error

    paths = (Path(at) / name for at, _, names in os.walk(folder, onerror=fail) for name in names)
    return sorted(path for path in paths if path.suffix.lower() in FORMATS and path.is_file())


def read_documents(folder: Path, *, anywhere: bool = False) -> Iterator[GoodLine | BadLine]:
    """Documents, numbered from 1 in the order of `documents`. Links lead to files in the folder, or `anywhere`."""
    for number, path in enumerate(documents(folder), 1):
        try:
            yield GoodLine(number, _entry(path, Folder(folder, anywhere)))
        except Outside as error:
            yield BadLine(number, str(error))
        except UnicodeDecodeError:
            yield BadLine(number, f"{path.relative_to(folder)}: is not UTF-8")
        except OSError as error:
            yield BadLine(number, f"{path.relative_to(folder)}: cannot be read ({error.strerror})")


def _entry(path: Path, within: Folder) -> Entry:
    relative = path.relative_to(within.path)
    text = read_file(within.file(relative), _LARGEST).decode("utf-8-sig")
    text_format = FORMATS[path.suffix.lower()]
    name = relative.as_posix()
    beside = (relative.with_suffix(suffix) for suffix in _PICTURES)
    pictures = tuple(within.file(picture) for picture in beside if (within.path / picture).is_file())
    return Entry(
        id=_id(name),
        title=(_title(text, text_format) or path.stem.replace("_", " "))[:_LONGEST_TITLE],
        text=text,
        text_format=text_format,
        source=name[:500],
        time=max(0, int(path.stat().st_mtime)),
        pictures=pictures,
    )


def _id(name: str) -> str:
    """The path, or what is like it: with a digest, since two names that differ in what an id cannot hold are two."""
    like = _NOT_OF_AN_ID.sub("-", name)
    if like == name and len(name) <= _LONGEST_ID:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:_DIGEST]
    return f"{like[: _LONGEST_ID - _DIGEST - 1]}-{digest}"


def _title(text: str, text_format: str) -> str:
    pattern = _TITLE.get(text_format)
    match = pattern.search(text, 0, _TITLE_WITHIN) if pattern is not None else None
    if match is None:
        return ""
    title = match[match.lastindex or 0]
    if text_format == "markdown":
        closed = title.rstrip().rstrip("#")  # "# Title #", but not "# About C#"
        title = closed if not closed or closed[-1] in " \t" else title
    return " ".join(html.unescape(_LONG_NUMBER.sub(" ", _TAG.sub(" ", title))).split())
