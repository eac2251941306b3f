"""Sets of texts that can be told by a finite number of states, and their combinations.

A language has a start, and for each state the ranges of characters that lead on. These never overlap: a grammar made of
a language follows a text in one way only, however ambiguous the pattern is that the language came from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from quizglass_server.web.chat.schemas.limits import Effort

State = Hashable
"""Never None, which stands for a text that has left the language."""
Move = tuple[int, int, State]
"""First and last code point, and the state that they lead to."""
Holds = Callable[[Sequence[bool]], bool]


class Language(Protocol):
    """A set of texts."""

    @property
    def start(self) -> State:
        """The state before the first character."""
        ...

    def ends(self, state: State) -> bool:
        """Whether a text may end in a state."""
        ...

    def moves(self, state: State) -> list[Move]:
        """Where characters lead from a state, in their order; what is not there leads out of the language."""
        ...


class Words:
    """Finitely many texts."""

    def __init__(self, words: Iterable[str]) -> None:
        self.start: State = 0
        self._next: list[dict[str, int]] = [{}]
        self._ends: set[State] = set()
        for word in words:
            state = 0
            for character in word:
                if character not in self._next[state]:
                    self._next[state][character] = len(self._next)
                    self._next.append({})
                state = self._next[state][character]
            self._ends.add(state)

    def ends(self, state: State) -> bool:
        """See `Language`."""
        return state in self._ends

    def moves(self, state: State) -> list[Move]:
        """See `Language`."""
        assert isinstance(state, int)
        return [(ord(character), ord(character), target) for character, target in sorted(self._next[state].items())]


@dataclass(frozen=True)
class Multiples:
    """Whole numbers that another one divides, with or without a sign or zeros before them."""

    divisor: int
    start: State = ""

    def ends(self, state: State) -> bool:
        """See `Language`."""
        return state == 0

    def moves(self, state: State) -> list[Move]:
        """See `Language`."""
        sign: list[Move] = [(ord("-"), ord("-"), "-")] if state == self.start else []
        rest = state if isinstance(state, int) else 0
        return sign + [(48 + digit, 48 + digit, (rest * 10 + digit) % self.divisor) for digit in range(10)]


@dataclass(frozen=True)
class Combined:
    """Texts that are in some languages and not in others."""

    parts: Sequence[Language]
    holds: Holds
    """Whether a text belongs to it, by whether it belongs to each part."""
    may: Holds
    """Whether a text may still come to belong to it, by whether it may come to belong to each part."""

    @property
    def start(self) -> State:
        """See `Language`."""
        return tuple(part.start for part in self.parts)

    def ends(self, state: State) -> bool:
        """See `Language`."""
        pairs = zip(self.parts, _states(state), strict=True)
        return self.holds([each is not None and part.ends(each) for part, each in pairs])

    def moves(self, state: State) -> list[Move]:
        """See `Language`."""
        pairs = zip(self.parts, _states(state), strict=True)
        of_parts = [[] if each is None else part.moves(each) for part, each in pairs]
        found: list[Move] = []
        for first, last, targets in _overlaid(of_parts):
            if self.may([target is not None for target in targets]):
                found.append((first, last, targets))
        return found


def all_of(parts: Sequence[Language]) -> Language:
    """Texts that are in every one of the languages."""
    return parts[0] if len(parts) == 1 else Combined(parts, all, all)


def any_of(parts: Sequence[Language]) -> Language:
    """Texts that are in at least one of the languages."""
    return parts[0] if len(parts) == 1 else Combined(parts, any, any)


def without(language: Language, other: Language) -> Language:
    """Texts of a language that are not in the other."""
    return Combined((language, other), lambda both: both[0] and not both[1], lambda both: both[0])


def contains(language: Language, text: str) -> bool:
    """Whether a text is in a language."""
    state = language.start
    for character in text:
        point = ord(character)
        targets = [target for first, last, target in language.moves(state) if first <= point <= last]
        if not targets:
            return False
        (state,) = targets
    return language.ends(state)


def walked(language: Language, effort: Effort) -> Iterator[tuple[State, list[Move], bool]]:
    """Every state of a language, its start first, with its moves and whether a text may end there.

    Raises:
        SchemaRefused: there are too many.
    """
    seen = {language.start}
    waiting = [language.start]
    while waiting:
        state = waiting.pop()
        effort.state()
        effort.steps(_width(state))
        moves = language.moves(state)
        effort.steps(2 * len(moves) * _width(state))
        yield state, moves, language.ends(state)
        for _, _, target in moves:
            if target not in seen:
                seen.add(target)
                waiting.append(target)


def _overlaid(parts: Sequence[Sequence[Move]]) -> Iterator[tuple[int, int, tuple[State | None, ...]]]:
    """Ranges in which every part leads to one state (None: nowhere), where any leads somewhere."""
    edges = sorted({edge for moves in parts for first, last, _ in moves for edge in (first, last + 1)})
    at = [0] * len(parts)
    for first, behind in pairwise(edges):
        targets: list[State | None] = []
        for number, moves in enumerate(parts):
            while at[number] < len(moves) and moves[at[number]][1] < first:
                at[number] += 1
            covers = at[number] < len(moves) and moves[at[number]][0] <= first
            targets.append(moves[at[number]][2] if covers else None)
        if any(target is not None for target in targets):
            yield first, behind - 1, tuple(targets)


def _states(state: State) -> tuple[State | None, ...]:
    assert isinstance(state, tuple)
    return state


def _width(state: State) -> int:
    """Into how many states of its parts a state divides, as far as that costs time."""
    return sum(map(_width, state)) if isinstance(state, tuple) else len(state) if isinstance(state, frozenset) else 1
