"""What the everyday generator is taught with, so that its answers are whole: with what limits the fact that they say.

Notes about a person's own things, invented ones (`everyday/qualified.toml`) and those that people wrote for the
reranker (`answering/notes`). Of the first the answer is the value with its qualifier; of the second a short sentence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from quizglass_lab.answering.notes import OwnNote
from quizglass_lab.everyday.qualified import FactKind, NotedThing, SaidFact, read_table
from quizglass_lab.finetuning.recipes.everyday_notes import ABSTAIN
from quizglass_lab.finetuning.training.examples import TrainingExample

QUALIFIED, UNQUALIFIED, SENTENCE = "qualified", "unqualified", "sentence"
"""Objectives: a value with its qualifier, a bare value of such a note, and a note's sentence."""
_MOST_WORDS = 14
"""Of a sentence that is an answer: it is heard."""
_LONGEST_NOTE = 110
"""Words of a note that is shown whole."""
_QUALIFIED_SHARE = 0.8


def about_own_things(count: int, abstain: float, seed: int, *, held_out: bool) -> Iterator[TrainingExample]:
    """Questions about facts with qualifiers, some about bare ones, and some that the note does not answer.

    Args:
        count: how many.
        abstain: share whose notes do not say what is asked.
        seed: of everything that is drawn.
        held_out: whether they are to measure on: about other things, or in other words.
    """
    chance = random.Random(seed)
    things = read_table().things(chance, held_out=held_out)
    for number in range(count):
        thing = next(things)
        qualified = chance.random() < _QUALIFIED_SHARE
        fact = chance.choice([each for each in thing.facts if bool(each.kind.qualifier) == qualified])
        told = chance.random() >= abstain
        objective = (QUALIFIED if qualified else UNQUALIFIED) if told else "abstain"
        while (other := next(things)).noun == thing.noun or other.title == thing.title:
            pass
        question = _question(fact.kind, chance, last=held_out and not thing.kind.held_out)
        values = _shown(thing, fact, other, question, told=told, chance=chance)
        target = fact.answer if told else ABSTAIN
        yield _example(f"qualified/{thing.kind.name}/{number}", objective, values, target)


def from_notes(notes: Sequence[OwnNote], most: int, abstain: float, seed: int) -> Iterator[TrainingExample]:
    """Questions about notes that people wrote, answered by one short sentence of them or by none.

    Args:
        notes: with their questions.
        most: how many questions at most; they are drawn.
        abstain: share of them, at most, that the note leaves open.
        seed: of what is drawn.
    """
    chance = random.Random(seed)
    some = list(_of_notes(notes))
    chance.shuffle(some)
    answered = [each for each in some if each.objective == SENTENCE][: round(most * (1 - abstain))]
    left_open = [each for each in some if each.objective != SENTENCE]
    yield from answered
    yield from left_open[: round(len(answered) * abstain / (1 - abstain))]


def _of_notes(notes: Sequence[OwnNote]) -> Iterator[TrainingExample]:
    for number, note in enumerate(notes):
        text = f"{note.title}: {' '.join(note.sentences)}"
        if len(text.split()) > _LONGEST_NOTE:
            continue
        for place, question in enumerate(note.questions):
            values = {"question": question.text, "seen": [text], "found": []}
            name = f"note/{number}/{place}"
            if not question.answers:
                yield _example(name, "abstain", values, ABSTAIN)
            elif len(question.answers) == len(question.answers[0]) == 1:
                sentence = note.sentences[question.answers[0].start]
                if len(sentence.split()) <= _MOST_WORDS:
                    yield _example(name, SENTENCE, values, sentence.rstrip("."))


def _question(kind: FactKind, chance: random.Random, *, last: bool) -> str:
    return kind.questions[-1] if last else chance.choice(kind.questions[:-1])


def _shown(
    thing: NotedThing, asked: SaidFact, other: NotedThing, question: str, *, told: bool, chance: random.Random
) -> dict[str, Any]:
    """The note, with what is asked or without it and with other facts, at times beside the note of another thing."""
    rest = [each for each in thing.facts if each is not asked]
    own = chance.sample(rest, chance.randint(1, min(4, len(rest)))) + [asked] * told
    chance.shuffle(own)
    note, beside = _note(thing, own), _note(other, other.facts[: chance.randint(1, 3)])
    others = [beside] * (chance.random() < 0.4)
    if (pointed := chance.random() < 0.7) or "{it}" not in question:
        seen, found = [note], others
    else:
        seen, found = [], chance.sample([note, *others], 1 + len(others))
    return {"question": thing.asked(question, pointed=pointed, chance=chance), "seen": seen, "found": found}


def _note(thing: NotedThing, facts: Sequence[SaidFact]) -> str:
    return f"{thing.title}: {' '.join(each.sentence for each in facts)}"


def _example(name: str, objective: str, values: dict[str, Any], target: str) -> TrainingExample:
    return TrainingExample(id=f"{name}//{objective}", objective=objective, task="answer", values=values, target=target)
