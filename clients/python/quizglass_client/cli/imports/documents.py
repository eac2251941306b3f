"""Reads a folder as it comes from a phone: a document with its pictures is an entry, or a picture."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterator
from pathlib import Path

from quizglass_client.cli.imports.albums import FORMATS, Album, albums, is_named, title_of
from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.folder import Folder, Outside
from quizglass_client.files import read_file
from quizglass_client.types import Entry

_TITLE = {
    "markdown": re.compile(r"^#[ \t]+(.+)$", re.MULTILINE),
    "html": re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL),
}
_TAG, _NOT_OF_AN_ID = re.compile(r"<[^<>]*>"), re.compile(r"[^A-Za-z0-9._:/-]+")
_LONG_NUMBER = re.compile(r"&#[0-9]{8,}|&#[xX][0-9a-fA-F]{7,}")  # no character; Python refuses numbers of 4,300 digits
_LARGEST = 4 << 20  # bytes; a text of 200,000 characters has a fifth of that at most
_TITLE_WITHIN = 10_000  # characters in which a title is looked for
_LONGEST_TITLE, _LONGEST_ID, _DIGEST = 200, 200, 12


def read_documents(folder: Path, *, anywhere: bool = False) -> Iterator[GoodLine | BadLine]:
    """Albums, numbered from 1 in their order. Links lead to files in the folder, or `anywhere`."""
    for number, album in enumerate(albums(folder), 1):
        name = album.path.relative_to(folder)
        try:
            yield GoodLine(number, _entry(album, Folder(folder, anywhere)))
        except Outside as error:
            yield BadLine(number, str(error))
        except UnicodeDecodeError:
            yield BadLine(number, f"{name}: is not UTF-8")
        except OSError as error:
            yield BadLine(number, f"{name}: cannot be read ({error.strerror})")
        except ValueError as error:
            yield BadLine(number, f"{name}: {error}")


def _entry(album: Album, within: Folder) -> Entry:
    relative = album.path.relative_to(within.path)
    name = relative.as_posix()
    pictures = tuple(within.file(picture.relative_to(within.path)) for picture in album.pictures)
    text, text_format = "", ""
    if album.document is not None:
        text = read_file(within.file(relative), _LARGEST).decode("utf-8-sig")
        text_format = FORMATS[album.document.suffix.lower()]
    elif not is_named(album.path):
        advice = f"rename it, or put what it shows into {relative.stem}.md beside it"
        raise ValueError(f"a camera gave it this name; {advice}")
    return Entry(
        id=_id(name),
        title=(_title(text, text_format) or title_of(album.path))[:_LONGEST_TITLE],
        text=text,
        text_format=text_format,
        source=name[:500],
        time=max(0, int(album.path.stat().st_mtime)),
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
