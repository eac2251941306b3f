"""Notes about a person's own things, whose facts have qualifiers: "every three weeks", "unless it rains".

The table has a sentence of each fact in which the answer stands with its qualifier, in the note's own words. Nothing in
it is true, so who learns from it learns to read.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("qualified.toml")
_WORDS = "words"
_SLOT = re.compile(r"\{(\w+?)2?\}")
_IT = "{it}"
_ANSWER = re.compile(r"\[(.+)\]")


@dataclass(frozen=True, slots=True)
class FactKind:
    """What may be said of things of one kind, and asked."""

    qualifier: str
    """What kind of qualifier its answer has, such as "frequency"; empty: it is a bare value."""
    sentences: tuple[str, ...]
    """With `[...]` around the answer and words to be drawn in braces."""
    questions: tuple[str, ...]
    """With `{it}`, where they name the thing."""


@dataclass(frozen=True, slots=True)
class ThingKind:
    """Things of one kind, with the facts that notes about them may have."""

    name: str
    nouns: tuple[str, ...]
    named: bool
    """Whether they have names, as pets have."""
    held_out: bool
    """Whether they are kept to measure on."""
    facts: tuple[FactKind, ...]


@dataclass(frozen=True, slots=True)
class SaidFact:
    """A fact as one note says it."""

    kind: FactKind
    sentence: str
    answer: str
    """Its part that answers, word for word."""


@dataclass(frozen=True, slots=True)
class NotedThing:
    """A thing and its note."""

    kind: ThingKind
    noun: str
    title: str
    facts: tuple[SaidFact, ...]

    def asked(self, question: str, *, pointed: bool, chance: random.Random) -> str:
        """A question about it: by its title, or as a person asks who looks at it."""
        named = self.title if self.kind.named or "'s " in self.title else f"the {self.noun}"
        this = f"this {self.noun}"
        return question.replace(_IT, (this if self.kind.named else chance.choice((this, "it"))) if pointed else named)


@dataclass(frozen=True)
class Table:
    """Everything that may be said and asked, and the words that are drawn."""

    kinds: Sequence[ThingKind]
    words: Mapping[str, Sequence[str]]

    def things(self, chance: random.Random, *, held_out: bool) -> Iterator[NotedThing]:
        """One thing after the other, for ever; those to measure on are new things, or have new wordings.

        Each note has every fact of its kind, in an order that is drawn.
        """
        kinds = [kind for kind in self.kinds if held_out or not kind.held_out for _ in kind.facts]
        new = [kind for kind in kinds if kind.held_out]
        while True:
            kind = chance.choice(new if held_out and chance.random() < 0.5 else kinds)
            noun = chance.choice(kind.nouns)
            facts = [self._said(fact, chance, last=held_out and not kind.held_out) for fact in kind.facts]
            chance.shuffle(facts)
            yield NotedThing(kind, noun, self._title(kind, noun, chance), tuple(facts))

    def _title(self, kind: ThingKind, noun: str, chance: random.Random) -> str:
        if kind.named:
            return chance.choice(self.words["name" if kind.name == "pet" else "person"])
        if chance.random() < 0.5:
            return f"{chance.choice(self.words['person'])}'s {noun}"
        return noun[0].upper() + noun[1:]

    def _said(self, fact: FactKind, chance: random.Random, *, last: bool) -> SaidFact:
        """One of its sentences; the last one is kept for measuring."""
        template = fact.sentences[-1] if last else chance.choice(fact.sentences[: max(1, len(fact.sentences) - 1)])
        drawn: dict[str, str] = {}
        for word in _SLOT.findall(template):
            words = self.words[word]
            first, second = sorted(chance.sample(range(len(words)), 2))
            drawn |= {word: words[first], f"{word}2": words[second]}
        text = template.format_map(drawn)
        begin = next(place for place, letter in enumerate(text) if letter != "[")
        text = text[:begin] + text[begin].upper() + text[begin + 1 :]
        before, _, rest = text.partition("[")
        answer, _, after = rest.partition("]")
        return SaidFact(fact, before + answer + after, answer)


@cache
def read_table() -> Table:
    """The table beside this module.

    Raises:
        ValueError: a fact has fewer than two sentences or questions, or a sentence no answer; names it.
    """
    content = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    words = content.pop(_WORDS)
    kinds = []
    for name, kind in content.items():
        facts = tuple(
            FactKind(each.get("qualifier", ""), tuple(each["say"]), tuple(each["ask"])) for each in kind["facts"]
        )
        for fact in facts:
            if min(len(fact.sentences), len(fact.questions)) < 2 or not all(map(_ANSWER.search, fact.sentences)):
                raise ValueError(f"{TABLE.name}: {name}: {fact.sentences[0]!r}: two of each are needed, with answers")
        named, held_out = kind.get("names", False), kind.get("held_out", False)
        kinds.append(ThingKind(name, tuple(kind["nouns"]), named, held_out, facts))
    return Table(kinds, words)
