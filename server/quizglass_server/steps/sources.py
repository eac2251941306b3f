"""Evidence as an answer is checked against it: read sentence by sentence, as far as it is asked for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from functools import cached_property, lru_cache
from unicodedata import normalize

from quizglass.values import Origin
from quizglass_server.domain.calculations import Operand
from quizglass_server.domain.turns import Evidence
from quizglass_server.scheduling.clients import current_client
from quizglass_server.steps.language.aligning import Path
from quizglass_server.steps.language.contrary import FewAsked, Part, contradicts, parts
from quizglass_server.steps.language.disputing import Claim, disputed, restated
from quizglass_server.steps.language.entailing import paths
from quizglass_server.steps.language.lexemes import lexemes, meaning, regrouped
from quizglass_server.steps.language.statements import Clause, Content, clauses, sentences
from quizglass_server.steps.language.wording import Word, stands_in, starts_with, words

FEW = 3
"""Words of an answer that is a name or a measure, and no sentence."""
_DENYING = frozenset(("not", "never", "nor", "neither", "cannot", "except", "excluding"))
_WHEN_CLOSED = re.compile(r"^\W*(?:on )?(?:when|what|which)\b.*\b(?:closed|shut)\b", re.IGNORECASE)
_BETWEEN = frozenset("a an the by in on at to for from of with really very quite actually open".split())  # noqa: SIM905
_SENTENCE_END = re.compile(r"[.!?;:\n]")


class Source:
    """A piece of evidence. Accents are composed, as the generator was shown them."""

    def __init__(self, item: Evidence) -> None:
        self.item = item
        self._title, self._text = normalize("NFC", item.title), normalize("NFC", item.text)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Words of title and text."""
        return words(f"{self._title}\n{self._text}")

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers of title and text, as `meaning` gives them; of "1.000" both 1 and 1000."""
        text = f"{self._title}\n{self._text}"
        return numbers(text) | numbers(regrouped(text))

    def has(self, operand: Operand) -> bool:
        """Whether its number stands there, and the name of its subject."""
        told = not operand.name or stands_in(words(operand.name), self.words)
        return told and meaning(operand.number) in self.numbers

    def says(self, part: Sequence[Word], few: frozenset[str], asked: FewAsked | None) -> bool:
        """Whether not every sentence that has a run of words contradicts the question; true if none has it."""
        having = [text for text in self.texts if stands_in(part, words(text))]
        return not having or any(agrees(text, few, asked) for text in having)

    def opens_with(self, part: Sequence[Word], *, denied: bool = False) -> bool:
        """Whether these words stand there in this order; more than a few from the beginning of a sentence or title.

        What stands inside a sentence need not be stated by it: "the houses are empty" in "half the houses are empty".
        Nor are a few that "not" stands before, unless with `denied` it is asked for what is not so.
        """
        if not stands_in(part, self.words):
            return False
        if len(part) <= FEW:
            return denied or any(not self._is_denied(at) for at in _places(part, self.words))
        title = len(self._title)
        if starts_with([word for word in self.words if word.end <= title], part):
            return True
        begins = (title + 1 + start for start, _ in sentences(self._text))
        at = (bisect_left(self.words, start, key=lambda word: word.start) for start in begins)
        return any(starts_with(self.words[first:], part) for first in at)

    def _is_denied(self, place: int) -> bool:
        """Whether "not" or the like stands before a word, with nothing in between but "a", "by" and the like."""
        said, text = self.words, f"{self._title}\n{self._text}"
        while place and said[place - 1].key in _BETWEEN:
            place -= 1
        if not place or _SENTENCE_END.search(text[said[place - 1].end : said[place].start]):
            return False
        before = said[place - 1].key
        return before in _DENYING or before.endswith("n't")

    @cached_property
    def _folded(self) -> str:
        return f"{self._title}\n{self._text}".casefold()

    @property
    def printed(self) -> bool:
        """Whether it was read in the picture."""
        return self.item.origin is Origin.READ_TEXT

    @cached_property
    def meanings(self) -> frozenset[str]:
        """What the words of title and text stand for."""
        return frozenset[str]().union(*map(_meanings, self.texts))

    @cached_property
    def title(self) -> tuple[Content, ...]:
        """What it is about."""
        return _title(current_client().tenant, self._title)

    @cached_property
    def about(self) -> frozenset[str]:
        """Meanings of the words for what it is about."""
        return frozenset(content.meaning for content in self.title)

    @cached_property
    def named(self) -> frozenset[str]:
        """The names among them, or all where none is written as one."""
        return frozenset(content.meaning for content in self.title if content.name) or self.about

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its sentences and its title."""
        return (*(sentence for _, sentence in sentences(self._text)), self._title)

    @cached_property
    def sentences(self) -> tuple[Sequence[Path], ...]:
        """The same, in all that can be read in them."""
        tenant = current_client().tenant
        return tuple(_read(tenant, sentence) for sentence in self.texts)

    def telling(self, text: str) -> Sequence[Clause]:
        """The first of its sentences that has all that a text has; none where none has."""
        wanted = _meanings(text)
        return clauses(next((each for each in self.texts if wanted <= _meanings(each)), ""))

    def otherwise(
        self, claims: Sequence[Claim], told_by: Source, asked: Sequence[Clause], recognised: Container[str]
    ) -> str:
        """What it has in place of a claim's value; empty where it says the same, or nothing of that.

        Args:
            claims: of an answer.
            told_by: the source of the answer.
            asked: the question.
            recognised: ids of the entries that the picture was found to show: words printed in it may be about them.
        """
        if self.item.entry_id == told_by.item.entry_id:
            return ""
        shared = self._subject(told_by, asked, recognised)
        same = set[tuple[str, ...]]()
        for claim in claims:
            value = tuple(content.meaning for content in claim.value)
            about = shared or frozenset(content.meaning for content in claim.named) or told_by.named
            if not shared and not any(one.word.key in self._folded for one in claim.named or told_by.title):
                continue  # it is about something else: most evidence is, and is not read
            if value in same or not claim.meanings <= self.meanings | about:
                continue
            read = [
                (text, sentence)
                for text, sentence in zip(self.texts, self.sentences, strict=True)
                if shared or (about and about <= _meanings(text))
            ]
            if any(restated(claim, sentence, about) for _, sentence in read):
                same.add(value)
                continue
            for text, sentence in read:
                if place := disputed(claim, sentence, about):
                    return text[slice(*place)]
        return ""

    def _subject(self, other: Source, asked: Sequence[Clause], recognised: Container[str]) -> frozenset[str]:
        """Meanings of the words for what both are about as a whole; none where they may be about different things."""
        if not (self.printed or other.printed):
            return self.about if self.named == other.named else frozenset()
        entry, printed = (other, self) if self.printed else (self, other)
        told = printed.meanings.union(content.meaning for clause in asked for content in clause.stating)
        return entry.about if entry.about <= told or entry.item.entry_id in recognised else frozenset()


