"""What an import did not take as it stands: passed over, cut or guessed. All importers share it.

Whatever holds an entry and gives none is *refused* (`BadLine`, or the server's refusal), by its line. All else that is
not taken as it stands is noted here, by its name, and the exit status follows from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

_MOST_NAMED = 10_000
"""Notes of one kind that are kept by name; what comes after these is counted."""
_LONGEST = 2_000
"""Characters of a name or message that are kept: both may repeat what a file says."""
_MOST_ALIKE = 5
"""Notes with the same words that are shown one by one; `--report` and `--json` have all of them."""


class Outcome(StrEnum):
    """What became of something."""

    PASSED_OVER = "passed over"
    """It is not in the knowledge, and whoever imports may have expected it there."""
    CUT = "cut"
    """A part of it is missing."""
    GUESSED = "guessed"
    """It was taken by an assumption that may be wrong, such as the encoding of a text that declares none."""
    NOTED = "noted"
    """It was taken by a rule that is documented, but may surprise."""


_INCOMPLETE = frozenset((Outcome.PASSED_OVER, Outcome.CUT, Outcome.GUESSED))


@dataclass(frozen=True, slots=True)
class Note:
    """One file, column, page or line, and what became of it."""

    kind: Outcome
    name: str
    message: str


@dataclass(slots=True)
class ImportReport:
    """What one import has to say beside its refusals. Readers add to it while they read.

    A reader that starts again, as a resumed import does, is given a fresh report: it notes the same again.
    """

    notes: list[Note] = field(default_factory=list)
    counts: Counter[Outcome] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    """How many entries of each kind are left out by rule, such as the redirects of a wiki. They are expected not to
    be imported."""
    unread: list[str] = field(default_factory=list)
    """Folders that could not be read: what they hold is not known."""

    def passed_over(self, name: str, message: str) -> None:
        """Something is not imported; the message says why, and what can be done."""
        self.add(Note(Outcome.PASSED_OVER, name, message))

    def cut(self, name: str, message: str) -> None:
        """Something is imported in part."""
        self.add(Note(Outcome.CUT, name, message))

    def guessed(self, name: str, message: str) -> None:
        """Something is imported by an assumption; the message says which."""
        self.add(Note(Outcome.GUESSED, name, message))

    def noted(self, name: str, message: str) -> None:
        """Something is imported as documented, in a way that may surprise."""
        self.add(Note(Outcome.NOTED, name, message))

    def add(self, note: Note) -> None:
        """Count a note, and keep it if there are not too many of its kind."""
        self.counts[note.kind] += 1
        if self.counts[note.kind] <= _MOST_NAMED:
            self.notes.append(replace(note, name=note.name[:_LONGEST], message=note.message[:_LONGEST]))

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count what is left out by rule; `what` in the plural ("redirects")."""
        self.left_out[what] += count

    @property
    def complete(self) -> bool:
        """Whether all that was there to import was taken as it stands."""
        return not any(self.counts[kind] for kind in _INCOMPLETE)

    def as_json(self) -> dict[str, object]:
        """For `--json`: a list for each kind that there is, how many of each, and what was left out by rule."""
        if not self.counts and not self.left_out:
            return {}
        named = {
            kind.replace(" ", "_"): [{"name": note.name, "message": note.message} for note in self._of(kind)]
            for kind in Outcome
            if self.counts[kind]
        }
        counts = {kind.replace(" ", "_"): self.counts[kind] for kind in Outcome if self.counts[kind]}
        return {**named, **({"counts": counts} if counts else {}), **self._left_out()}

    def lines(self) -> Iterator[str]:
        """For people: a line for each note; of many that say the same, the first few and how many more there are."""
        for kind in Outcome:
            alike = Counter(note.message for note in self._of(kind))
            shown = Counter[str]()
            for note in self._of(kind):
                shown[note.message] += 1
                if shown[note.message] <= _MOST_ALIKE:
                    said = f" {note.message}" if kind == Outcome.NOTED else f": {kind}: {note.message}"
                    yield f"{note.name}{said}"
                elif shown[note.message] == alike[note.message]:
                    yield f"and {alike[note.message] - _MOST_ALIKE} more {kind}: {note.message}"
            if (unnamed := self.counts[kind] - alike.total()) > 0:
                yield f"and {unnamed} more {kind}"

    def summary(self) -> str:
        """How many of each kind, after the number of entries: "; 3 passed over, 1 guessed; left out: 12 redirects"."""
        counted = ", ".join(
            f"{self.counts[kind]} {kind}" for kind in Outcome if kind in _INCOMPLETE and self.counts[kind]
        )
        by_rule = ", ".join(f"{count} {what}" for what, count in self.left_out.items())
        return "".join((f"; {counted}" if counted else "", f"; left out: {by_rule}" if by_rule else ""))

    def _left_out(self) -> dict[str, object]:
        return {"left_out": dict(self.left_out)} if self.left_out else {}

    def _of(self, kind: Outcome) -> list[Note]:
        return [note for note in self.notes if note.kind == kind]
