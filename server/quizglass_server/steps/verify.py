"""Checks an answer against the evidence it was given: deterministic, no model.

The whole answer must stand in evidence that the generator was shown, or else everything that each of its clauses states
in one sentence of it; of what was calculated, the numbers that went into it. It says where an answer comes from; it
does not say that the evidence is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from unicodedata import normalize

from quizglass.values import Citation, Origin, VerdictOutcome
from quizglass_server.domain.calculations import Calculation, Operand
from quizglass_server.domain.turns import Evidence, StepDetail
from quizglass_server.steps.language.aligning import Path
from quizglass_server.steps.language.entailing import entails, paths, statements
from quizglass_server.steps.language.lexemes import lexemes, meaning
from quizglass_server.steps.language.statements import Content, clauses, sentences
from quizglass_server.steps.language.wording import Word, stands_in, starts_with, words
from quizglass_server.steps.step import Telling
from quizglass_server.steps.telling import texts

# Capitalised at the start of a sentence and still no name.
_NO_NAMES = frozenset(
    """a an the it its it's this that these those he she his her they their there is was are were in on at by from to
    of for and or but as with yes no i we you""".split()  # noqa: SIM905, a list of words reads better
)
_FEW = 3  # words of an answer that is a name or a measure, and no sentence
_ORDER = {Origin.TEXT_SEARCH: 0, Origin.IMAGE_SEARCH: 1, Origin.MEMORY: 2, Origin.READ_TEXT: 3}


@dataclass(frozen=True, slots=True)
class Support:
    """Outcome of the check (never ABSTAINED) and which evidence backs which part of the answer."""

    outcome: VerdictOutcome
    citations: tuple[Citation, ...] = ()


class _Source:
    """Shown evidence, composed as the generator was shown it, and read as far as it is asked for."""

    def __init__(self, item: Evidence) -> None:
        self.item = item
        self._title, self._text = normalize("NFC", item.title), normalize("NFC", item.text)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Words of title and text."""
        return words(f"{self._title}\n{self._text}")

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers of title and text, as `meaning` gives them."""
        return _numbers(f"{self._title}\n{self._text}")

    def has(self, operand: Operand) -> bool:
        """Whether its number stands there, and the name of what has it."""
        told = not operand.name or stands_in(words(operand.name), self.words)
        return told and meaning(operand.number) in self.numbers

    def opens_with(self, part: Sequence[Word]) -> bool:
        """Whether these words stand there in this order; more than a few from the beginning of a sentence or title.

        What stands inside a sentence need not be stated by it: "the houses are empty" in "half the houses are empty".
        """
        if not stands_in(part, self.words):
            return False
        if len(part) <= _FEW:
            return True
        texts = (self._title, *(self._text[start:] for start, _ in sentences(self._text)))
        return any(starts_with(words(text), part) for text in texts)

    @cached_property
    def title(self) -> tuple[Content, ...]:
        """What it is about."""
        return tuple(content for clause in clauses(self._title) for content in clause.stating)

    @cached_property
    def sentences(self) -> tuple[Sequence[Path], ...]:
        """The text's and the title, in all that can be read in them."""
        said = (*(sentence for _, sentence in sentences(self._text)), self._title)
        return tuple(_read(sentence) for sentence in said)


@lru_cache(maxsize=512)
def _read(sentence: str) -> Sequence[Path]:
    """What can be read in a sentence of evidence, which turns are shown again and again."""
    return paths(clauses(sentence))


def _numbers(text: str) -> frozenset[str]:
    return frozenset(lexeme.meaning for lexeme in lexemes(text) if lexeme.number)


def verify(
    answer: str,
    evidence: Sequence[Evidence],
    calculations: Sequence[Calculation] = (),
    question: str = "",
    shown: Sequence[str] = (),
) -> Support:
    """Check an answer.

    Args:
        answer: trimmed; citations count its code points.
        evidence: everything found in the turn; only what was shown (`used`) counts. Words read in the picture can
            support an answer but, being no search, never make one unsupported.
        calculations: what was worked out for the answer, whose results stand in it.
        question: may give numbers to calculate with, too.
        shown: ids of what the answer itself was written from, in order. That is cited before what else the turn found;
            none: it is not known.

    Returns:
        SUPPORTED with citations; UNSUPPORTED when search results were shown and do not say all that the answer says
        (citations of the clauses, names and numbers they do hold); else UNCHECKED.
    """
    used = _first_cited([item for item in evidence if item.used], shown)
    sources = [_Source(item) for item in used]
    spoken = words(answer)
    outcome = _unsupported(used)
    if calculations:
        cited = _calculated(answer, calculations, sources, question)
        return Support(outcome) if cited is None else Support(VerdictOutcome.SUPPORTED, cited)
    numbers = _numbers(answer)  # "5" is not what "5 million" says, nor "-5"
    if whole := _standing(spoken, [each for each in sources if each.opens_with(spoken) and numbers <= each.numbers]):
        return Support(VerdictOutcome.SUPPORTED, (whole,))
    if parts := _stated(answer, sources):
        return Support(VerdictOutcome.SUPPORTED, parts)
    runs = (_standing(run, sources) for run in _named_runs(spoken))
    return Support(outcome, tuple(citation for citation in runs if citation))


