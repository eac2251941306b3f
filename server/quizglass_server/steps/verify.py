"""Checks an answer against the evidence it was given: deterministic, no model.

The whole answer must stand in evidence that the generator was shown, or else everything that each of its clauses states
in one sentence of it; of a calculation, the numbers that went into it. It says where an answer comes from, and
which sources state otherwise; it does not say which of them is true. Words printed in the picture are a weaker source
than entries, which anybody may have written: they support nothing that an entry states otherwise, unless the question
asks what is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from quizglass.values import Citation, Origin, VerdictOutcome
from quizglass_server.domain.calculations import Calculation
from quizglass_server.domain.turns import Evidence, StepDetail
from quizglass_server.steps.language.contrary import FewAsked, asks
from quizglass_server.steps.language.disputing import claims
from quizglass_server.steps.language.entailing import entails, statements, turned
from quizglass_server.steps.language.lexemes import meaning, regrouped
from quizglass_server.steps.language.statements import Content, clauses, sentences
from quizglass_server.steps.language.wording import Word, stands_in, words
from quizglass_server.steps.quoting import NoteSentence, sentences_of
from quizglass_server.steps.read import asks_to_read
from quizglass_server.steps.sources import FEW, Source, agrees, denies, numbers
from quizglass_server.steps.step import Telling
from quizglass_server.steps.telling import texts

# Capitalised at the start of a sentence and still no name.
_NO_NAMES = frozenset(
    """a an the it its it's this that these those he she his her they their there is was are were in on at by from to
    of for and or but as with yes no i we you""".split()  # noqa: SIM905, a list of words reads better
)
READ_IN_PICTURE = "Words in the picture"
"""What citations of printed words are called, which have no title."""
_ORDER = {Origin.TEXT_SEARCH: 0, Origin.IMAGE_SEARCH: 1, Origin.MEMORY: 2, Origin.READ_TEXT: 3}


@dataclass(frozen=True, slots=True)
class Dispute:
    """Another source that states otherwise."""

    evidence_id: str
    value: str
    """What it has in place of the answer's value, as it is written there."""


