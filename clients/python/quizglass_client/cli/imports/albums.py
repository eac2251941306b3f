"""Which pictures of a folder go with which document, and which stand for something by themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FORMATS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".txt": ""}
"""Endings of documents, and what their text is written in."""
PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".heic", ".heif")
MOST_PICTURES = 16
"""Most pictures that one entry takes."""

_NUMBERED = re.compile(r"(?P<name>.+?)[ _-]*\(?(?P<number>\d{1,3})\)?")
_CAMERA = re.compile(
    r"(?:img|dsc[fn]?|pxl|mvimg|photo|image|picture|signal|whatsapp image|p)?"
    r"[\W_]*\d{3,}[\d\W_]*[a-z]{0,4}\d*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Album:
    """A document with its pictures, or a picture alone."""

    document: Path | None
    pictures: tuple[Path, ...] = ()

    @property
    def path(self) -> Path:
        """The file that it is named after."""
        return self.document or self.pictures[0]


def albums(folder: Path) -> list[Album]:
    """What a folder and those below hold, in the order of their names.

    A picture goes with the document of its folder that has its name, with a number behind it or none ("koala.jpg",
    "koala 2.jpg" and "koala.md"); with the document beside its folder that has the folder's name ("koala/" and
    "koala.md"); else with the only document of its folder. Any other stands alone.

    Raises:
        OSError: one of the folders cannot be read.
    """
    files = sorted(_files(folder))
    documents = [path for path in files if path.suffix.lower() in FORMATS]
    by_folder: dict[Path, list[Path]] = {}
    for document in documents:
        by_folder.setdefault(document.parent, []).append(document)
    pictures: dict[Path, list[Path]] = {document: [] for document in documents}
    alone: list[Album] = []
    for picture in (path for path in files if path.suffix.lower() in PICTURES):
        owner = _document_of(picture, by_folder)
        if owner is None:
            alone.append(Album(None, (picture,)))
        else:
            pictures[owner].append(picture)
    described = [Album(document, _ordered(document, shown)) for document, shown in pictures.items()]
    return sorted((*described, *alone), key=lambda album: album.path)


def is_named(picture: Path) -> bool:
    """Whether somebody gave a picture its name: not a camera, as in "IMG_2041.jpg"."""
    return _CAMERA.fullmatch(picture.stem) is None


def title_of(path: Path) -> str:
    """A file's name as a title."""
    return " ".join(path.stem.replace("_", " ").split())


def _files(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise error

    for at, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not _is_hidden(name)]  # a phone's .thumbnails, for one
        for name in names:
            path = Path(at) / name
            if path.suffix.lower() in (*FORMATS, *PICTURES) and path.is_file() and not _is_hidden(name):
                yield path


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _document_of(picture: Path, by_folder: Mapping[Path, list[Path]]) -> Path | None:
    here = by_folder.get(picture.parent, [])
    numbered = _NUMBERED.fullmatch(picture.stem)
    names = (picture.stem, numbered["name"] if numbered else "")
    for name in filter(None, names):
        if (match := _named(name, here)) is not None:
            return match
    if (match := _named(picture.parent.name, by_folder.get(picture.parent.parent, []))) is not None:
        return match
    return here[0] if len(here) == 1 and not is_named(picture) else None


def _named(name: str, documents: Iterable[Path]) -> Path | None:
    return next((document for document in documents if document.stem.casefold() == name.casefold()), None)


def _ordered(document: Path, pictures: list[Path]) -> tuple[Path, ...]:
    """The picture of the same name first, then by name, shorter names first: 2 before 10."""
    by_name = sorted(pictures, key=lambda path: (path.stem != document.stem, len(path.stem), path))
    return tuple(by_name[:MOST_PICTURES])
