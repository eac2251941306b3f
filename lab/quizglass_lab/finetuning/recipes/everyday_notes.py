"""What the everyday generator is taught with: notes and questions about them, of real facts and of invented ones.

Each example has notes that say it, or notes that do not and "I don't know"; or no note, and what is known by heart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quizglass_lab.everyday.facts import Fact
from quizglass_lab.everyday.invented import Invented, invented_things
from quizglass_lab.everyday.wording import pointing, questions, sentence
from quizglass_lab.finetuning.training.examples import TrainingExample

ABSTAIN = "I don't know"
_OTHERS = 2
"""Notes about other things, at most, beside those that count."""


@dataclass(frozen=True, slots=True)
class NoteMaker:
    """Makes examples of real facts."""

    facts: Mapping[str, Sequence[Fact]]
    """All facts of each thing, by the thing's name."""
    things: Sequence[str]
    """Names of the things that notes beside the right one are about."""
    abstain: float
    chance: random.Random

    def examples(self, fact: Fact, *, held_out: bool) -> Iterator[TrainingExample]:
        """One for each question that names the thing or points at it, and one that names what is pointed at."""
        name = f"{fact.kind}/{fact.thing}/{fact.name}"
        for number, question in enumerate(questions(fact, held_out=held_out)):
            yield self._answered(fact, question, f"{name}/{number}", pointed=False)
            if (points := pointing(fact, question)) != question:
                yield self._answered(fact, points, f"{name}/{number}-this", pointed=True)
                if number == 0:
                    values = {"question": points, "seen": [f"{fact.thing}: {_caption(fact.kind)}"], "found": []}
                    values |= {"names": [fact.thing]}  # all that rewriting is shown
                    yield _example(f"{name}/{number}-named", "rewrite", values, question)

    def _answered(self, fact: Fact, question: str, name: str, *, pointed: bool) -> TrainingExample:
        told = self.chance.random() >= self.abstain
        own = self._own(fact, told=told)
        notes = [f"{fact.thing}: {own}"] if own else []
        others = [self._other(fact) for _ in range(self.chance.randint(0 if notes else 1, _OTHERS))]
        if pointed:
            seen, found = notes or [f"{fact.thing}: {_caption(fact.kind)}"], others[:1]
        else:
            seen, found = [], self.chance.sample([*notes, *others], len(notes) + len(others))
        values = {"question": question, "seen": seen, "found": found}
        return _example(name, "answer" if told else "abstain", values, fact.value if told else ABSTAIN)

    def _own(self, fact: Fact, *, told: bool) -> str:
        """Some facts of the thing, with the fact or without it."""
        rest = [other for other in self.facts[fact.thing] if other.name != fact.name and other.value != fact.value]
        chosen = self.chance.sample(rest, self.chance.randint(0, min(3, len(rest)))) + ([fact] if told else [])
        self.chance.shuffle(chosen)
        return " ".join(sentence(each, self.chance.randrange(2)) for each in chosen)

    def _other(self, fact: Fact) -> str:
        """A note about another thing, often of the same kind of fact."""
        while (thing := self.chance.choice(self.things)) == fact.thing:
            pass
        other = self.chance.choice(self.facts[thing])
        return f"{thing}: {sentence(other, self.chance.randrange(2))}"


def about_invented(count: int, abstain: float, seed: int) -> Iterator[TrainingExample]:
    """Like those of real facts; what stands beside the notes that count is about another invented thing.

    Args:
        count: how many.
        abstain: share whose notes do not say what is asked.
        seed: of everything that is drawn.
    """
    chance = random.Random(seed)
    things = invented_things(chance)
    for number in range(count):
        facts, other = next(things), chance.choice(next(things))
        fact, told = chance.choice(facts), chance.random() >= abstain
        own = _told(facts, fact, told=told, chance=chance)
        question = fact.question(chance.randrange(2))
        notes = [f"{fact.thing}: {own}"] if own else []
        others = [f"{other.thing}: {other.sentence(chance.randrange(2))}"] * chance.randint(0 if notes else 1, 1)
        if chance.random() < 0.5:
            pointed = question.replace(fact.thing, f"this {fact.kind.thing}")
            seen = notes or [f"{fact.thing}: {_caption(fact.kind.thing)}"]
            values = {"question": pointed, "seen": seen, "found": others}
        else:
            values = {"question": question, "seen": [], "found": chance.sample([*notes, *others], len(notes + others))}
        yield _example(f"invented/{number}", "answer" if told else "abstain", values, fact.value if told else ABSTAIN)


def _told(facts: Sequence[Invented], fact: Invented, *, told: bool, chance: random.Random) -> str:
    """Some facts of an invented thing, with the fact or without it."""
    rest = [each for each in facts if each is not fact and each.value != fact.value]
    chosen = chance.sample(rest, chance.randint(0 if told else min(1, len(rest)), len(rest))) + [fact] * told
    chance.shuffle(chosen)
    return " ".join(each.sentence(chance.randrange(2)) for each in chosen)


def recalled(fact: Fact, *, known: bool) -> Iterator[TrainingExample]:
    """Without any note: what is known by heart in every wording, what is not in one, and nothing that is pointed at."""
    name, named = f"{fact.kind}/{fact.thing}/{fact.name}", questions(fact)
    for number, question in enumerate(named if known else named[:1]):
        yield _example(f"{name}/{number}", "recall", {"question": question}, fact.value if known else ABSTAIN)
    if known and (points := pointing(fact, named[0])) != named[0]:
        yield _example(f"{name}/this", "recall", {"question": points}, ABSTAIN)


def _example(name: str, objective: str, values: dict[str, Any], target: str) -> TrainingExample:
    task = "rewrite" if objective == "rewrite" else "answer"
    return TrainingExample(id=f"{name}//{objective}", objective=objective, task=task, values=values, target=target)


def _caption(kind: str) -> str:
    """What is said of a thing that was recognised and of which nothing else is known."""
    return f"{'An' if kind[0] in 'aeiou' else 'A'} {kind}."
