"""Regular expressions as trees, and the languages that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from quizglass_server.web.chat.schemas.characters import Ranges, ranges
from quizglass_server.web.chat.schemas.languages import Move, State
from quizglass_server.web.chat.schemas.limits import Effort


@dataclass(frozen=True)
class OneOf:
    """One character of a set."""

    characters: Ranges


@dataclass(frozen=True)
class Series:
    """Parts one after the other; none is the empty text."""

    parts: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Alternatives:
    """One of several parts; of none, no text at all."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Repeat:
    """A part several times in a row."""

    part: Expression
    least: int = 0
    most: int | None = None
    """None: any number."""


Expression = OneOf | Series | Alternatives | Repeat


def text(characters: str) -> Series:
    """The expression of one text."""
    return Series(tuple(OneOf(ranges(each)) for each in characters))


def optional(part: Expression) -> Repeat:
    """A part, or nothing."""
    return Repeat(part, 0, 1)


class Matching:
    """The language of an expression: its states are sets of places in the expression that a text may have come to.

    Raises:
        SchemaRefused: the expression is too large, its repetitions written out.
    """

    def __init__(self, expression: Expression, effort: Effort) -> None:
        self._effort = effort
        self._jumps: list[list[int]] = []
        self._steps: list[tuple[Ranges, int] | None] = []
        first, self._last = self._place(), self._place()
        self._lay(expression, first, self._last)
        self.start: State = self._reached([first])

    def ends(self, state: State) -> bool:
        """See `Language`."""
        assert isinstance(state, frozenset)
        return self._last in state

    def moves(self, state: State) -> list[Move]:
        """See `Language`."""
        assert isinstance(state, frozenset)
        pieces = [
            (first, last, step[1])
            for place in state
            if (step := self._steps[place]) is not None
            for first, last in step[0]
        ]
        self._effort.steps(len(pieces))
        opening: dict[int, list[int]] = {}
        closing: dict[int, list[int]] = {}
        for first, last, target in pieces:
            opening.setdefault(first, []).append(target)
            closing.setdefault(last + 1, []).append(target)
        found: list[Move] = []
        open_: dict[int, int] = {}
        edges = sorted({*opening, *closing})
        for edge, behind in pairwise(edges):
            for target in closing.get(edge, ()):
                open_[target] -= 1
            for target in opening.get(edge, ()):
                open_[target] = open_.get(target, 0) + 1
            if targets := [target for target, count in open_.items() if count]:
                found.append((edge, behind - 1, self._reached(targets)))
        return found

    def _place(self) -> int:
        self._effort.steps(1)
        self._jumps.append([])
        self._steps.append(None)
        return len(self._jumps) - 1

    def _lay(self, expression: Expression, before: int, behind: int) -> None:
        """Lead from one place to another through an expression."""
        match expression:
            case OneOf(characters):
                place = self._place()
                self._jumps[before].append(place)
                self._steps[place] = characters, behind
            case Series(parts):
                self._in_a_row(parts, before, behind)
            case Alternatives(parts):
                for part in parts:
                    self._lay(part, before, behind)
            case Repeat(part, least, None):
                loop = self._place()
                self._in_a_row([part] * least, before, loop)
                around = self._place()
                self._jumps[loop] += [around, behind]
                again = self._place()
                self._lay(part, around, again)
                self._jumps[again].append(loop)
            case Repeat(part, least, most):
                assert most is not None
                reached = self._place()
                self._in_a_row([part] * least, before, reached)
                for _ in range(most - least):
                    further = self._place()
                    self._jumps[reached].append(behind)
                    self._lay(part, reached, further)
                    reached = further
                self._jumps[reached].append(behind)

    def _in_a_row(self, parts: Sequence[Expression], before: int, behind: int) -> None:
        for part in parts:
            further = self._place()
            self._lay(part, before, further)
            before = further
        self._jumps[before].append(behind)

    def _reached(self, places: Sequence[int]) -> frozenset[int]:
        """The places themselves and those that they jump to."""
        seen = set(places)
        waiting = list(places)
        while waiting:
            self._effort.steps(1)
            for place in self._jumps[waiting.pop()]:
                if place not in seen:
                    seen.add(place)
                    waiting.append(place)
        return frozenset(seen)
