"""What retrieval would bring for a question: lines and passages of one world, in the form the server gives them."""

from __future__ import annotations

import random
from functools import cached_property

from quizglass_export.pocketworld.articles import Article, thing_article, world_articles
from quizglass_export.pocketworld.questions import Question
from quizglass_export.pocketworld.world import Thing, World


def line(article: Article, text: str) -> str:
    """An entry's text as evidence: "<title>: <text>"."""
    return f"{article.title}: {text}"


class Library:
    """The articles of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.things = {thing.id: thing for thing in world.things}

    @cached_property
    def articles(self) -> dict[str, Article]:
        """Every article by its id."""
        return {article.id: article for article in world_articles(self.world)}

    @cached_property
    def _holders(self) -> dict[str, list[Article]]:
        """Attribute to the articles that tell it."""
        holders: dict[str, list[Article]] = {}
        for article in self.articles.values():
            for attribute in article.attributes:
                holders.setdefault(attribute, []).append(article)
        return holders

    def seen(self, thing: Thing) -> str:
        """What an image search that finds this thing brings."""
        article = self.articles[thing.id] if thing.id in self.articles else thing_article(self.world, thing)
        return line(article, article.caption)

    def telling(self, article: Article, attribute: str) -> str | None:
        """The passage of an article that tells an attribute."""
        value = article.attributes.get(attribute)
        if value is None:
            return None
        return next((line(article, text) for text in article.paragraphs if value in text), None)

    def other_paragraph(self, article: Article, avoid: str, rng: random.Random) -> str:
        """Another passage of the same article."""
        options = [line(article, text) for text in article.paragraphs]
        return rng.choice([option for option in options if option != avoid] or options)

    def rival(self, attribute: str | None, avoid: str, rng: random.Random) -> str:
        """A passage of another entry, on the same attribute where one tells it."""
        holders = self._holders.get(attribute or "", []) or list(self.articles.values())
        for _ in range(8):
            article = rng.choice(holders)
            if article.id != avoid:
                break
        return self.telling(article, attribute or "") or line(article, rng.choice(article.paragraphs))

    def found(self, question: Question, rng: random.Random) -> tuple[str, ...]:
        """The one or two best passages for a question's gold query, the best first."""
        entries = [self.articles[entry] for entry in question.gold_entries if entry in self.articles]
        attribute = question.gold_attribute
        if question.family == "comparison" and attribute and len(entries) == 2:
            pair = [self.telling(entry, attribute) or "" for entry in entries]
            return tuple(rng.sample(pair, 2))
        if question.family == "founder-birthplace":
            return self._hops(question, entries)
        telling = [passage for entry in entries if (passage := self.telling(entry, attribute or ""))]
        if not telling:
            return self._vain(question, rng)
        best = telling[-1]
        holder = next(entry for entry in reversed(entries) if self.telling(entry, attribute or ""))
        draw = rng.random()
        if draw < 0.15:
            return (best,)
        if draw < 0.5:
            return (best, self.other_paragraph(holder, best, rng))
        return (best, self.rival(attribute, holder.id, rng))

    def _hops(self, question: Question, entries: list[Article]) -> tuple[str, ...]:
        maker, person = entries[1], entries[2]
        first, second = self.telling(maker, "founder"), self.telling(person, "birthplace")
        return tuple(passage for passage in (first, second) if passage)

    def _vain(self, question: Question, rng: random.Random) -> tuple[str, ...]:
        """Passages that do not hold the answer: of the thing itself, or of others."""
        target = self.articles.get(question.target or "")
        passages: list[str] = []
        if target is not None and rng.random() < 0.7:
            passages.append(line(target, rng.choice(target.paragraphs)))
        while len(passages) < 2:
            passages.append(self.rival(question.gold_attribute, question.target or "", rng))
        return tuple(passages)
