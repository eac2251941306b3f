"""Takes the text of embedded notes into the note that embeds them, as its reader sees it: once, and within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from quizglass_client.cli.imports.albums import listed
from quizglass_client.cli.imports.encodings import decoded
from quizglass_client.cli.imports.folder import Folder
from quizglass_client.cli.imports.folder_tree import folder_tree
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.shown import LARGEST, FileNames
from quizglass_client.cli.imports.texts.embeds import part_of, with_embeds, without_levels
from quizglass_client.cli.imports.texts.front_matter import front_matter
from quizglass_client.files import read_file

_DEEPEST, _MOST_NOTES, _MOST_CHARACTERS = 3, 100, 50_000
"""Notes within each other, and in one entry notes and their characters."""
_LONGEST_TEXT = 200_000
"""Characters of an entry's text."""
_ENDINGS = ("", ".md", ".markdown", ".txt")


@dataclass(slots=True)
class _Taking:
    """What one entry takes in."""

    room: int
    taken: set[tuple[Path, str]] = field(default_factory=set)
    missing: dict[str, None] = field(default_factory=dict)
    """Names that no note has."""
    beyond: dict[str, None] = field(default_factory=dict)
    """Names of notes that are too deep, too many or too long."""


class Embedding:
    """Fills in the embedded notes of a folder's documents.

    Args:
        within: the folder; no note outside of it is read, unless anything may be.
        report: gets the names of notes that are left out.
    """

    def __init__(self, within: Folder, report: ImportReport) -> None:
        self._within, self._report = within, report

    @cached_property
    def _names(self) -> FileNames:
        return FileNames(self._within.path, folder_tree(self._within.path, ImportReport()).documents)

    def filled(self, document: Path, text: str) -> str:
        """A document's text with that of the notes that it embeds."""
        if "![[" not in text:
            return text
        taking = _Taking(min(_MOST_CHARACTERS, _LONGEST_TEXT - len(text)))
        filled = self._filled(taking, (document,), text)
        name = document.relative_to(self._within.path).as_posix()
        if taking.missing:
            verb = "are" if len(taking.missing) > 1 else "is"
            self._report.noted(name, f"embeds {listed([*taking.missing])}, which {verb} not in the folder")
        if taking.beyond:
            limits = f"{_DEEPEST} notes within each other, {_MOST_NOTES} notes, {_MOST_CHARACTERS} characters"
            self._report.cut(name, f"embeds {listed([*taking.beyond])}, beyond the most that is taken in: {limits}")
        return filled

    def _filled(self, taking: _Taking, chain: tuple[Path, ...], text: str) -> str:
        return with_embeds(text, partial(self._note, taking, chain))

    def _note(self, taking: _Taking, chain: tuple[Path, ...], page: str, part: str) -> str | None:
        """The text of a note or of a part of it; None where it is not there, is there already, or is too much."""
        name = f"{page}#{part}" if part else page
        found = (self._names.file(f"{page}{ending}", chain[-1].parent) for ending in _ENDINGS)
        note = next(filter(None, found), None)
        text = self._read(note, part) if note is not None else None
        if note is None or text is None:
            taking.missing[name] = None
            return None
        if note in chain or (note, part) in taking.taken:
            return None
        if len(chain) > _DEEPEST or len(taking.taken) >= _MOST_NOTES or len(text) > taking.room:
            taking.beyond[name] = None
            return None
        taking.taken.add((note, part))
        taking.room -= len(text)
        return self._filled(taking, (*chain, note), text)

    def _read(self, note: Path, part: str) -> str | None:
        """A note's text without its front matter; None where it has no such part, or cannot be read."""
        try:
            text, _ = decoded(read_file(self._within.file(note.relative_to(self._within.path)), LARGEST), "")
        except (OSError, ValueError):
            return None
        said = front_matter(text).text
        told = part_of(said, part) if part else said
        return without_levels(told) if told is not None else None
