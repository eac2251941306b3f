"""Grammars as the server writes them, read back: what they allow, and whether they allow a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

Stack = tuple[object, ...]
"""Symbols that are still to come, the next one last."""
_SYMBOL = re.compile(r'"(?P<text>[^"]*)"|\[(?P<of>[^\]]*)\]|(?P<rule>\w+)|(?P<bar>\|)')
_ESCAPE = re.compile(r"\\(?:x(..)|u(....)|U(........))|(.)", re.DOTALL)
_SOFT = 60
"""After so many symbols, the shortest way to the end is taken."""


class Gbnf:
    """A grammar without groups and repetitions."""

    def __init__(self, grammar: str) -> None:
        self._rules: dict[str, list[tuple[object, ...]]] = {}
        for line in grammar.splitlines():
            name, _, body = line.partition(" ::= ")
            self._rules[name] = _alternatives(body)
        self._depths = dict.fromkeys(self._rules, 1 << 30)
        changed = True
        while changed:
            changed = False
            for name, alternatives in self._rules.items():
                depth = 1 + min(map(self._depth, alternatives))
                changed |= depth < self._depths[name]
                self._depths[name] = min(depth, self._depths[name])

    def drawn(self, random: Random) -> str:
        """A text that it allows."""
        written: list[str] = []
        stack: list[object] = ["root"]
        while stack:
            match stack.pop():
                case str(rule):
                    alternatives = self._rules[rule]
                    long = len(written) > _SOFT or len(stack) > _SOFT
                    chosen = min(alternatives, key=self._depth) if long else random.choice(alternatives)
                    stack += reversed(chosen)
                case [*ranges]:
                    first, last = random.choice(ranges)
                    written.append(chr(random.choice([first, last, random.randint(first, last)])))
        return "".join(written)

    def allows(self, text: str) -> bool:
        """Whether it allows a text."""
        return () in self._after(text)

    def ways(self, text: str) -> int:
        """In how many ways a beginning of a text can be followed."""
        return len(self._after(text))

    def _after(self, text: str) -> set[Stack]:
        stacks = set(self._opened(("root",)))
        for character in text:
            stacks = {
                further
                for stack in stacks
                if stack and any(first <= ord(character) <= last for first, last in stack[-1])  # type: ignore[attr-defined]
                for further in self._opened(stack[:-1])
            }
        return stacks

    def _opened(self, stack: Stack) -> Iterator[Stack]:
        """The stack with a set of characters next, in every way."""
        if not stack or not isinstance(stack[-1], str):
            yield stack
            return
        for alternative in self._rules[stack[-1]]:
            yield from self._opened((*stack[:-1], *reversed(alternative)))

    def _depth(self, alternative: tuple[object, ...]) -> int:
        return max((self._depths[symbol] for symbol in alternative if isinstance(symbol, str)), default=0)


def _alternatives(body: str) -> list[tuple[object, ...]]:
    found: list[list[object]] = [[]]
    for symbol in _SYMBOL.finditer(body):
        if symbol["bar"]:
            found.append([])
        elif symbol["rule"]:
            found[-1].append(symbol["rule"])
        elif symbol["of"] is not None:
            found[-1].append(_ranges(symbol["of"]))
        else:
            found[-1] += [((point, point),) for point, _ in _points(symbol["text"])]
    return [tuple(each) for each in found]


def _ranges(written: str) -> tuple[tuple[int, int], ...]:
    points = list(_points(written))
    found: list[tuple[int, int]] = []
    while points:
        first = last = points.pop(0)[0]
        if points[:1] == [(ord("-"), False)]:
            _, (last, _) = points.pop(0), points.pop(0)
        found.append((first, last))
    return tuple(found)


def _points(written: str) -> Iterator[tuple[int, bool]]:
    """Code points, and whether each was escaped."""
    for each in _ESCAPE.finditer(written):
        escaped = each[1] or each[2] or each[3]
        yield (int(escaped, 16), True) if escaped else (ord(each[4]), False)
