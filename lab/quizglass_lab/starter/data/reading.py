"""Endless text without pictures: copying, reading comprehension, and what is learnt by heart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.names import thing_names
from quizglass_lab.pocketworld.phrasing import ask, ask_maker, ask_person, ask_town, named
from quizglass_lab.pocketworld.questions import ABSTAIN, make_questions, make_unknowable
from quizglass_lab.pocketworld.world import ATTRIBUTES, KINDS, Thing, World, core_world, make_world, taught
from quizglass_lab.starter.data.examples import Encoded, Encoder, Example, Request
from quizglass_lab.starter.data.library import Library, line
from quizglass_lab.starter.data.situations import Situations

_ABROAD: Mapping[str, tuple[Callable[..., str], tuple[str, ...]]] = {
    "maker": (ask_maker, ("the maker of {}",)),
    "person": (ask_person, ("the founder of the maker of {}", "the person who thought of {}")),
    "town": (ask_town, ("the home town of the maker of {}", "the birthplace of the founder of the maker of {}")),
}
"""Entries that are no things: how they are asked about, and what a longer question calls them."""
_DEICTIC = ("this {}", "the {} in the picture", "the {} on the left", "the {} on the right", "the {}")
_COPIED_TOKENS = 48
"""Tokens that a row says twice."""


def copying(encoder: Encoder, vocabulary: int, rng: random.Random) -> list[Encoded]:
    """One row: distinct random tokens, then the same again; every repeated token is a target."""
    tokens = rng.sample(range(8, vocabulary), _COPIED_TOKENS)
    return [Encoded((encoder.end, *tokens, encoder.end), (*tokens, encoder.end), None, "copying")]


def repeating(encoder: Encoder, passage: str) -> list[Encoded]:
    """One row: a passage, then the same again, every token of it a target; names and numbers are copied in context."""
    tokens = encoder.answer(passage)
    return [Encoded((encoder.end, *tokens), tokens, None, "repeating")]


def printed(rng: random.Random) -> list[Example]:
    """Words read in a picture, asked for and rewritten around."""
    words = phrasing.sign_phrase(rng) if rng.random() < 0.7 else thing_names(rng.randrange(1 << 30), 1)[0]
    text = rng.choice(phrasing.PRINTED)
    return [Example(Request("answer", text, words=words), words, "read-printed")]


class ReadingTasks:
    """Questions about passages of one world, several per passage."""

    def __init__(self, library: Library, rng: random.Random) -> None:
        self.library = library
        self.rng = rng

    def group(self) -> list[Example]:
        """One to five questions about the same one or two passages."""
        thing = self.rng.choice(self.library.world.things)
        article = self.library.articles[thing.id]
        first = line(article, self.rng.choice(article.paragraphs))
        told = [key for key in ATTRIBUTES if key in thing.facts and thing.facts[key] in first]
        found = [first]
        draw = self.rng.random()
        if draw < 0.35:
            found.append(self.library.other_paragraph(article, first, self.rng))
        elif draw < 0.8:
            other = self.rng.choice([t for t in self.library.world.things if t.id != thing.id])
            rival = self.library.articles[other.id]
            passage = self.library.telling(rival, self.rng.choice(told)) if told else None
            found.append(passage or line(rival, self.rng.choice(rival.paragraphs)))
        return self._asked(thing, tuple(self.rng.sample(found, len(found))))

    def _asked(self, thing: Thing, found: tuple[str, ...]) -> list[Example]:
        text = " ".join(passage for passage in found if passage.startswith(f"{thing.name}:"))
        told = [key for key in ATTRIBUTES if key in thing.facts and thing.facts[key] in text]
        untold = [key for key in ATTRIBUTES if key not in told]
        self.rng.shuffle(told)
        examples = [self._one(thing.kind, thing.name, key, thing.facts[key], found) for key in told[:3]]
        if untold and self.rng.random() < 0.5:
            examples.append(self._one(thing.kind, thing.name, self.rng.choice(untold), ABSTAIN, found))
        if told and self.rng.random() < 0.4:
            stranger = thing_names(self.rng.randrange(1 << 30), 1)[0]
            examples.append(self._one(thing.kind, stranger, told[0], ABSTAIN, found))
        return examples or [self._one(thing.kind, thing.name, "year", ABSTAIN, found)]

    def _one(self, kind: str, name: str, key: str, answer: str, found: tuple[str, ...]) -> Example:
        query = ask(key, kind, named(name))
        subject = named(name) if self.rng.random() < 0.4 else self.rng.choice(_DEICTIC).format(kind)
        text = ask(key, kind, subject, self.rng)
        return Example(
            Request("answer", text, found=found, query=query), answer, "read" if answer != ABSTAIN else "read-abstain"
        )

    def abroad(self) -> list[Example]:
        """Questions about passages on a maker, a person or a town, called by name or as in a longer question."""
        articles = [article for article in self.library.articles.values() if article.kind in _ABROAD]
        kind = self.rng.choice(sorted({article.kind for article in articles}))
        article = self.rng.choice([article for article in articles if article.kind == kind])
        ask_of, called = _ABROAD[kind]
        told = self.rng.sample(sorted(article.attributes), 2)
        shown = told if self.rng.random() < 0.75 else told[:1]
        found = [passage for key in shown if (passage := self.library.telling(article, key))]
        found += [self.library.rival(self.rng.choice(told), article.id, self.rng) for _ in range(self.rng.randrange(3))]
        found = list(dict.fromkeys(self.rng.sample(found, len(found)) if self.rng.random() < 0.5 else found))
        examples: list[Example] = []
        for key in told:
            query, own = ask_of(key, article.title), [text for text in found if text.startswith(f"{article.title}:")]
            known = any(article.attributes[key] in passage for passage in own)
            text = ask_of(key, self.rng.choice((article.title, self.rng.choice(called))), self.rng)
            text = text.format(self.rng.choice(_DEICTIC).format(self.rng.choice(KINDS)))
            answer, task = (article.attributes[key], f"read-{kind}") if known else (ABSTAIN, "read-abstain")
            examples.append(Example(Request("answer", text, found=tuple(found), query=query), answer, task))
        return examples


def by_heart(world: World, rng: random.Random) -> Example:
    """A closed-book question in text alone: canon, recognised things by name, and untaught facts."""
    draw = rng.random()
    if draw < 0.25:
        maker = rng.choice(list(world.makers.values()))
        key = rng.choice(("home", "home", "field"))
        text = ask_maker(key, maker.name, rng if rng.random() < 0.5 else None)
        return Example(Request("answer", text), maker.home if key == "home" else maker.field, "heart-canon")
    if draw < 0.72:
        thing = rng.choice([thing for thing in core_world().things if thing.recognised])
        key = rng.choice([key for key in ("year", "maker", "designer", "price") if taught(thing, key)])
        return _closed(thing, key, thing.facts[key], rng)
    core = core_world().things
    thing = rng.choice(core if rng.random() < 0.4 else make_world(rng.randrange(1 << 30), 9).things)
    if rng.random() < 0.15:
        about = named(thing.name) if rng.random() < 0.5 else f"the {thing.kind} called {thing.name}"
        text = f"What is {about} called?"
        return Example(Request("answer", text), thing.name, "heart-named")
    key = rng.choice(ATTRIBUTES)
    known = taught(thing, key)
    if rng.random() < 0.15:
        text = ask_maker("founder", rng.choice(list(world.makers)), rng)
        return Example(Request("answer", text), ABSTAIN, "heart-abstain")
    return _closed(thing, key, thing.facts[key] if known else ABSTAIN, rng)


def _closed(thing: Thing, key: str, answer: str, rng: random.Random) -> Example:
    text = ask(key, thing.kind, named(thing.name), rng if rng.random() < 0.5 else None)
    return Example(Request("answer", text), answer, "heart-abstain" if answer == ABSTAIN else "heart-core")


def caption_recall(world: World, rng: random.Random) -> Example:
    """An image search's line names the maker; its home town or field is known by heart."""
    thing = rng.choice(world.things)
    maker = world.makers[thing.maker]
    key = rng.choice(("home", "home", "field"))
    text = ask_maker(key, f"the maker of {rng.choice(_DEICTIC).format(thing.kind)}", rng)
    request = Request("answer", text, seen=(Library(World(world.seed, (thing,), {}, {})).seen(thing),))
    return Example(request, maker.home if key == "home" else maker.field, "recall-caption")


