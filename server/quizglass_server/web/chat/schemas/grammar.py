"""Writes the values that a schema allows as a grammar of JSON: properties in one order, and no needless space."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from quizglass_server.web.chat.schemas.apart import begin_alike
from quizglass_server.web.chat.schemas.characters import Ranges, common, ranges, without
from quizglass_server.web.chat.schemas.keywords import Keywords
from quizglass_server.web.chat.schemas.languages import Language, State, Words, any_of, contains, walked
from quizglass_server.web.chat.schemas.languages import without as texts_without
from quizglass_server.web.chat.schemas.limits import Effort, SchemaRefused
from quizglass_server.web.chat.schemas.rules import Rules, Symbol
from quizglass_server.web.chat.schemas.shapes import Arrays, Need, Objects, ValueShape
from quizglass_server.web.chat.schemas.strings import Strings

MOST_WAYS, MOST_BRANCHES = 64, 256
"""In which the beginning of a value can be followed at once, among alternatives within one another; and the same times
what may come next, such as the names of optional properties."""
_MARKED: Ranges = ranges((0, 31), '"', "\\")
"""Characters that JSON has behind a backslash only."""
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 34: '"', 92: "\\"}


@dataclass(eq=False)
class _Value:
    """A value of the grammar, of one shape; several needs may come to the same."""

    shape: ValueShape
    place: str
    """Where it comes from, the first place where there are several."""
    rule: int
    rules: Sequence[int] = ()
    """Those that it is written in."""
    within: set[_Value] = field(default_factory=set)
    """Values that may be in it."""
    ways: int = 0
    """In how many ways it may be followed at most, with all that it is in."""


class Grammar:
    """A grammar while it is written, value by value.

    Args:
        keywords: the schemas.
        effort: counts what it costs.
    """

    def __init__(self, keywords: Keywords, effort: Effort) -> None:
        self._keywords = keywords
        self._effort = effort
        self._rules = Rules(effort)
        self._needs: dict[Need, _Value] = {}
        self._values: dict[ValueShape, _Value] = {}
        self._waiting: list[_Value] = []
        self._root = self._value(keywords.whole)
        self._space = self._rules.reserve()
        self._rules.add(self._space)
        self._rules.add(self._space, " ")

    def written(self) -> str:
        """The grammar, in GBNF.

        Raises:
            SchemaRefused: a keyword cannot be followed, or it costs too much.
        """
        while self._waiting:
            self._write(self._waiting.pop())
        self._check_ways()
        return self._rules.written()

    def _value(self, need: Need) -> _Value:
        """The value that a need comes to; its rule is written later."""
        if need not in self._needs:
            shape = self._keywords.shape(need)
            if shape not in self._values:
                value = self._values[shape] = _Value(shape, self._keywords.place(need), self._rules.reserve())
                self._waiting.append(value)
            self._needs[need] = self._values[shape]
        return self._needs[need]

    def _inner(self, need: Need, around: _Value) -> int:
        """The rule of a value in another one."""
        value = self._value(need)
        around.within.add(value)
        return value.rule

    def _write(self, value: _Value) -> None:
        shape, rule, first = value.shape, value.rule, len(self._rules)
        for literal in sorted(shape.literals):
            self._rules.add(rule, literal)
        if shape.strings:
            texts = any_of([each.language(self._effort) for each in shape.strings])
            self._rules.add(rule, '"', self._text(texts, '"'))
        if shape.numbers:
            numbers = any_of([each.language(value.place, self._effort) for each in shape.numbers])
            self._rules.add(rule, self._text(numbers))
        for arrays in shape.arrays:
            self._rules.add(rule, "[", self._items(arrays, value))
        for objects in shape.objects:
            self._rules.add(rule, "{", self._members(objects, value))
        value.rules = (rule, *range(first, len(self._rules)))

    def _text(self, language: Language, quote: str = "") -> int:
        """The rule of a text up to the quote behind it; of a number, which has none, up to its end."""
        states: dict[State, int] = {language.start: self._rules.reserve()}
        for state, moves, ends in walked(language, self._effort):
            if ends:
                self._rules.add(states[state], *([quote] if quote else []))
            targets: dict[State, list[tuple[int, int]]] = {}
            for low, high, target in moves:
                targets.setdefault(target, []).append((low, high))
            for target, characters in targets.items():
                if target not in states:
                    states[target] = self._rules.reserve()
                self._character(states[state], tuple(characters), states[target])
        return states[language.start]

    def _character(self, rule: int, characters: Ranges, behind: int) -> None:
        """Let a rule match a character and what stands behind it."""
        if plain := without(characters, _MARKED):
            self._rules.add(rule, plain, behind)
        marked = [point for low, high in common(characters, _MARKED) for point in range(low, high + 1)]
        if short := ranges("".join(_SHORT[point] for point in marked if point in _SHORT)):
            self._rules.add(rule, "\\", short, behind)
        for point in marked:
            if point not in _SHORT:
                self._rules.add(rule, f"\\u{point:04x}", behind)

    def _items(self, arrays: Arrays, around: _Value) -> int:
        """The rule of an array behind its bracket."""
        several = max(len(arrays.first), arrays.least, 1)
        """After so many items, an array without a bound goes on in the same way."""
        rules = [self._rules.reserve()]
        for count, rule in enumerate(rules):  # which grows meanwhile
            if count >= arrays.least:
                self._rules.add(rule, "]")
            need = arrays.need(count)
            wanted = arrays.longer or count < max(arrays.least, len(arrays.first))
            if need is None or not wanted or count == arrays.most:
                continue
            if arrays.most is not None or count < several:
                rules.append(self._rules.reserve())
            self._rules.add(rule, *self._comma(count), self._inner(need, around), rules[-1])
        return rules[0]

    def _members(self, objects: Objects, around: _Value) -> int:
        """The rule of an object behind its brace."""
        names = self._names(objects)
        writable = frozenset(name for name, _ in objects.properties if names is None or contains(names, name))
        other = -1
        if objects.further and objects.rest is not None:
            named = Words(name for name, _ in objects.properties)
            every = names or Strings().language(self._effort)
            other = self._text(texts_without(every, named), '"')
        start = _Written()
        rules = {start: self._rules.reserve()}
        waiting = [start]
        while waiting:
            so_far = waiting.pop()
            if so_far.position == len(objects.properties) and so_far.different >= objects.least:
                self._rules.add(rules[so_far], "}")
            for parts, then in self._further(objects, so_far, writable, other, around):
                if then not in rules:
                    rules[then] = self._rules.reserve()
                    waiting.append(then)
                self._rules.add(rules[so_far], *parts, rules[then])
        return rules[start]

    def _further(
        self, objects: Objects, so_far: _Written, writable: frozenset[str], other: int, around: _Value
    ) -> Iterator[tuple[Sequence[Symbol], _Written]]:
        """What may be written next, and how far the object has come then; `other` is the rule of other names, or -1."""
        full = objects.most is not None and so_far.count == objects.most
        comma = self._comma(so_far.count)
        if so_far.position == len(objects.properties):
            if other >= 0 and objects.rest is not None and not full:
                parts = (*comma, '"', other, ":", self._space, self._inner(objects.rest, around))
                yield parts, so_far.with_another(objects)
            return
        name, need = objects.properties[so_far.position]
        if need is not None and name in writable and not full:
            key = f"{json.dumps(name, ensure_ascii=False)}:"
            yield (*comma, key, self._space, self._inner(need, around)), so_far.with_next(objects)
        if name not in objects.required:
            yield (), replace(so_far, position=so_far.position + 1)

    def _names(self, objects: Objects) -> Language | None:
        """The names that properties may have; None: any."""
        if not objects.names:
            return None
        strings = self._keywords.shape(objects.names).strings
        return any_of([each.language(self._effort) for each in strings]) if strings else Words(())

    def _comma(self, count: int) -> Sequence[Symbol]:
        """What stands before a part of an array or object that has so many before it."""
        return (",", self._space) if count else ()

    def _check_ways(self) -> None:
        """Refuse what could be followed in too many ways at once.

        Raises:
            SchemaRefused: alternatives within one another begin alike.
        """
        alike = {value: self._alike(value.shape) for value in self._values.values()}
        branches = {value: max(map(self._rules.branches, value.rules)) for value in self._values.values()}
        self._root.ways = alike[self._root]
        waiting = [self._root]
        while waiting:
            value = waiting.pop()
            if value.ways > MOST_WAYS:
                told = f"alternatives within one another begin alike, in more than {MOST_WAYS} ways; "
                hint = "let each begin with a required property that tells it from the others"
                raise SchemaRefused(value.place, told + hint)
            if (count := value.ways * branches[value]) > MOST_BRANCHES:
                told = f"at one place it can go on in {count} ways, {MOST_BRANCHES} at most; "
                raise SchemaRefused(value.place, told + "make properties required, or leave alternatives out")
            for inner in value.within:
                self._effort.steps(1)
                if value.ways * alike[inner] > inner.ways:
                    inner.ways = value.ways * alike[inner]
                    waiting.append(inner)

    def _alike(self, shape: ValueShape) -> int:
        """In how many ways a value may be followed from its beginning."""
        objects = shape.objects
        self._effort.steps(len(objects) ** 2)
        alike = sum(
            any(begin_alike(one, other, self._keywords.shape) for other in objects if other is not one)
            for one in objects
        )
        return max(1, len(shape.arrays), alike)


@dataclass(frozen=True, slots=True)
class _Written:
    """How far the writing of an object has come, as far as that matters for what may follow."""

    position: int = 0
    """Of the next named property."""
    count: int = 0
    """Properties that are written, up to the most that there may be; without such a bound up to 1."""
    different: int = 0
    """Those that are known to have different names, up to the least that there have to be."""
    others: bool = False
    """Whether one of them is none of the named ones. Several of those may have the same name."""

    def with_next(self, objects: Objects) -> _Written:
        """With the next named property written."""
        return replace(self._with_one(objects), position=self.position + 1)

    def with_another(self, objects: Objects) -> _Written:
        """With one written that is none of the named ones."""
        more = self._with_one(objects)
        return replace(more, different=self.different if self.others else more.different, others=True)

    def _with_one(self, objects: Objects) -> _Written:
        most = 1 if objects.most is None else objects.most
        return replace(self, count=min(self.count + 1, most), different=min(self.different + 1, objects.least))
