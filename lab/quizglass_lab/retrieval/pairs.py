"""Queries with the passages that answer them, from worlds of any seed.

A passage is "<title>: <paragraph>", the form in which the server embeds and reranks chunks.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.articles import Article, maker_id, person_id, town_id, world_articles
from quizglass_lab.pocketworld.questions import Question, make_questions
from quizglass_lab.pocketworld.world import FORMATS, Thing, World, make_world


@dataclass(frozen=True)
class Passage:
    """One paragraph of an entry, in the form that models read."""

    entry: str
    kind: str
    title: str
    text: str


@dataclass(frozen=True)
class Pair:
    """A gold query, the numbers of the passages that answer it, and the attribute that they tell (or ABOUT)."""

    query: str
    gold: tuple[int, ...]
    attribute: str
    family: str


_PERSON_ASKS: dict[str, tuple[str, ...]] = {
    "birthplace": ("Where was {p} born?", "What is the birthplace of {p}?", "In which town was {p} born?"),
    "birthyear": ("When was {p} born?", "In which year was {p} born?"),
}

_TOWN_TELLS = ("river", "craft", "people")
ABOUT = "about"
"""Stands for any attribute, where a query asks for whatever there is to tell of an entry."""
COLOUR = "colour"
"""What the first passage of a thing tells in words ("Kincel is a pink car") and the store keeps no attribute of."""


def _canonical_half(rng: random.Random) -> random.Random | None:
    """None, which asks for the canonical wording, half of the time."""
    return rng if rng.random() < 0.5 else None


def article_passages(article: Article) -> list[Passage]:
    """The passages of an article, one per paragraph."""
    return [
        Passage(article.id, article.kind, article.title, f"{article.title}: {paragraph}")
        for paragraph in article.paragraphs
    ]


class PassageLibrary:
    """All passages of a world, and pairs: of its questions, or endless ones to train with."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.articles = {article.id: article for article in world_articles(world)}
        self.passages: list[Passage] = []
        self.of_entry: dict[str, list[int]] = {}
        for article in self.articles.values():
            start = len(self.passages)
            self.passages += article_passages(article)
            self.of_entry[article.id] = list(range(start, len(self.passages)))
        self._makers = tuple(world.makers.values())
        self._people = tuple(world.people.values())
        self._towns = tuple(world.towns.values())

    def holding(self, entry: str, attribute: str) -> tuple[int, ...]:
        """Passages of an entry that tell an attribute; empty when the article does not."""
        value = self.told_of(entry).get(attribute)
        if value is None:
            return ()
        return tuple(i for i in self.of_entry[entry] if value in self.passages[i].text)

    def told_of(self, entry: str) -> dict[str, str]:
        """What an entry's article tells by attribute, in its words; empty where there is no such entry."""
        if entry not in self.articles:
            return {}
        values = self.articles[entry].attributes
        if entry not in self.thing_index:
            return dict(values)
        thing = self.world.things[self.thing_index[entry]]
        return {**values, COLOUR: f"{thing.look.body} {thing.kind}"}

    def pair(self, question: Question) -> Pair | None:
        """The pair of a question, or None when no passage answers its gold query.

        Of several hops the gold query names the last but one entry: the maker, whose founder was born somewhere.
        """
        if question.gold_attribute is None:
            return None
        gold = [i for entry in question.gold_entries for i in self.holding(entry, question.gold_attribute)]
        if question.family == "founder-birthplace":
            gold = list(self.holding(question.gold_entries[1], "founder"))
        if not gold:
            return None
        return Pair(question.gold_query, tuple(gold), question.gold_attribute, question.family)

    def pairs(self, count: int, seed: int) -> list[Pair]:
        """Pairs of the text hops of `count` questions of the newest format, each query once."""
        questions = make_questions(self.world, count, seed, format=FORMATS[-1])
        hops = ((question, hop) for question in questions for hop in question.hops if hop.action == "text")
        found = {hop.query: self._told(hop.query, hop.answer, hop.entry, question.family) for question, hop in hops}
        return [pair for pair in found.values() if pair.gold]

    def _told(self, query: str, answer: str, entry: str, family: str) -> Pair:
        """A pair whose attribute is the one that the entry has this answer for."""
        told = self.told_of(entry)
        attribute = next((name for name, value in told.items() if value == answer), "")
        if not attribute and told.get(COLOUR, "").startswith(f"{answer} "):
            attribute = COLOUR
        return Pair(query, self.holding(entry, attribute) if attribute else (), attribute, family)

    def draw(self, rng: random.Random) -> Pair:
        """A pair to train with, in any of the wordings."""
        share = rng.random()
        if share < 0.2:
            return self._about_maker(rng)
        if share < 0.26:
            return self._about_person(rng)
        if self._towns and share > 0.8:
            return self._about_town(rng)
        thing = rng.choice(self.world.things)
        if share < 0.31:
            return self._comparison(thing, rng)
        if share < 0.35:
            return self._all_about(thing, rng)
        attribute, name = rng.choice((*thing.facts, COLOUR)), phrasing.named(thing.name)
        if attribute == COLOUR:
            query = phrasing.ask_colour(name, _canonical_half(rng))
        else:
            query = phrasing.ask(attribute, thing.kind, name, _canonical_half(rng))
        return Pair(query, self.holding(thing.id, attribute), attribute, "thing")

    def _about_maker(self, rng: random.Random) -> Pair:
        maker = rng.choice(self._makers)
        attribute = rng.choice(("founder", "founder", "home", "field", "birthplace"))
        query = phrasing.ask_maker(attribute, maker.name, _canonical_half(rng))
        told = "founder" if attribute == "birthplace" else attribute
        return Pair(query, self.holding(maker_id(maker.name), told), told, "maker")

    def _about_person(self, rng: random.Random) -> Pair:
        person = rng.choice(self._people)
        attribute = rng.choice(tuple(_PERSON_ASKS))
        query = rng.choice(_PERSON_ASKS[attribute]).format(p=person.name)
        return Pair(query, self.holding(person_id(person.name), attribute), attribute, "person")

    def _about_town(self, rng: random.Random) -> Pair:
        town = rng.choice(self._towns)
        attribute = rng.choice(_TOWN_TELLS)
        query = phrasing.ask_town(attribute, town.name, _canonical_half(rng))
        return Pair(query, self.holding(town_id(town.name), attribute), attribute, "town")

    def _comparison(self, thing: Thing, rng: random.Random) -> Pair:
        other = rng.choice(self.world.things)
        attribute = rng.choice([a for a in ("year", "price") if a in thing.facts])
        names = [phrasing.named(name) for name in rng.sample((thing.name, other.name), 2)]
        query = phrasing.ask_which(attribute, rng.random() < 0.5, names[0], names[1], rng)
        gold = {*self.holding(thing.id, attribute), *self.holding(other.id, attribute)}
        return Pair(query, tuple(sorted(gold)), attribute, "comparison")

    def _all_about(self, thing: Thing, rng: random.Random) -> Pair:
        query = phrasing.ask_about(phrasing.named(thing.name), rng)
        return Pair(query, tuple(self.of_entry[thing.id]), ABOUT, "about")

    @cached_property
    def thing_index(self) -> dict[str, int]:
        """Number of every thing by its entry."""
        return {thing.id: i for i, thing in enumerate(self.world.things)}

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """Entries whose titles share the first or the last letters (a syllable, most often) with an entry's."""
        groups: dict[str, list[str]] = defaultdict(list)
        for article in self.articles.values():
            for key in _name_ends(article.title):
                groups[key].append(article.id)
        return {
            article.id: [other for key in _name_ends(article.title) for other in groups[key] if other != article.id]
            for article in self.articles.values()
        }

    def hard_negatives(self, pair: Pair, rng: random.Random, others: int) -> list[int]:
        """The rest of the gold entries' articles, then passages of `others` entries with a similar name, or of any."""
        gold = set(pair.gold)
        entries = list(dict.fromkeys(self.passages[i].entry for i in pair.gold))
        negatives = [i for entry in entries for i in self.of_entry[entry] if i not in gold]
        near = [other for entry in entries for other in self.neighbours[entry]]
        near = near or [entry for entry in self.of_entry if entry not in entries]
        similar = rng.sample(near, min(others, len(near)))
        return [*negatives, *(rng.choice(self.of_entry[other]) for other in similar)]


def _name_ends(title: str) -> tuple[str, str]:
    last = title.split()[-1].lower()
    return f"^{last[:3]}", f"{last[-3:]}$"


def training_libraries(count: int, things: int, seed: int) -> Sequence[PassageLibrary]:
    """Worlds that neither the core nor the published measurements use, of every format in turn."""
    seeds = range(2_000_000 + 1000 * seed, 2_000_000 + 1000 * seed + count)
    return [PassageLibrary(make_world(each, things, format=FORMATS[each % len(FORMATS)])) for each in seeds]