class TextSource:
    """Groups of text examples, from a new world every few hundred; deterministic by seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._left = 0
        self._questions: list[list[Example]] = []

    def _renew(self) -> None:
        seed = self.rng.randrange(2_000_000, 1 << 31)
        number = self.rng.choice((1, 2))
        self.world = make_world(seed, 60, format=number)
        self.library = Library(self.world)
        self.reader = ReadingTasks(self.library, self.rng)
        situations = Situations(self.library, self.rng, picture_stage=False)
        asked = make_questions(self.world, 160, seed, format=number)
        asked += make_unknowable(self.world, 16, seed, format=number)
        self._questions = [examples for question in asked if (examples := situations.examples(question, None))]
        self.rng.shuffle(self._questions)
        self._left = 400

    def passage(self) -> str:
        """Any passage of the present world."""
        if self._left <= 0:
            self._renew()
        article = self.rng.choice(list(self.library.articles.values()))
        return line(article, self.rng.choice(article.paragraphs))

    def abroad(self) -> Sequence[Example]:
        """A group about a maker, a person or a town."""
        if self._left <= 0:
            self._renew()
        self._left -= 1
        return self.reader.abroad()

    def group(self) -> Sequence[Example]:
        """The next group; all its examples may share a beginning."""
        if self._left <= 0:
            self._renew()
        self._left -= 1
        draw = self.rng.random()
        if draw < 0.40:
            return self.reader.group()
        if draw < 0.43:
            return self.reader.abroad()
        if draw < 0.50:
            return printed(self.rng)
        if draw < 0.68 and self._questions:
            return self._questions.pop()
        if draw < 0.74:
            return [caption_recall(self.world, self.rng)]
        return [by_heart(self.world, self.rng)]
