"""Which pictures of a folder go with which document, and which stand for something by themselves."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_client.cli.imports.entries import MOST_PICTURES
from quizglass_client.cli.imports.folder_tree import FolderTree, folder_tree
from quizglass_client.cli.imports.names.cameras import is_of_a_camera
from quizglass_client.cli.imports.names.kinds import bare_name, is_document, same_name
from quizglass_client.cli.imports.report import ImportReport

_NUMBERED = re.compile(r"(?P<name>.+?)[ _-]*\(?(?P<number>\d{1,3})\)?")
_INDEXES = frozenset(("index", "_index", "readme", "default"))
_MOST_NAMED = 16


@dataclass(frozen=True, slots=True)
class Album:
    """A document with its pictures, or a picture alone."""

    document: Path | None
    pictures: tuple[Path, ...] = ()

    @property
    def path(self) -> Path:
        """The file that it is named after."""
        return self.document or self.pictures[0]


def albums(folder: Path, report: ImportReport | None = None) -> list[Album]:
    """What a folder and those below hold, in the order of their names.

    A picture goes with the document of its folder that has its name, with a number behind it or none ("koala.jpg",
    "koala 2.jpg" and "koala.md"); with the document beside its folder that has the folder's name ("koala/" and
    "koala.md"); else, where a camera named it, with the only document of its folder. Those in a folder that a browser
    saved beside a page go with the page. Any other stands alone. Names are the same in whatever case, and however
    their accents are written.

    Raises:
        OSError: the folder cannot be read.
    """
    noted = report if report is not None else ImportReport()
    return _Matching(folder, folder_tree(folder, noted), noted).albums()


def album_of(document: Path, report: ImportReport) -> Album:
    """A document with its pictures, as an import of its folder has it. Raises OSError."""
    folder, whole = document.parent, ImportReport()
    tree = folder_tree(folder, whole, only=bare_name(document))
    found = next(album for album in _Matching(folder, tree, whole).albums() if album.document == document)
    for note in whole.notes:
        if note.name == document.name:
            report.add(note)
    return found


def is_named(path: Path) -> bool:
    """Whether a file's name was given by a person, and not by a camera as in "IMG_2041.jpg"."""
    return not is_of_a_camera(path.stem)


def title_of(path: Path) -> str:
    """A file's name as a title; that of its folder for a document that is called "index" or the like."""
    name = bare_name(path)
    if is_document(path) and name.casefold() in _INDEXES:
        name = path.absolute().parent.name or name
    return " ".join(unicodedata.normalize("NFC", name).replace("_", " ").split())


class _Matching:
    """Assigns each picture to a document, or to none."""

    def __init__(self, folder: Path, tree: FolderTree, report: ImportReport) -> None:
        self._folder, self._tree, self._report = folder, tree, report
        self._by_name: dict[tuple[Path, str], Path] = {}
        self._in_folder: dict[Path, list[Path]] = {}
        for document in tree.documents:
            self._by_name.setdefault((document.parent, same_name(bare_name(document))), document)
            self._in_folder.setdefault(document.parent, []).append(document)

    def albums(self) -> list[Album]:
        """All documents with their pictures, and the pictures that no document has."""
        pictures: dict[Path, list[Path]] = {document: [] for document in self._tree.documents}
        by_camera: dict[Path, list[Path]] = {}
        found: list[Album] = []
        for picture in self._tree.pictures:
            if (owner := self._owner(picture)) is None and (owner := self._only_text(picture)) is not None:
                by_camera.setdefault(owner, []).append(picture)
            if owner is None:
                found.append(Album(None, (picture,)))
            else:
                pictures[owner].append(picture)
        for document, taken in by_camera.items():
            which = "which a camera or a program named: it is the only text of their folder"
            self._report.noted(self._name(document), f"took {listed(taken)}, {which}")
        found += (Album(document, self._chosen(document, shown)) for document, shown in pictures.items())
        return sorted(found, key=lambda album: album.path)

    def _owner(self, picture: Path) -> Path | None:
        """The document that has a picture's name, or that of its folder."""
        name = bare_name(picture)
        numbered = _NUMBERED.fullmatch(name)
        names = (name, numbered["name"]) if numbered is not None else (name,)
        for each in names:
            if (document := self._by_name.get((picture.parent, same_name(each)))) is not None:
                return document
        return self._by_name.get((picture.parent.parent, same_name(picture.parent.name)))

    def _only_text(self, picture: Path) -> Path | None:
        """The only document of the folder of a picture that a camera named."""
        here = self._in_folder.get(picture.parent, [])
        return here[0] if len(here) == 1 and not is_named(picture) else None

    def _chosen(self, document: Path, pictures: list[Path]) -> tuple[Path, ...]:
        """The picture of the same name first, then by name, shorter names first: 2 before 10; those of a page last."""
        own = same_name(bare_name(document))
        by_name = sorted(pictures, key=lambda path: (same_name(bare_name(path)) != own, len(path.stem), path))
        if left := by_name[MOST_PICTURES:]:
            few = (
                f"has {len(by_name)} pictures, of which an entry takes {MOST_PICTURES}; these are left: {listed(left)}"
            )
            self._report.cut(self._name(document), few)
        room = max(0, MOST_PICTURES - len(by_name))
        of_page = self._tree.of_pages.get(document, [])
        if more := len(of_page[room:]):
            self._report.leave_out("smaller pictures of saved pages", more)
        return (*by_name[:MOST_PICTURES], *of_page[:room])

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()


def listed(paths: Sequence[Path]) -> str:
    """Names of files, the first of them where there are many."""
    names = [path.name for path in paths[:_MOST_NAMED]]
    if more := len(paths) - len(names):
        names.append(f"{more} more")
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
