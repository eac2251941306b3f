"""How far an import has got: what was read, what of it the server has acknowledged, and what was refused."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from quizglass.values import Refused
from quizglass_client.cli.imports.albums import listed
from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.terminal.usage import UsageError
from quizglass_client.types import AddReport

_LONGEST = 2_000  # characters of a message, which may repeat what the file says
MOST_NAMED = 10_000
"""Refusals of one import that are kept; what comes after these is counted."""
_MOST_IDS = 1_000_000  # distinct ids that are remembered, in some 100 MB
TWICE = "this id is there more than once"
"""Begins what is said of an entry that took the place of another."""
_PICTURE = re.compile(r"pictures\[(\d{1,5})\]")
_UNNAMED = BadLine(0, "")
"""Stands for each bad line after the first that are kept."""


@dataclass(slots=True)
class ImportMemory:
    """How far an import has got, in a file that the next one is given."""

    file: Path | None
    source: str
    done: int = 0
    refused: list[dict[str, object]] = field(default_factory=list)
    more_refused: int = 0
    """How many more than those that are kept."""

    def refuse(self, line: int, entry_id: str, field: str, message: str) -> None:
        """A line gave no entry."""
        if len(self.refused) < MOST_NAMED:
            kept = {"id": entry_id, "field": field, "message": message}
            self.refused.append({"line": line, **{key: value[:_LONGEST] for key, value in kept.items()}})
        else:
            self.more_refused += 1

    def load(self) -> None:
        """Go on where the file says. Raises UsageError when it is of another import."""
        if self.file is None or not self.file.exists():
            return
        try:
            told = json.loads(self.file.read_text(encoding="utf-8"))
            source, self.done, self.refused = str(told["source"]), int(told["done"]), list(told["refused"])
            self.more_refused = int(told.get("more_refused", 0))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self.file} does not tell how far an import got; delete it to begin anew") from error
        if source != self.source:
            raise UsageError(f"{self.file} is of another import, or the file has changed; delete it to begin anew")

    def save(self) -> None:
        """Remember how far it is: what it counts is on the server's disk."""
        if self.file is not None:
            fresh = self.file.with_name(f"{self.file.name}.partial")
            told = {"source": self.source, "done": self.done, "refused": self.refused}
            told["more_refused"] = self.more_refused
            fresh.write_text(json.dumps(told), encoding="utf-8")
            fresh.replace(self.file)


class ImportProgress:
    """What was read, and what of it the server has acknowledged; `memory` is kept up to date with the latter.

    Args:
        memory: how far the import has got.
        noted: gets what is there more than once.
        keeps_sources: whether `brought` is filled.
        ids: those that the same command has added before, from other places than this; None: nothing was.
        place: what is imported.
    """

    def __init__(
        self,
        memory: ImportMemory,
        noted: ImportReport,
        *,
        keeps_sources: bool = False,
        ids: ImportedIds | None = None,
        place: str = "",
    ) -> None:
        self.report = AddReport()
        """What the server has acknowledged of this import."""
        self.brought: dict[str, str] = {}
        """The sources of those, by their ids."""
        self._keeps_sources = keeps_sources
        self.memory = memory
        self.noted = noted
        self._ids = ImportedIds() if ids is None else ids
        self._ids.begin(place)
        self._taken: list[GoodLine | BadLine] = []  # since the last batch that the server has acknowledged
        self._settled = 0
        self._bad = len(memory.refused)

    def take(self, line: GoodLine | BadLine) -> None:
        """A line was read; an entry goes to the server now."""
        self._bad += isinstance(line, BadLine)
        self._taken.append(line if isinstance(line, GoodLine) or self._bad <= MOST_NAMED else _UNNAMED)

    def settle(self, report: AddReport, *, ended: bool = False) -> None:
        """Count what the server has acknowledged: entries before the position that `report` has reached, and bad lines.

        With `ended` nothing more comes, and the bad lines at the end count too.
        """
        reached = report.added + len(report.refused)
        fresh = takewhile(lambda refused: refused.index >= self._settled, reversed(report.refused))  # they are in order
        refusals = {refused.index: refused for refused in fresh}
        position, kept = self._settled, 0
        for line in self._taken:
            if isinstance(line, GoodLine):
                if position == reached:
                    break
                self._count(line, refusals.get(position))
                position += 1
            elif position == reached and not ended:
                break
            else:
                self.memory.refuse(line.line, "", line.field, line.message)
            kept += 1
        del self._taken[:kept]
        self._settled, self.report = position, report
        self.memory.done += kept
        self.memory.save()

    def _count(self, line: GoodLine, refused: Refused | None) -> None:
        if refused is None:
            self._ids.add(line.entry.id, line.line, self.noted)
            if self._keeps_sources:
                self.brought[line.entry.id] = line.entry.source
        else:
            self.memory.refuse(line.line, refused.id, refused.field, _with_its_files(refused, line))


class ImportedIds:
    """Ids of the entries that a command has added, to see which took the place of one before."""

    def __init__(self) -> None:
        self._places: list[tuple[str, dict[int, int]]] = []  # in each, lines by hashes of ids
        self._count = 0

    def begin(self, place: str) -> None:
        """What is added from now on comes from there."""
        self._places.append((place, {}))

    def add(self, entry_id: str, line: int, noted: ImportReport) -> None:
        """The entry of a line was added."""
        name = hash(entry_id)
        place, lines = self._places[-1]
        before = next(((where, seen) for where, seen in reversed(self._places) if name in seen), None)
        if before is not None:
            where, seen = before
            replaced = (
                f"the entry of line {line} replaced that of line {seen[name]}"
                if seen is lines
                else f"the entry from {place} replaced that from {where}"
            )
            noted.passed_over(entry_id, f"{TWICE}: {replaced}")
        if name in lines:
            lines[name] = line
        elif self._count < _MOST_IDS:
            lines[name] = line
            self._count += 1
            if self._count == _MOST_IDS:
                noted.noted(entry_id, "ids after this one are not compared with each other")


def _with_its_files(refused: Refused, line: GoodLine) -> str:
    """Why an entry was refused, behind the names of the file that it is of and of the picture that is meant.

    Of a folder's, the other pictures are named, too: they are refused with it.
    """
    field = _PICTURE.fullmatch(refused.field)
    pictures = line.pictures or tuple(each.name for each in line.entry.pictures if isinstance(each, Path))
    meant = pictures[int(field[1]) :][:1] if field is not None else ()
    names = dict.fromkeys((line.name, *meant))
    others = [each for each in line.pictures if each not in names]
    said = ": ".join((*(name for name in names if name and name not in refused.message), refused.message))
    return f"{said}; with it {listed(others)}" if others else said
