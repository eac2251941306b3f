"""Which pictures of a folder go with which document, and which stand for something by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_client.cli.imports.entries import MOST_PICTURES
from quizglass_client.cli.imports.folder_tree import FolderTree, folder_tree
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.shown import Shown, shown_in
from quizglass_client.cli.imports.templates import leave_templates
from quizglass_client.names.cameras import is_of_a_camera, is_of_many_things
from quizglass_client.names.kinds import bare_name, same_name
from quizglass_client.names.titles import NUMBERED, is_index

_MOST_NAMED = 16
_BY_CAMERA = "which a camera or a program named"


@dataclass(frozen=True, slots=True)
class Album:
    """A document with its pictures, or pictures of one thing without a text."""

    document: Path | None
    pictures: tuple[Path, ...] = ()
    folder: Path | None = None
    """What pictures are named after that have neither a text nor names of their own."""
    doubt: str = ""
    """Why these pictures may not belong here, where a rule put them that can be wrong: for whoever imports to judge."""

    @property
    def path(self) -> Path:
        """The file, or folder, that it is named after."""
        return self.document or self.folder or self.pictures[0]


def albums(folder: Path, report: ImportReport | None = None, *, guess: bool = True) -> list[Album]:
    """What a folder and those below hold, in the order of their names.

    A picture goes with the document of its folder that has its name, with a number behind it or none ("koala.jpg",
    "koala 2.jpg" and "koala.md"); with the document beside its folder that has the folder's name ("koala/" and
    "koala.md"); else with one that shows it, wherever that lies ("![[IMG_2041.jpg]]"); else, where a camera named it,
    with the only document of its folder. Those in a folder that a browser
    saved beside a page go with the page. Any other goes with the picture without a text of which the same is true
    ("koala 2.jpg" and "koala/" with "koala.jpg"); where a camera named it, with those of its folder below this one,
    which has a name; else it stands alone. Names are the same in whatever case, and however their accents are written.

    Args:
        folder: where they lie.
        report: gets what is passed over, and what cameras named that was taken.
        guess: whether pictures that a camera named are taken where it is doubtful that they belong there.

    Raises:
        OSError: the folder cannot be read.
    """
    noted = report if report is not None else ImportReport()
    tree = folder_tree(folder, noted)
    leave_templates(folder, tree, noted)
    return _Matching(folder, tree, noted, guess).albums()


def albums_of(pictures: Sequence[Path], report: ImportReport) -> list[Album]:
    """Pictures of one folder that are imported by themselves, as albums."""
    return _Matching(pictures[0].parent, FolderTree(pictures=sorted(pictures)), report).albums()


def album_of(document: Path, report: ImportReport, *, guess: bool = True) -> Album:
    """A document with its pictures, as an import of its folder has it; alone where that has it not, as if hidden.

    Raises:
        OSError: the folder cannot be read.
    """
    folder, whole = document.parent, ImportReport()
    tree = folder_tree(folder, whole, only=bare_name(document))
    matching = _Matching(folder, tree, whole, guess)
    if document in matching.shown.missing:  # shown from a folder of another name
        whole = ImportReport()
        matching = _Matching(folder, folder_tree(folder, whole), whole, guess)
    of_folder = matching.albums()
    found = next((album for album in of_folder if album.document == document), Album(document))
    for note in whole.notes:
        if note.name == document.name:
            report.add(note)
    return found


def is_named(path: Path) -> bool:
    """Whether a file's name was given by a person, and not by a camera as in "IMG_2041.jpg"."""
    return not is_of_a_camera(path.stem)