@dataclass(frozen=True, slots=True)
class Support:
    """Outcome of the check (never ABSTAINED), which evidence backs which part of the answer, and which disputes it."""

    outcome: VerdictOutcome
    citations: tuple[Citation, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    overruled: bool = False
    """Whether the answer is from words in the picture alone, and an entry states otherwise."""


def verify(
    answer: str,
    evidence: Sequence[Evidence],
    calculations: Sequence[Calculation] = (),
    question: str = "",
    shown: Sequence[str] = (),
    *,
    quoted: bool = False,
) -> Support:
    """Check an answer.

    Args:
        answer: trimmed; citations count its code points.
        evidence: everything found in the turn; only what was shown (`used`) supports. Words read in the picture can
            support an answer but, being no search, never make one unsupported.
        calculations: what was worked out for the answer, whose results stand in it.
        question: may give numbers to calculate with, too.
        shown: ids of the evidence that the answer was written from, in order. That is cited before what else the turn
            found;
            none: it is not known.
        quoted: whether it is made of sentences of the evidence, word for word.

    Returns:
        SUPPORTED with citations and disputes; UNSUPPORTED when search results were shown and do not say all that the
        answer says (citations of the clauses, names and numbers they do hold), or when it is overruled; else UNCHECKED.
    """
    every = {item.id: Source(item) for item in evidence}
    used = _first_cited([item for item in evidence if item.used], shown)
    support = _supported(answer, [every[item.id] for item in used], calculations, question, quoted=quoted)
    if support.outcome is not VerdictOutcome.SUPPORTED:
        return support
    cited = [every[name] for name in dict.fromkeys(citation.evidence_id for citation in support.citations)]
    values = [operand.number for each in calculations for operand in each.operands]
    disputes = _disputes(values or [text for _, text in sentences(answer)], question, cited, list(every.values()))
    entries = [dispute for dispute in disputes if not every[dispute.evidence_id].printed]
    overruled = bool(entries) and all(source.printed for source in cited) and not asks_to_read(question)
    outcome = VerdictOutcome.UNSUPPORTED if overruled else support.outcome
    return replace(support, outcome=outcome, disputes=disputes, overruled=overruled)


def _supported(
    answer: str, sources: Sequence[Source], calculations: Sequence[Calculation], question: str, *, quoted: bool
) -> Support:
    """The outcome by the sources that were shown, whatever they say of each other."""
    spoken = words(answer)
    outcome = _unsupported(sources)
    if calculations:
        cited = _calculated(answer, calculations, sources, question)
        return Support(outcome) if cited is None else Support(VerdictOutcome.SUPPORTED, cited)
    if quoted and (read := _read(answer, spoken, sources)):
        return Support(VerdictOutcome.SUPPORTED, (read,))
    counted = numbers(answer)  # "5" is not what "5 million" says, nor "-5"
    denied = denies(question) or denies(answer)
    asked = asks(question, answer)
    few = frozenset(content.meaning for clause in clauses(answer) for content in clause.stating)
    standing = [each for each in sources if each.opens_with(spoken, denied=denied) and counted <= each.numbers]
    if whole := _standing(spoken, [each for each in standing if each.says(spoken, few, asked)]):
        return Support(VerdictOutcome.SUPPORTED, (_to_the_end(whole, answer) if quoted else whole,))
    if quoted and (parts := _quoted(answer, sources)):
        return Support(VerdictOutcome.SUPPORTED, parts)
    if quoted and (repeated := _repeated(answer, sources)):
        return Support(outcome, repeated)
    if parts := _stated(answer, sources, asked, denied=denied):
        return Support(VerdictOutcome.SUPPORTED, parts)
    runs = (_standing(run, sources) for run in _named_runs(spoken))
    return Support(outcome, tuple(citation for citation in runs if citation))


def _read(answer: str, spoken: Sequence[Word], sources: Sequence[Source]) -> Citation | None:
    """The whole of a quote of words in the picture, of which any run is one: signs have lines, and seldom sentences.

    None where a note has these words, too, or they stand in no picture.
    """
    if not spoken or any(stands_in(spoken, source.words) for source in sources if not source.printed):
        return None
    printed = [source for source in sources if source.printed]
    cited = _standing(spoken, printed)
    parts = [part for part in map(words, answer.split(";")) if part]  # semicolons part lines that stand apart
    if cited is None and all(_standing(part, printed) for part in parts):
        cited = _cited(printed[0], 0, 0)
    return None if cited is None else _to_the_end(cited, answer)


def _to_the_end(citation: Citation, answer: str) -> Citation:
    """The citation of a quote as a whole, with the bracket or unit that it ends in."""
    return replace(citation, start=0, end=_unstopped(answer))


def _unstopped(text: str) -> int:
    """Characters of a text without the stop that it ends in."""
    return len(text.rstrip(".!?…"))


def _repeated(answer: str, sources: Sequence[Source]) -> tuple[Citation, ...]:
    """Words in the picture as a whole, where a reply repeats them behind others: "It says: SALE"."""
    begins = ((source, answer.find(source.item.text)) for source in sources if source.printed and source.item.text)
    return tuple(_cited(source, at, at + len(source.item.text)) for source, at in begins if at >= 0)


def _quoted(answer: str, sources: Sequence[Source]) -> tuple[Citation, ...]:
    """Each sentence of a quote with its source; none where a word is of none.

    They are cut as they were for the quote: a row of a table ("part: socket; value: AM2") states no clause. The
    title in front of the first one belongs to it, and so does the heading in front of any.
    """
    spoken, cited = words(answer), dict[int, Citation]()
    every = [(source, sentence) for source in sources for sentence in sentences_of([source.item])]
    for source, sentence in sorted(every, key=lambda each: -len(each[1].text)):  # one may stand in a longer one
        text = sentence.text.removesuffix(";")  # as it ends an answer
        start = _whole_words(text, answer)
        begin = _behind_its_heading(answer, start, sentence)
        within = [word for word in spoken if begin <= word.start and word.end <= start + len(text)]
        if start >= 0 and within and not any(word.start in cited for word in within):
            cited |= dict.fromkeys((word.start for word in within), _cited(source, begin, start + _unstopped(text)))
    return tuple(dict.fromkeys(cited[at] for at in sorted(cited))) if len(cited) == len(spoken) else ()


def _whole_words(text: str, answer: str) -> int:
    """Where a sentence stands in an answer, not within longer words; -1: nowhere."""
    match = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer)
    return -1 if match is None else match.start()


def _behind_its_heading(answer: str, start: int, sentence: NoteSentence) -> int:
    """Where a quote begins: with the title in front of the answer, or the heading of its section in front of it."""
    if answer[: max(start, 0)] == f"{sentence.evidence.title}: ":
        return 0
    heading = f"{sentence.section}: "
    return start - len(heading) if sentence.section and answer.endswith(heading, 0, max(start, 0)) else start


def _disputes(
    said: Sequence[str], question: str, cited: Sequence[Source], every: Sequence[Source]
) -> tuple[Dispute, ...]:
    """What other sources have in place of an answer's claim, each source once.

    Args:
        said: the answer's sentences, or the numbers that it was calculated from.
        question: what was asked.
        cited: sources that the answer stands in.
        every: all that the turn found, whether it was shown or not.
    """
    asked = clauses(question)
    seen = {each.item.entry_id for each in every if each.item.origin is Origin.IMAGE_SEARCH and each.item.used}
    found: dict[str, Dispute] = {}
    for text in said:
        for source in cited:
            readings = dict.fromkeys((text, regrouped(text)))
            stated = [made for each in readings if (made := claims(clauses(each), question, source.telling(each)))]
            for other in every if stated else ():
                if other.item.id in found:
                    continue
                values = [other.otherwise(made, source, asked, seen) for made in stated]
                if all(values):  # whichever number is meant by "1.000"
                    found[other.item.id] = Dispute(other.item.id, values[0])
    return tuple(found.values())