def _first_cited(used: Sequence[Evidence], shown: Sequence[str]) -> list[Evidence]:
    """Evidence in the order in which it is cited; every prompt has the words that were read in the picture."""
    places = {name: place for place, name in enumerate(shown)}

    def order(item: Evidence) -> tuple[bool, int, int]:
        elsewhere = bool(places) and item.id not in places and item.origin is not Origin.READ_TEXT
        return elsewhere, _ORDER[item.origin], places.get(item.id, 0)

    return sorted(used, key=order)


def _unsupported(used: Sequence[Evidence]) -> VerdictOutcome:
    searched = any(item.origin is not Origin.READ_TEXT for item in used)
    return VerdictOutcome.UNSUPPORTED if searched else VerdictOutcome.UNCHECKED


def _calculated(
    answer: str, calculations: Sequence[Calculation], sources: Sequence[_Source], question: str
) -> tuple[Citation, ...] | None:
    """For each result every source of a number that it comes from; None where one comes from nowhere.

    A number may be the question's own if nothing is said to have it. All else that the answer names must stand in the
    evidence, too, or in the question.
    """
    citations: list[Citation] = []
    asked, spans, end = _numbers(question), [], 0
    for calculation in calculations:
        start = _place(calculation.result, answer, end)
        end = start + len(calculation.result)
        spans.append(range(start, end))
        for operand in calculation.operands:
            source = next((source for source in sources if source.has(operand)), None)
            if source is not None:
                item = source.item
                citations.append(Citation(item.id, item.entry_id, item.title, start, end))
            elif operand.name or meaning(operand.number) not in asked:
                return None
    for run in _named_runs(words(answer)):
        if any(run[0].start in span for span in spans) or stands_in(run, words(question)):
            continue
        cited = _standing(run, sources)
        if cited is None:
            return None
        citations.append(cited)
    return tuple(dict.fromkeys(citations))


def _place(result: str, answer: str, begin: int) -> int:
    """Where a result stands in an answer, from a place on; not within a longer number or word, if it can be helped.

    A unit may follow a number without a space: "39km".
    """
    ends = r"(?!\d|[.,]\d)" if result[-1].isdigit() else r"(?!\w)"
    alone = re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(result)}{ends}").search(answer, begin)
    return max(answer.find(result, begin), answer.find(result)) if alone is None else alone.start()


def judged(support: Support, supported: bool | None) -> Support:
    """The outcome by a verifier's judgement, where there is one; it reads more than words."""
    if supported is None:
        return support
    return replace(support, outcome=VerdictOutcome.SUPPORTED if supported else VerdictOutcome.UNSUPPORTED)


def told_check(answer: str, support: Support) -> Telling:
    """What the check was given, and what it found."""
    cited = (f"{answer[citation.start : citation.end]} [{citation.evidence_id}]" for citation in support.citations)
    return texts("answer", answer), [StepDetail("outcome", support.outcome.value), *texts("stands in", *cited)]


def _standing(part: Sequence[Word], sources: Sequence[_Source]) -> Citation | None:
    """The first source that has these words in this order."""
    having = (source for source in sources if stands_in(part, source.words))
    return next((_cite(source, part[0], part[-1]) for source in having), None)


def _stated(answer: str, sources: Sequence[_Source]) -> tuple[Citation, ...]:
    """For each clause of an answer the first source of which one sentence states all of it; none where one has none."""
    parts = []
    for start, text in sentences(answer):
        sentence = clauses(text)
        for clause, stated in zip(sentence, statements(sentence), strict=True):
            source = next((source for source in sources if _states(source, stated)), None)
            if source is None:
                return ()
            first = min((content.word for content in clause.stating), key=lambda word: word.start)
            last = max((content.word for content in clause.stating), key=lambda word: word.end)
            parts.append(_cite(source, first, last, start))
    return tuple(parts)


def _states(source: _Source, stated: Sequence[tuple[Content, ...]]) -> bool:
    return any(entails(sentence, stated, source.title) for sentence in source.sentences)


def _named_runs(spoken: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Neighbouring names and numbers, together: "Ana Brint", "1974"."""
    for named, run in groupby(spoken, key=lambda word: word.named and word.key not in _NO_NAMES):
        if named:
            yield tuple(run)


def _cite(source: _Source, first: Word, last: Word, start: int = 0) -> Citation:
    item = source.item
    return Citation(item.id, item.entry_id, item.title, start + first.start, start + last.end)