class _Matching:
    """Assigns each picture to a document, to another picture, or to none."""

    def __init__(self, folder: Path, tree: FolderTree, report: ImportReport, guess: bool = True) -> None:
        self._folder, self._tree, self._report, self._guess = folder, tree, report, guess
        self.shown: Shown = shown_in(folder, tree)
        self._documents = _by_name(tree.documents)
        self._in_folder: dict[Path, list[Path]] = {}
        for document in tree.documents:
            self._in_folder.setdefault(document.parent, []).append(document)

    def albums(self) -> list[Album]:
        """All documents with their pictures, and the pictures that no document has."""
        owned: dict[Path, list[Path]] = {document: [] for document in self._tree.documents}
        by_camera: dict[Path, list[Path]] = {}
        loose: list[Path] = []
        for picture in self._tree.pictures:
            owner = _named_for(picture, self._documents) or self.shown.owners.get(picture)
            if owner is not None:
                owned[owner].append(picture)
            elif (text := self._only_text(picture)) is not None:
                by_camera.setdefault(text, []).append(picture)
            else:
                loose.append(picture)
        doubts = {document: self._doubt(document, taken, loose) for document, taken in by_camera.items()}
        for document, taken in by_camera.items():
            if doubts[document] and not self._guess:
                loose += taken
                continue
            owned[document] += taken
            told = f"took {_names(taken)}, {_BY_CAMERA}: it is the only text of their folder"
            self._report.noted(self._name(document), told)
        doubts = doubts if self._guess else {}
        self._tell_shown(owned)
        found = [Album(text, self._chosen(text, shown), doubt=doubts.get(text, "")) for text, shown in owned.items()]
        return sorted([*found, *self._without_text(loose)], key=lambda album: album.path)

    def _tell_shown(self, owned: Mapping[Path, Sequence[Path]]) -> None:
        """Name the pictures that several documents show, and those that are not there."""
        for document, pictures in owned.items():
            for picture in pictures:
                if others := [other for other in self.shown.others.get(picture, ()) if other != document]:
                    too = listed([self._name(other) for other in others])
                    verb = "show" if len(others) > 1 else "shows"
                    self._report.noted(self._name(document), f"has {picture.name}, which {too} {verb} too")
        for document, names in self.shown.missing.items():
            is_not = "are not" if len(names) > 1 else "is not"
            self._report.noted(self._name(document), f"shows {listed(names)}, which {is_not} in the folder")

    def _only_text(self, picture: Path) -> Path | None:
        """The only document of the folder of a picture that a camera named."""
        here = self._in_folder.get(picture.parent, [])
        return here[0] if len(here) == 1 and not is_named(picture) else None

    def _doubt(self, document: Path, taken: Sequence[Path], loose: Sequence[Path]) -> str:
        """Why pictures may not show what a document is about; empty: there is nothing else that they could."""
        beside = any(picture.parent == document.parent for picture in loose)
        own = is_index(document) or same_name(bare_name(document)) == same_name(document.absolute().parent.name)
        if own or (len(taken) == 1 and not beside):
            return ""
        return f"{self._name(document)} takes {_names(taken)}, {_BY_CAMERA}, as the only text of their folder"

    def _without_text(self, loose: Sequence[Path]) -> list[Album]:
        """Pictures that no document has, those of one thing together."""
        leaders = _by_name([picture for picture in loose if is_named(picture)])
        groups: dict[Path, list[Path]] = {}
        for picture in loose:
            leader = picture
            while (other := _named_for(leader, leaders, MOST_PICTURES)) is not None:
                leader = other
            groups.setdefault(leader, []).append(picture)
        found = [Album(None, self._chosen(leader, pictures)) for leader, pictures in groups.items()]
        things = self._folders_of_one_thing(found)
        apart = [album for album in found if album.path.parent not in things]
        return [*apart, *(self._of_folder(folder, pictures) for folder, pictures in things.items())]

    def _folders_of_one_thing(self, alone: Sequence[Album]) -> Mapping[Path, list[Path]]:
        """Folders below with a name of their own that hold nothing but a few pictures which a camera named."""
        found: dict[Path, list[Path]] = {}
        for album in alone if self._guess else ():
            if album.path.parent != self._folder and not is_of_many_things(album.path.parent.name):
                found.setdefault(album.path.parent, []).extend(album.pictures)
        named = {picture.parent for album in alone for picture in album.pictures if is_named(picture)}
        mixed = named | self._in_folder.keys()
        return {
            folder: pictures
            for folder, pictures in found.items()
            if folder not in mixed and len(pictures) <= MOST_PICTURES
        }

    def _of_folder(self, folder: Path, pictures: Sequence[Path]) -> Album:
        name = f"{self._name(folder)}/"
        self._report.noted(name, f"is one entry, shown by {_names(pictures)}, {_BY_CAMERA}")
        doubt = f"{name} is one thing, shown by {_names(pictures)}, {_BY_CAMERA}"
        return Album(None, self._chosen(folder, pictures), folder, doubt)

    def _chosen(self, document: Path, pictures: Sequence[Path]) -> tuple[Path, ...]:
        """The picture of the same name first, then by name, shorter names first: 2 before 10; behind them those that it
        shows, in its order; those of a page last."""
        own = same_name(bare_name(document))
        shown = {picture: at for at, picture in enumerate(self.shown.owners, 1) if picture.parent != document.parent}

        def place(path: Path) -> tuple[bool, int, int, Path]:
            return same_name(bare_name(path)) != own, shown.get(path, 0), len(path.stem), path

        by_name = sorted(pictures, key=place)
        if left := by_name[MOST_PICTURES:]:
            few = (
                f"has {len(by_name)} pictures, of which an entry takes {MOST_PICTURES}; these are left: {_names(left)}"
            )
            self._report.cut(self._name(document), few)
        room = max(0, MOST_PICTURES - len(by_name))
        of_page = self._tree.of_pages.get(document, [])
        if more := len(of_page[room:]):
            self._report.leave_out("smaller pictures of saved pages", more)
        return (*by_name[:MOST_PICTURES], *of_page[:room])

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()


def _by_name(files: Sequence[Path]) -> Mapping[tuple[Path, str], Path]:
    """Files by their folder and their name without its ending, the first of those that have the same."""
    found: dict[tuple[Path, str], Path] = {}
    for file in files:
        found.setdefault((file.parent, same_name(bare_name(file))), file)
    return found


def _named_for(picture: Path, files: Mapping[tuple[Path, str], Path], most: int = 999) -> Path | None:
    """The other file that has a picture's name, with a number of up to `most` behind it or none, or its folder's."""
    name = bare_name(picture)
    numbered = NUMBERED.fullmatch(name)
    names = (name, numbered["name"]) if numbered is not None and int(numbered["number"]) <= most else (name,)
    keys = [(picture.parent, each) for each in names] + [(picture.parent.parent, picture.parent.name)]
    found = (files.get((folder, same_name(each))) for folder, each in keys)
    return next((file for file in found if file not in (None, picture)), None)


def _names(paths: Sequence[Path]) -> str:
    return listed([path.name for path in paths])


def listed(files: Sequence[str]) -> str:
    """Names of files in a sentence, the first of them where there are many."""
    names = [*files[:_MOST_NAMED]]
    if more := len(files) - len(names):
        names.append(f"{more} more")
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
