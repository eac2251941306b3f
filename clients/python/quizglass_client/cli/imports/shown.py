"""Which documents of a folder show which of its pictures, as notes embed them and pages have them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from quizglass_client.cli.imports.encodings import decoded
from quizglass_client.cli.imports.folder import Folder
from quizglass_client.cli.imports.folder_tree import FolderTree
from quizglass_client.cli.imports.texts.html_pages import declared_encoding
from quizglass_client.cli.imports.texts.shown import pictures_shown
from quizglass_client.files import read_file
from quizglass_client.names.cameras import is_of_a_camera
from quizglass_client.names.kinds import FORMATS, PICTURES, same_name

LARGEST = 4 << 20
"""Bytes of a document; a text of 200,000 characters has a fifth of that at most."""


@dataclass(slots=True)
class Shown:
    """What the documents of a folder show."""

    owners: dict[Path, Path] = field(default_factory=dict)
    """The document that each picture goes with, in the order in which the documents show them."""
    others: dict[Path, list[Path]] = field(default_factory=dict)
    """Other documents that show it too."""
    missing: dict[Path, list[str]] = field(default_factory=dict)
    """Names that Markdown shows, and no picture of the folder has."""


def shown_in(folder: Path, tree: FolderTree) -> Shown:
    """Which pictures of a tree its documents show.

    A picture goes with one document, or recognising it would not tell them apart: of several that show it, with one
    that was named by a person and not after a day, then with the one that shows the fewest.
    """
    if not tree.documents:
        return Shown()
    found, names = Shown(), FileNames(folder, tree.pictures)
    showing: dict[Path, list[Path]] = {}
    for document in tree.documents:
        pictures = list[Path]()
        for name in _names_in(document, folder):
            if (picture := names.file(name, document.parent)) is not None:
                pictures.append(picture)
            elif _is_missing(name, document):
                found.missing.setdefault(document, []).append(name)
        showing[document] = list(dict.fromkeys(pictures))
    by_picture: dict[Path, list[Path]] = {}
    for document, pictures in showing.items():
        for picture in pictures:
            by_picture.setdefault(picture, []).append(document)
    for picture, documents in by_picture.items():
        first, *others = sorted(documents, key=lambda document: _is_about_less(document, showing[document]))
        found.owners[picture] = first
        if others:
            found.others[picture] = others
    return found


def _is_about_less(document: Path, pictures: Sequence[Path]) -> tuple[bool, int, int, Path]:
    """Sorts first what is likelier about one of its pictures."""
    return is_of_a_camera(document.stem), len(pictures), len(document.parts), document


def _is_missing(name: str, document: Path) -> bool:
    """Whether a name that no picture has is one; pages name pictures that a browser has saved elsewhere, or not."""
    markdown = FORMATS.get(document.suffix.lower()) == "markdown"
    return markdown and PurePosixPath(name).suffix.lower() in PICTURES


def _names_in(document: Path, folder: Path) -> tuple[str, ...]:
    """Names that a document shows; none of one that cannot be read, or is no text, as its own import says."""
    text_format = FORMATS[document.suffix.lower()]
    try:
        raw = read_file(Folder(folder).file(document.relative_to(folder)), LARGEST)
        text, _ = decoded(raw, declared_encoding(raw) if text_format == "html" else "")
    except (OSError, ValueError):
        return ()
    return pictures_shown(text, text_format)


class FileNames:
    """Files of a folder by how documents name them.

    Args:
        folder: the whole folder.
        files: of it and of those below, which may be named.
    """

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self._folder = folder
        self._by_path = {_key(file.relative_to(folder).as_posix()): file for file in reversed(files)}
        self._by_name: dict[str, list[Path]] = {}
        for file in sorted(files, key=lambda path: (len(path.parts), path)):
            self._by_name.setdefault(same_name(file.name), []).append(file)

    def file(self, name: str, here: Path) -> Path | None:
        """The file of that name, seen from a folder; None: there is none.

        A path is relative to the document or to the whole folder. What has none of both is looked for by the end of
        its path, the file of the highest folder first, as programs for notes do.
        """
        for path in self._paths(name, here.relative_to(self._folder).as_posix()):
            if (file := self._by_path.get(_key(path))) is not None:
                return file
        end = _key(name.lstrip("./"))
        alike = self._by_name.get(same_name(PurePosixPath(name).name), [])
        return next((path for path in alike if f"/{_key(path.as_posix())}".endswith(f"/{end}")), None)

    def _paths(self, name: str, here: str) -> Iterator[str]:
        if not name.startswith("/"):
            yield os.path.normpath(f"{here}/{name}")
        yield os.path.normpath(name.lstrip("/"))


def _key(path: str) -> str:
    return same_name(path)
