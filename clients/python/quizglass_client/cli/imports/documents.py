"""Reads a folder as it comes from a phone: a document with its pictures is an entry, or a picture."""

from __future__ import annotations

import hashlib
import html
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quizglass_client.cli.imports.albums import Album, albums, is_named, listed
from quizglass_client.cli.imports.embedding import Embedding
from quizglass_client.cli.imports.encodings import decoded
from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.folder import Folder, Outside
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.shown import LARGEST
from quizglass_client.cli.imports.texts.contents import is_bookkeeping, is_template, says_something
from quizglass_client.cli.imports.texts.front_matter import front_matter
from quizglass_client.cli.imports.texts.html_pages import declared_encoding
from quizglass_client.cli.imports.texts.titles import first_words, title_of_markup
from quizglass_client.files import read_file
from quizglass_client.names.cameras import is_of_no_thing
from quizglass_client.names.kinds import FORMATS
from quizglass_client.names.titles import title_of, title_of_name
from quizglass_client.types import Entry

_NOT_OF_AN_ID = re.compile(r"[^A-Za-z0-9._:/-]+")
_LONGEST_TITLE, _LONGEST_SOURCE, _LONGEST_ID, _DIGEST = 200, 500, 200, 12
_LONGEST_KEY, _LONGEST_VALUE, _MOST_FACTS = 60, 500, 200


class _NoEntry(Exception):
    """A document is passed over; says why."""


def read_documents(
    folder: Path, report: ImportReport | None = None, *, anywhere: bool = False, guess: bool = True
) -> Iterator[GoodLine | BadLine]:
    """Albums, numbered from 1 in their order. Links lead to files in the folder, or `anywhere`.

    `report` gets what is passed over, cut and guessed; `guess` as for `albums`.
    """
    noted = report if report is not None else ImportReport()
    yield from _lines(albums(folder, noted, guess=guess), Folder(folder, anywhere), noted)


def read_files(
    found: Sequence[Album], report: ImportReport, *, anywhere: bool = False, alone: bool = False
) -> Iterator[GoodLine | BadLine]:
    """Albums of files of one folder that are imported by themselves; what `alone` is called "photo" is taken so."""
    yield from _lines(found, Folder(found[0].path.parent, anywhere), report, alone=alone)


def _lines(
    found: Sequence[Album], within: Folder, report: ImportReport, *, alone: bool = False
) -> Iterator[GoodLine | BadLine]:
    embedding = Embedding(within, report)
    for number, album in enumerate(found, 1):
        name = album.path.relative_to(within.path).as_posix()
        try:
            yield GoodLine(number, _entry(album, within, report, alone, embedding), name, _pictures(album, within))
        except _NoEntry as error:
            report.passed_over(name, f"{error}{_and_its_pictures(album, within)}")
        except Outside as error:
            yield BadLine(number, f"{error}{_and_its_pictures(album, within)}", id=entry_id(name))
        except OSError as error:
            why = f"{name}: cannot be read ({error.strerror}){_and_its_pictures(album, within)}"
            yield BadLine(number, why, id=entry_id(name))
        except ValueError as error:
            yield BadLine(number, f"{name}: {error}{_and_its_pictures(album, within)}", id=entry_id(name))


def _pictures(album: Album, within: Folder) -> tuple[str, ...]:
    """Paths of an entry's pictures from the imported folder."""
    return tuple(picture.relative_to(within.path).as_posix() for picture in album.pictures)


def _and_its_pictures(album: Album, within: Folder) -> str:
    """What is refused with a document."""
    return f"; with it {listed(_pictures(album, within))}" if album.document is not None and album.pictures else ""


