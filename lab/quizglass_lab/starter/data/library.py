"""What retrieval would bring for a question: lines and passages of one world, in the form the server gives them."""

from __future__ import annotations

import random
from functools import cached_property

from quizglass_lab.pocketworld.articles import Article, maker_id, thing_article, world_articles
from quizglass_lab.pocketworld.question import Hop, Question
from quizglass_lab.pocketworld.world import Thing, World
from quizglass_server.domain.facts import fact

_FACTS = 0.6
"""Share of results about an attribute that are a sentence and no paragraph."""
_BEST_FIRST = 0.75
"""How often the passage that tells most stands before the others, as a reranker mostly has it."""


def line(article: Article, text: str) -> str:
    """An entry's text as evidence: "<title>: <text>"."""
    return f"{article.title}: {text}"


class Library:
    """The articles of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.things = {thing.id: thing for thing in world.things}
        self.makers = {maker_id(maker.name): maker for maker in world.makers.values()}

    @cached_property
    def articles(self) -> dict[str, Article]:
        """Every article by its id."""
        return {article.id: article for article in world_articles(self.world)}

    def write_articles(self) -> None:
        """Write every article now, instead of when one is asked for."""
        _ = self.articles

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

    def findable(self, thing: Thing) -> bool:
        """Whether an entry tells of it, so that searches can bring it."""
        return thing.id in self.articles

    def told(self, hop: Hop) -> str | None:
        """The passage of a hop's entry that tells what it asks for."""
        article = self.articles.get(hop.entry)
        if article is None:
            return None
        return next((line(article, text) for text in article.paragraphs if hop.answer in text), None)

    def _fact(self, hop: Hop, query: str, rng: random.Random) -> str | None:
        """What a hop asks for, as the sentence that a search adds where its query names both entry and attribute."""
        article = self.articles.get(hop.entry)
        if article is None or article.title not in query or rng.random() >= _FACTS:
            return None
        keys = [key for key, value in article.attributes.items() if value == hop.answer and key in query]
        return line(article, fact(keys[0], hop.answer)) if keys else None

    def found(self, question: Question, rng: random.Random) -> tuple[str, ...]:
        """The best passages for a question's gold query, those of its last hop first; see `vain` where none tells."""
        hops = [hop for hop in question.hops if hop.action == "text"]
        if len(hops) > 1:
            query = question.gold_query
            passages = [passage for hop in reversed(hops) if (passage := self._fact(hop, query, rng) or self.told(hop))]
            alike = len({hop.round for hop in hops}) == 1
            return tuple(dict.fromkeys(rng.sample(passages, len(passages)) if alike else passages))
        entries = [self.articles[entry] for entry in question.gold_entries if entry in self.articles]
        if question.claims and entries:
            paragraphs = entries[-1].paragraphs
            return tuple(line(entries[-1], text) for text in rng.sample(paragraphs, rng.choice((2, len(paragraphs)))))
        attribute = question.gold_attribute or ""
        telling = [passage for entry in entries if (passage := self.telling(entry, attribute))]
        if hops and (passage := self.told(hops[0])):
            telling = [passage]
        if not telling:
            return self.vain(question, rng)
        best = telling[-1]
        holder = next((entry for entry in entries if best.startswith(f"{entry.title}:")), entries[-1])
        beside = [self.other_paragraph(holder, best, rng), *(self.rival(attribute, holder.id, rng) for _ in range(2))]
        others = rng.sample(beside, rng.choices((0, 1, 2), (0.15, 0.4, 0.45))[0])
        brought = tuple(dict.fromkeys((best, *others)))
        return brought if rng.random() < _BEST_FIRST else tuple(rng.sample(brought, len(brought)))

    def vain(self, question: Question, rng: random.Random) -> tuple[str, ...]:
        """Passages that do not hold the answer: of the thing itself, or of others."""
        answers, most = _answers(question), rng.choice((2, 3))
        passages = list(self.silent(question, rng)) if rng.random() < 0.7 else []
        for _ in range(20):
            passage = self.rival(question.gold_attribute, question.target or "", rng)
            if not any(answer in passage for answer in answers):
                passages.append(passage)
            if len(passages) >= most:
                break
        return tuple(passages)

    def silent(self, question: Question, rng: random.Random) -> tuple[str, ...]:
        """A passage of the thing itself that does not hold the answer; none where there is no such passage."""
        target, answers = self.articles.get(question.target or ""), _answers(question)
        others = [text for text in target.paragraphs if not any(each in text for each in answers)] if target else []
        return (line(target, rng.choice(others)),) if target and others else ()


def _answers(question: Question) -> set[str]:
    return {question.answer, *(hop.answer for hop in question.hops if hop.action == "text")}
