"""Grammars as tables of rules, and as llama.cpp reads them (GBNF)."""

from __future__ import annotations

from collections.abc import Iterator

from quizglass_server.web.chat.schemas.characters import Ranges
from quizglass_server.web.chat.schemas.limits import Effort, SchemaRefused

Symbol = str | Ranges | int
"""A text, one character of a set, or the number of a rule."""
Alternative = tuple[Symbol, ...]
ROOT = 0
MOST_WRITTEN = 256 * 1024
"""Characters of a grammar."""


class Rules:
    """A grammar while it is made; its first rule is the root."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._rules: list[list[Alternative]] = []
        self._branches: dict[int, int] = {}

    def __len__(self) -> int:
        """How many rules there are."""
        return len(self._rules)

    def reserve(self) -> int:
        """The number of a new rule, which matches nothing yet. Raises SchemaRefused."""
        self._effort.state()
        self._rules.append([])
        return len(self._rules) - 1

    def add(self, rule: int, *alternative: Symbol) -> None:
        """Let a rule match one thing more. Raises SchemaRefused."""
        self._effort.steps(1)
        self._rules[rule].append(alternative)

    def branches(self, rule: int) -> int:
        """In how many ways a rule may begin, once it and all rules are complete."""
        waiting = [rule]
        while waiting:
            first = [each[0] for each in self._rules[waiting[-1]] if each]
            unknown = [each for each in first if isinstance(each, int) and each not in self._branches]
            if unknown:
                waiting += unknown
                continue
            count = sum(self._branches[each] if isinstance(each, int) else 1 for each in first)
            self._branches[waiting.pop()] = count
        return self._branches[rule]

    def written(self) -> str:
        """The grammar in GBNF, without what matches nothing or is never reached.

        Raises:
            SchemaRefused: nothing at all matches, or it is too long.
        """
        matching = self._matching()
        if ROOT not in matching:
            raise SchemaRefused("", "no value is valid under it")
        for rule, alternatives in enumerate(self._rules):
            self._rules[rule] = [each for each in alternatives if matching.issuperset(_named(each))]
        self._join_chains()
        lines: list[str] = []
        length = 0
        for rule in self._reached():
            lines.append(f"{_name(rule)} ::= {' | '.join(map(_alternative, self._rules[rule]))}")
            length += len(lines[-1]) + 1
            if length > MOST_WRITTEN:
                raise SchemaRefused("", f"its grammar has more than {MOST_WRITTEN} characters; make the schema smaller")
        return "\n".join(lines)

    def _matching(self) -> set[int]:
        """Rules that match some text."""
        waiting: dict[int, list[tuple[int, set[int]]]] = {}
        found: list[int] = []
        for rule, alternatives in enumerate(self._rules):
            for alternative in alternatives:
                needed = _named(alternative)
                if not needed:
                    found.append(rule)
                for each in needed:
                    waiting.setdefault(each, []).append((rule, needed))
        matching: set[int] = set()
        while found:
            rule = found.pop()
            if rule in matching:
                continue
            matching.add(rule)
            for user, needed in waiting.get(rule, ()):
                needed.discard(rule)
                if not needed:
                    found.append(user)
        return matching

    def _join_chains(self) -> None:
        """Write rules that have one alternative, and end one alternative of another rule, in that one's place."""
        uses: dict[int, int] = {ROOT: 2}
        for alternatives in self._rules:
            for alternative in alternatives:
                for symbol in alternative:
                    if isinstance(symbol, int):
                        uses[symbol] = uses.get(symbol, 0) + 1
        joined: set[int] = set()
        for rule, alternatives in enumerate(self._rules):
            if rule in joined:
                continue
            for number, alternative in enumerate(alternatives):
                parts = list(alternative)
                while parts and isinstance(last := parts[-1], int) and uses[last] == 1 and len(self._rules[last]) == 1:
                    joined.add(last)
                    parts[-1:] = self._rules[last][0]
                alternatives[number] = tuple(parts)

    def _reached(self) -> Iterator[int]:
        """Rules that the root comes to, itself first."""
        seen = {ROOT: None}
        waiting = [ROOT]
        while waiting:
            rule = waiting.pop()
            yield rule
            for alternative in self._rules[rule]:
                for other in _named(alternative):
                    if other not in seen:
                        seen[other] = None
                        waiting.append(other)


def _named(alternative: Alternative) -> set[int]:
    """The rules that an alternative names."""
    return {symbol for symbol in alternative if isinstance(symbol, int)}


def _name(rule: int) -> str:
    return "root" if rule == ROOT else f"r{rule}"


def _alternative(alternative: Alternative) -> str:
    written: list[str] = []
    literal = ""
    for symbol in (*alternative, ROOT):
        if isinstance(symbol, str):
            literal += "".join(map(_point, map(ord, symbol)))
            continue
        if literal:
            written.append(f'"{literal}"')
            literal = ""
        written.append(_name(symbol) if isinstance(symbol, int) else _class(symbol))
    return " ".join(written[:-1]) or '""'


def _class(characters: Ranges) -> str:
    spans = (_point(first) if first == last else f"{_point(first)}-{_point(last)}" for first, last in characters)
    return f"[{''.join(spans)}]"


def _point(point: int) -> str:
    """A character, escaped unless it can mean nothing else."""
    character = chr(point)
    if character.isascii() and (character.isalnum() or character == " "):
        return character
    if point <= 0xFF:
        return f"\\x{point:02X}"
    return f"\\u{point:04X}" if point <= 0xFFFF else f"\\U{point:08X}"