def _first_cited(used: Sequence[Evidence], shown: Sequence[str]) -> list[Evidence]:
    """Evidence in the order in which it is cited; every prompt has the words that were read in the picture."""
    places = {name: place for place, name in enumerate(shown)}

    def order(item: Evidence) -> tuple[bool, int, int]:
        elsewhere = bool(places) and item.id not in places and item.origin is not Origin.READ_TEXT
        return elsewhere, _ORDER[item.origin], places.get(item.id, 0)

    return sorted(used, key=order)


def _unsupported(shown: Sequence[Source]) -> VerdictOutcome:
    searched = not all(source.printed for source in shown)
    return VerdictOutcome.UNSUPPORTED if searched else VerdictOutcome.UNCHECKED


def _calculated(
    answer: str, calculations: Sequence[Calculation], sources: Sequence[Source], question: str
) -> tuple[Citation, ...] | None:
    """For each result every source of a number that it comes from; None where one comes from nowhere.

    A number may be the question's own if nothing is said to have it. All else that the answer names must stand in the
    evidence, too, or in the question.
    """
    citations: list[Citation] = []
    asked, spans, end = numbers(question), [], 0
    for calculation in calculations:
        start = _place(calculation.result, answer, end)
        end = start + len(calculation.result)
        spans.append(range(start, end))
        for operand in calculation.operands:
            source = next((source for source in sources if source.has(operand)), None)
            if source is not None:
                citations.append(_cited(source, start, end))
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
    """The outcome by a verifier's judgement, where there is one: it reads more than words, but none in the picture."""
    if supported is None or support.overruled:
        return support
    return replace(support, outcome=VerdictOutcome.SUPPORTED if supported else VerdictOutcome.UNSUPPORTED)


def told_check(answer: str, support: Support) -> Telling:
    """What the check was given, and what it found."""
    cited = (f"{answer[citation.start : citation.end]} [{citation.evidence_id}]" for citation in support.citations)
    others = (f"{dispute.value} [{dispute.evidence_id}]" for dispute in support.disputes)
    found = [StepDetail("outcome", support.outcome.value), *texts("stands in", *cited), *texts("disputed by", *others)]
    return texts("answer", answer), found


def _standing(part: Sequence[Word], sources: Sequence[Source]) -> Citation | None:
    """The first source that has these words in this order."""
    having = (source for source in sources if stands_in(part, source.words))
    return next((_cite(source, part[0], part[-1]) for source in having), None)


def _stated(answer: str, sources: Sequence[Source], asked: FewAsked | None, *, denied: bool) -> tuple[Citation, ...]:
    """For each clause of an answer the first source of which one sentence states all of it; none where one has none.

    With `denied` a few words say what is not so: "on Mondays" when it is asked when something is closed.
    """
    short = denied and len(words(answer)) <= FEW
    parts = []
    for start, text in sentences(answer):
        sentence = clauses(text)
        for clause, stated in zip(sentence, statements(sentence), strict=True):
            orders = [*stated, *map(turned, stated)] if short else stated
            few = frozenset(content.meaning for content in clause.stating)
            source = next((source for source in sources if _states(source, orders, few, asked)), None)
            if source is None:
                return ()
            first = min((content.word for content in clause.stating), key=lambda word: word.start)
            last = max((content.word for content in clause.stating), key=lambda word: word.end)
            parts.append(_cite(source, first, last, start))
    return tuple(parts)


def _states(source: Source, stated: Sequence[tuple[Content, ...]], few: frozenset[str], asked: FewAsked | None) -> bool:
    """Whether a sentence states it; of a few words, whether it also says what is asked and not the opposite."""
    read = zip(source.texts, source.sentences, strict=True)
    return any(entails(sentence, stated, source.title) and agrees(text, few, asked) for text, sentence in read)


def _named_runs(spoken: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Neighbouring names and numbers, together: "Ana Brint", "1974"."""
    for named, run in groupby(spoken, key=lambda word: word.named and word.key not in _NO_NAMES):
        if named:
            yield tuple(run)


def _cite(source: Source, first: Word, last: Word, start: int = 0) -> Citation:
    return _cited(source, start + first.start, start + last.end)


def _cited(source: Source, start: int, end: int) -> Citation:
    item = source.item
    title = item.title or (READ_IN_PICTURE if source.printed else "")
    return Citation(item.id, item.entry_id, title, start, end, item.source)
