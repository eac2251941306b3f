"""Notes and signs with questions as people ask them, and which sentences or lines answer each.

The files below `notes/` are text, so that they can be read and added to by hand:

    # Gerda's aloe                            a note: its title
    - Water every three weeks, less in winter.     its sentences, from 1
    - From aunt Gerda, 2019.
    ? how often does it need water in January? => 1
    ? what fertiliser does it get => -             the note does not say

`NAME.notes` have notes. `NAME.signs` have the words of signs, labels and screens, a line of theirs each, and say in
the title which of these it is. Lines that answer together are a range (`2-3`); commas part alternatives. The notes of
one file are of several writers; none stands in two files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_export.errors import ExportError

NOTES = Path(__file__).with_name("notes")
_NOTHING = "-"
_RUN = re.compile(r"\s*(\d+)(?:-(\d+))?\s*")


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """A question about a note or a sign."""

    text: str
    answers: tuple[range, ...]
    """Sentences or lines that answer it, from 0, each by itself or a few together; none: it is left open."""


@dataclass(slots=True)
class OwnNote:
    """What a person wrote about a thing, or what stands on a sign, and what is asked about it."""

    title: str
    """Of a sign the kind of thing that it is."""
    sentences: list[str] = field(default_factory=list)
    questions: list[NoteQuestion] = field(default_factory=list)


def read_notes(folder: Path = NOTES) -> list[OwnNote]:
    """The notes of all files of a folder, in the order of the files' names.

    Raises:
        ExportError: a line is none of the four kinds, or a question names a sentence that its note does not have;
            names file and line.
    """
    return [note for notes in notes_by_file(folder).values() for note in notes]


def notes_by_file(folder: Path = NOTES) -> dict[str, list[OwnNote]]:
    """The notes of each file, by its name without the ending; in order, and with the errors of `read_notes`."""
    return {path.stem: list(_read(path)) for path in sorted(folder.glob("*.notes"))}


def signs_by_file(folder: Path = NOTES) -> dict[str, list[OwnNote]]:
    """The same of signs."""
    return {path.stem: list(_read(path)) for path in sorted(folder.glob("*.signs"))}


def _read(path: Path) -> Iterator[OwnNote]:
    note: OwnNote | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path.name}:{number}"
        mark, _, said = line.strip().partition(" ")
        if mark == "#":
            if note is not None:
                yield note
            note = OwnNote(said.strip())
        elif mark == "-" and note is not None:
            note.sentences.append(said.strip())
        elif mark == "?" and note is not None:
            note.questions.append(_question(said, len(note.sentences), place))
        elif mark:
            raise ExportError(f"{place}: begins with none of '# ', '- ' and '? ', or stands before any title")
    if note is not None:
        yield note


def _question(said: str, sentences: int, place: str) -> NoteQuestion:
    text, arrow, answers = said.rpartition("=>")
    if not arrow or not text.strip():
        raise ExportError(f"{place}: a question is '? TEXT => NUMBERS', or '=> -' where the note does not say")
    if answers.strip() == _NOTHING:
        return NoteQuestion(text.strip(), ())
    runs = [_RUN.fullmatch(each) for each in answers.split(",")]
    if not all(runs):
        raise ExportError(f"{place}: {answers.strip()!r} are no numbers of sentences")
    found = tuple(range(int(run[1]) - 1, int(run[2] or run[1])) for run in runs if run)
    if not all(0 <= run.start < run.stop <= sentences for run in found):
        raise ExportError(f"{place}: the note has {sentences} sentences above this question")
    return NoteQuestion(text.strip(), found)
