"""Notes composed of relations: what may be said of a thing, in several sentences and several questions each.

A sentence answers the questions of its own relation and of no other, so every note that is drawn asks what it says and
also what it leaves open, in words that were written once. The files below `relations/` are text:

    = plant: light                      a relation: the kind of thing, and its name
    ~ plant: winter                     one that it is not asked beside, since their sentences may answer both
    - Full sun or it sulks.             sentences that say it
    ? can it stand in the sun at noon?  questions that any of these answers

`relations/titles.toml` has titles of each kind, and which relations of things a kind has as well.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizglass_export.errors import ExportError
from quizglass_lab.answering.notes import NoteQuestion, OwnNote

RELATIONS = Path(__file__).with_name("relations")
_TITLES = "titles.toml"
_ANY = "thing"
"""The kind whose relations other kinds have as well."""
_SAID = (2, 6)
"""Sentences of a note, at least and at most."""
_ASKED = 3
"""Questions about what a note says, and as many about what it does not."""


@dataclass(slots=True)
class Relation:
    """What may be said and asked about a kind of thing."""

    kind: str
    name: str
    sentences: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    near: set[str] = field(default_factory=set)
    """Full names of relations that are not asked beside it."""

    @property
    def full(self) -> str:
        """Its kind and name."""
        return f"{self.kind}: {self.name}"


@dataclass(frozen=True)
class Relations:
    """All relations, and the titles of composed notes."""

    all: Sequence[Relation]
    titles: dict[str, list[str]]
    shared: dict[str, list[str]]
    """Names of the relations of things that a kind has as well; a kind that is not named has all."""

    def of(self, kind: str) -> list[Relation]:
        """The relations that a note about a kind of thing may have."""
        return [each for each in self.all if each.kind == kind or (each.kind == _ANY and self._shares(kind, each.name))]

    def _shares(self, kind: str, name: str) -> bool:
        return kind not in self.shared or name in self.shared[kind]

    def notes(self, count: int, rng: random.Random) -> list[OwnNote]:
        """So many composed notes, each with questions that it answers and questions that it leaves open."""
        kinds = [each.kind for each in self.all]  # a kind with many relations has many notes
        return [self._note(rng.choice(kinds), rng) for _ in range(count)]

    def _note(self, kind: str, rng: random.Random) -> OwnNote:
        some = list(_apart(rng.sample(own := self.of(kind), len(own))))
        said, open_ = _parted(some, rng.randint(*_SAID))
        note = OwnNote(rng.choice(self.titles[kind]), [rng.choice(each.sentences) for each in said])
        asked = [(place, each) for place, each in enumerate(said)]
        for place, each in rng.sample(asked, min(_ASKED, len(asked))):
            note.questions.append(NoteQuestion(rng.choice(each.questions), (range(place, place + 1),)))
        note.questions.extend(NoteQuestion(rng.choice(each.questions), ()) for each in open_[:_ASKED])
        return note


def read_relations(folder: Path = RELATIONS) -> Relations:
    """All files of a folder.

    Raises:
        ExportError: a line begins with none of the four marks, a relation has no sentences or questions, its kind has
            no titles, or one that it is near to is unknown; names file and line, or the relation.
    """
    named: dict[str, Any] = tomllib.loads((folder / _TITLES).read_text(encoding="utf-8"))
    found = [relation for path in sorted(folder.glob("*.relations")) for relation in _read(path)]
    names = {each.full for each in found}
    for each in found:
        if not each.sentences or not each.questions:
            raise ExportError(f"{folder}: {each.full!r} needs sentences and questions")
        if each.kind not in named["titles"]:
            raise ExportError(f"{folder / _TITLES}: no titles of the kind {each.kind!r}")
        if unknown := sorted(each.near - names):
            raise ExportError(f"{folder}: {each.full!r} is near to {unknown[0]!r}, which is no relation")
    return Relations(found, named["titles"], named["shared"])


def _read(path: Path) -> Iterator[Relation]:
    relation: Relation | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark, _, said = line.strip().partition(" ")
        if mark == "=":
            if relation is not None:
                yield relation
            kind, _, name = said.partition(": ")
            relation = Relation(kind, name)
        elif mark == "~" and relation is not None:
            relation.near.add(said)
        elif mark == "-" and relation is not None:
            relation.sentences.append(said)
        elif mark == "?" and relation is not None:
            relation.questions.append(said)
        elif mark:
            raise ExportError(f"{path.name}:{number}: begins with none of '= ', '~ ', '- ' and '? '")
    if relation is not None:
        yield relation


def _apart(some: Sequence[Relation]) -> Iterator[Relation]:
    """Those of a sequence that are near to none before them."""
    taken: list[Relation] = []
    for each in some:
        if not any(each.full in other.near or other.full in each.near for other in taken):
            taken.append(each)
            yield each


def _parted(some: Sequence[Relation], count: int) -> tuple[Sequence[Relation], Sequence[Relation]]:
    """What is said, and what is only asked; at least one is left for each."""
    count = min(count, len(some) - 1)
    return some[:count], some[count:]
