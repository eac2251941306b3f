"""What questions of several lookups take, for the reranker: chains of passages, and halves.

Who founded the maker of a thing stands in two passages, the second found by the name in the first. A reranker that
only ever read one at a time takes the first for the whole answer, and the second for one about something else. Taught
that, it takes half of a comparison for nothing, unless it is taught that too.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from quizglass.values import Origin
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import FORMATS
from quizglass_lab.retrieval.pairs import Passage, PassageLibrary
from quizglass_lab.retrieval.rerank_data import Candidate, similar_name
from quizglass_server.domain.facts import fact
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.links import names, whole_line

_QUESTIONS = 4_000
_FACTS = 0.3
_HALVES = 0.35


class Links:
    """Draws candidates of questions with several lookups: one after the other, or side by side."""

    def __init__(self, library: PassageLibrary, seed: int) -> None:
        questions = make_questions(library.world, _QUESTIONS, seed, format=FORMATS[-1])
        self.library = library
        self.chains = [chain for question in questions if (chain := self._chain(question))]
        """Gold queries, each with the numbers of the passages that lead to its answer, and the answer."""
        self.halves = [half for question in questions for half in self._halves(question)]
        """Gold queries about several things, each with the number of a passage about one of them, and what it tells."""

    def draw(self, rng: random.Random) -> Candidate:
        """Two in five are right; the others lack the last passage, end in another, or begin with another thing."""
        if rng.random() < _HALVES:
            return self._half(rng)
        query, numbers, answer = rng.choice(self.chains)
        share = rng.random()
        if share < 0.4:
            return self._candidate(query, numbers, answer, facts=rng.random() < _FACTS)
        wrong: Callable[[], Candidate | None] = rng.choice(
            (
                lambda: self._candidate(query, numbers[:-1], facts=rng.random() < _FACTS),
                lambda: self._beside(query, numbers, answer, rng),
                lambda: self._elsewhere(query, numbers, rng),
                lambda: self._elsewhere(query, numbers, rng),
                lambda: self._renamed(query, numbers, rng),
                lambda: self._needless(rng),
            )
        )
        return wrong() or self._candidate(query, numbers[:-1])

    def _chain(self, question: Question) -> tuple[str, tuple[int, ...], str] | None:
        hops = [hop for hop in question.hops if hop.action == "text"]
        if len({hop.round for hop in hops}) < max(2, len(hops)):
            return None
        numbers: list[int] = []
        for hop in hops:
            own = self.library.of_entry.get(hop.entry, [])
            telling = [number for number in own if hop.answer in self.library.passages[number].text]
            if not telling:
                return None
            if numbers and self.library.passages[telling[0]].title not in names(
                self.library.passages[numbers[-1]].text
            ):
                return None
            numbers.append(telling[0])
        return question.gold_query, tuple(numbers), hops[-1].answer

    def _halves(self, question: Question) -> Iterator[tuple[str, int, str]]:
        hops = [hop for hop in question.hops if hop.action == "text" and hop.entry in self.library.articles]
        asked = names(question.gold_query)
        if len(hops) > 1 and all(self.library.articles[hop.entry].title in asked for hop in hops):
            for hop in hops:
                telling = (n for n in self.library.of_entry[hop.entry] if hop.answer in self.library.passages[n].text)
                yield from ((question.gold_query, number, hop.answer) for number in telling)

    def _half(self, rng: random.Random) -> Candidate:
        """A passage about one of the things that a query names; wrong where it tells something else of that, or what is
        asked of a thing with a similar name."""
        query, number, answer = rng.choice(self.halves)
        title = self.library.passages[number].title
        own = self.library.of_entry[self.library.passages[number].entry]
        others = [other for other in own if answer not in self.library.passages[other].text]
        share = rng.random()
        if share < 0.25 and others:
            return self._candidate(query, [rng.choice(others)])
        if share < 0.5 and " " not in title:
            return self._candidate(query.replace(title, similar_name(title, rng)), [number])
        return self._candidate(query, [number], answer)

    def _candidate(
        self, query: str, numbers: Sequence[int], answer: str | None = None, *, facts: bool = False
    ) -> Candidate:
        """A query with passages that lead to each other; right where the last of them tells the answer.

        With `facts` the first of them is what the store says of an attribute whose value is the name of the second.
        """
        via: Evidence | None = None
        for number in numbers:
            passage = self.library.passages[number]
            text = passage.text.removeprefix(f"{passage.title}: ")
            if facts and via is None:
                text = self._fact(passage) or text
            via = Evidence("", Origin.TEXT_SEARCH, passage.entry, passage.title, text, via=via)
        assert via is not None
        first, last = self.library.passages[numbers[0]], self.library.passages[numbers[-1]]
        read = Passage(last.entry, last.kind, first.title, whole_line(via))
        return Candidate(query, read, answer is not None, answer)

    def _beside(self, query: str, numbers: Sequence[int], answer: str, rng: random.Random) -> Candidate | None:
        """Ends in another passage of the right entry."""
        own = self.library.of_entry[self.library.passages[numbers[-1]].entry]
        others = [number for number in own if answer not in self.library.passages[number].text]
        return self._candidate(query, [*numbers[:-1], rng.choice(others)]) if others else None

    def _elsewhere(self, query: str, numbers: Sequence[int], rng: random.Random) -> Candidate | None:
        """Goes from the right thing to another entry that it names."""
        first, second = self.library.passages[numbers[0]], self.library.passages[numbers[1]]
        ways = [(at, to) for at in self.library.of_entry[first.entry] for to in self._named(at) if to != second.entry]
        if not ways:
            return None
        at, to = rng.choice(ways)
        return self._candidate(query, [at, rng.choice(self.library.of_entry[to])])

    def _renamed(self, query: str, numbers: Sequence[int], rng: random.Random) -> Candidate | None:
        """The right passages of a thing with a similar name: what the query asks about is not what they begin with."""
        title = self.library.passages[numbers[0]].title
        if title not in query or " " in title:
            return None
        return self._candidate(query.replace(title, similar_name(title, rng)), numbers)

    def _needless(self, rng: random.Random) -> Candidate | None:
        """A query that the first passage answers alone, and then one more."""
        pair = self.library.draw(rng)
        number = rng.choice(pair.gold)
        named = self._named(number)
        if not named:
            return None
        last = rng.choice(self.library.of_entry[rng.choice(named)])
        return self._candidate(pair.query, [number, last])

    def _fact(self, passage: Passage) -> str | None:
        """An attribute of the passage's entry that the passage tells and whose value is an entry's title."""
        values = self.library.articles[passage.entry].attributes.items()
        told = ((key, value) for key, value in values if value in self._titles and value in passage.text)
        return next((fact(key, value) for key, value in told), None)

    def _named(self, number: int) -> list[str]:
        """Entries that a passage names besides its own."""
        passage = self.library.passages[number]
        entries = (self._titles.get(name) for name in names(passage.text))
        return [entry for entry in dict.fromkeys(entries) if entry and entry != passage.entry]

    @cached_property
    def _titles(self) -> dict[str, str]:
        return {article.title: article.id for article in self.library.articles.values()}