def _entry(album: Album, within: Folder, report: ImportReport, alone: bool, embedding: Embedding) -> Entry:
    relative = album.path.relative_to(within.path)
    name = relative.as_posix()
    pictures = tuple(within.file(picture.relative_to(within.path)) for picture in album.pictures)
    if album.document is None:
        if album.folder is not None:
            return _made(album, name, title_of_name(album.folder.name), pictures, report)
        if not is_named(album.path) and not (alone and is_of_no_thing(album.path.stem)):
            add = shlex.join(("quizglass", "knowledge", "add", str(album.path)))
            beside = f"put what it shows into {relative.stem}.md beside it"
            advice = f'rename it, show it in a note, {beside}, or {add} "WHAT IT IS"'
            raise ValueError(f"a camera or a program gave it this name; {advice}")
        return _made(album, name, title_of(album.path), pictures, report)
    return _of_document(album, album.document, pictures, within, report, embedding)


def _of_document(
    album: Album,
    document: Path,
    pictures: tuple[Path, ...],
    within: Folder,
    report: ImportReport,
    embedding: Embedding,
) -> Entry:
    """The entry of a text. Raises _NoEntry where it says nothing."""
    relative = document.relative_to(within.path)
    name = relative.as_posix()
    text_format = FORMATS[document.suffix.lower()]
    raw = read_file(within.file(relative), LARGEST)
    text, guess = decoded(raw, declared_encoding(raw) if text_format == "html" else "")
    if guess:
        report.guessed(name, guess)
    if is_template(text, text_format):
        raise _NoEntry("is a template: it has places such as {{date}} that a program for notes fills in")
    said = front_matter(text)
    if said.problem:
        report.noted(name, said.problem)
    filled = embedding.filled(document, said.text) if text_format == "markdown" else said.text
    if not (pictures or says_something(filled, text_format) or not all(map(is_bookkeeping, said.facts))):
        raise _NoEntry("has no text, apart from headings and tags, and no picture")
    title = title_of_markup(said.behind if said.problem else said.text, text_format)
    facts = said.facts if said.title in (title, "") or not title else {"title": said.title, **said.facts}
    title = title or said.title or _by_name(document, said.text, text_format, report, name)
    attributes, rest = _sorted_facts(facts)
    entry = _made(album, name, title, pictures, report)
    return replace(entry, text=filled + _as_text(rest, text_format), text_format=text_format, attributes=attributes)


def entry_id(name: str) -> str:
    """Id of the entry of a file: its path, or where an id cannot hold that, what is like it with a digest of it."""
    like = _NOT_OF_AN_ID.sub("-", name)
    if like == name and len(name) <= _LONGEST_ID:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:_DIGEST]
    return f"{like[: _LONGEST_ID - _DIGEST - 1]}-{digest}"


def _made(album: Album, name: str, title: str, pictures: tuple[Path, ...], report: ImportReport) -> Entry:
    """An entry without its text."""
    if len(title) > _LONGEST_TITLE:
        report.noted(name, f"has the first {_LONGEST_TITLE} characters of its title as a title")
    if len(name) > _LONGEST_SOURCE:
        report.cut(name, f"its path has more than {_LONGEST_SOURCE} characters; the source is the beginning")
    return Entry(
        id=entry_id(name),
        title=title[:_LONGEST_TITLE],
        source=name[:_LONGEST_SOURCE],
        time=max(0, int(album.path.stat().st_mtime)),
        pictures=pictures,
    )


def _by_name(document: Path, text: str, text_format: str, report: ImportReport, name: str) -> str:
    """The title of a document that has none: its file's name, or its first words where that says nothing."""
    if is_named(document):
        return title_of(document)
    words = first_words(text, text_format)
    if words:
        report.noted(name, f"has its first words as a title, since a camera or a program gave it its name: {words}")
    return words or title_of(document)


def _sorted_facts(facts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What can be attributes of an entry, and what is too long or too much for that."""
    fits = [key for key, value in facts.items() if 0 < len(key) <= _LONGEST_KEY and len(value) <= _LONGEST_VALUE]
    attributes = {key: facts[key] for key in fits[:_MOST_FACTS]}
    return attributes, {key: value for key, value in facts.items() if key not in attributes}


def _as_text(facts: Mapping[str, str], text_format: str) -> str:
    lines = [f"{key}: {value}" if key else value for key, value in facts.items()]
    if text_format == "html":
        return "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    return "".join(f"\n\n{line}" for line in lines)