def agrees(text: str, few: frozenset[str], asked: FewAsked | None) -> bool:
    """Whether a sentence with these few words does not contradict the question; true without a question."""
    if asked is None or few.isdisjoint(_meanings(text)):
        return True
    return not contradicts(_parts(current_client().tenant, text), few, asked)


def denies(text: str) -> bool:
    """Whether a text says "not" or the like, as in "Who did not come?", or asks when something is closed."""
    denying = any(word.key in _DENYING or word.key.endswith("n't") for word in words(text))
    return denying or _WHEN_CLOSED.match(text) is not None


def _places(part: Sequence[Word], whole: Sequence[Word]) -> Iterator[int]:
    """Where a run of words begins."""
    return (at for at in range(len(whole) - len(part) + 1) if starts_with(whole[at : at + len(part)], part))


# Kept for each tenant by itself: by the time of an answer none learns what another was shown.
@lru_cache(maxsize=512)
def _title(tenant: str, text: str) -> tuple[Content, ...]:
    return tuple(content for clause in clauses(text) for content in clause.stating)


def _meanings(text: str) -> frozenset[str]:
    return _meanings_for(current_client().tenant, text)


@lru_cache(maxsize=512)
def _meanings_for(tenant: str, text: str) -> frozenset[str]:
    return frozenset(lexeme.meaning for reading in _readings(text) for lexeme in lexemes(reading))


@lru_cache(maxsize=512)
def _read(tenant: str, sentence: str) -> Sequence[Path]:
    """What can be read in a sentence of evidence, which turns are shown again and again."""
    return [path for reading in sorted(_readings(sentence)) for path in paths(clauses(reading))]


@lru_cache(maxsize=512)
def _parts(tenant: str, sentence: str) -> Sequence[Part]:
    """Clauses of a sentence of evidence, as a few words of an answer are looked for in it."""
    return parts(sentence)


def numbers(text: str) -> frozenset[str]:
    """Numbers of a text, as `meaning` gives them."""
    return frozenset(lexeme.meaning for lexeme in lexemes(text) if lexeme.number)


def _readings(text: str) -> set[str]:
    """A text, and the same with dots that may group digits as commas."""
    return {text, regrouped(text)}
