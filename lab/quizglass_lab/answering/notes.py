"""Notes as people write them, with questions as people ask them, and which sentences of a note answer each.

The files below `notes/` are text, so that they can be read and added to by hand:

    # Gerda's aloe                            a note: its title
    - Water every three weeks, less in winter.     its sentences, from 1
    - From aunt Gerda, 2019.
    ? how often does it need water in January? => 1
    ? what fertiliser does it get => -             the note does not say

Notes of one file are of several writers; no note stands in two files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_export.errors import ExportError

NOTES = Path(__file__).with_name("notes")
_NOTHING = "-"


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """A question about a note."""

    text: str
    answers: tuple[int, ...]
    """Which sentences of the note answer it, from 0; none: the note does not say."""


@dataclass(slots=True)
class OwnNote:
    """What a person wrote about a thing, and what is asked about it."""

    title: str
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
    try:
        numbers = [int(number) for number in answers.split(",")]
    except ValueError:
        raise ExportError(f"{place}: {answers.strip()!r} are no numbers of sentences") from None
    if not all(1 <= number <= sentences for number in numbers):
        raise ExportError(f"{place}: the note has {sentences} sentences above this question")
    return NoteQuestion(text.strip(), tuple(number - 1 for number in numbers))
