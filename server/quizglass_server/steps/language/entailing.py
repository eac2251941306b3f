"""Whether a sentence states what a clause of an answer states, and which words of it are to be compared.

An answer's clause is compared with all that it takes from the clauses beside it: a list's next item with its subject, a
phrase in front ("In 1903,") with what follows. A sentence of the evidence is read in paths: a clause with those before
it that it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from quizglass_server.steps.language.aligning import (
    EQUALS,
    WEEKDAYS,
    YEAR,
    Bond,
    Path,
    Sentence,
    aligned,
    front,
    phrases,
)
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.statements import Clause, Content

_OPEN, _CLOSED = "open", frozenset(("closed", "shut"))
_RECEIVING = frozenset(map(meaning, ("get", "receive", "obtain", "come")))


def paths(sentence: Sequence[Clause]) -> list[Path]:
    """What can be read in a sentence of the evidence."""
    listed = bool(sentence) and sentence[0].contents[0].participle  # "Bought in 2019, repaired in 2021"
    kinds = tuple(_kind(clause, listed=listed) for clause in sentence)
    subjects = frozenset(content.word.start for clause in sentence for content in _subjects(clause))
    verbs = frozenset(clause.verb for clause in sentence if clause.verb is not None)
    spoken = [content for clause in sentence for content in clause.contents]
    nouns = frozenset(two.meaning for one, two in pairwise(spoken) if one.meaning[0].isdigit() and two.follows)
    said = Sentence(kinds, subjects, verbs, nouns)
    read: list[Path] = []
    before: list[Clause] = []
    latest: list[Clause] = []
    for number, clause in enumerate(sentence):
        needed = [clause] if _stands_alone(clause, before) else [*before, clause]
        if before and len(before) == number and all(_opens(part) for part in before):
            read.append(_path([clause, *before], said))  # "When threatened, it rolls"
            needed = [*before, clause]
        elif clause.coordinated and before and len(before) == number and all(_short(part) for part in before):
            needed = [*before, clause]  # "English and Swahili are"
        read.append(_path(needed, said))
        if turned := converse(read[-1].contents):
            read.append(replace(read[-1], contents=turned, meanings=read[-1].meanings | {"give"}, fronted=0))
        if before and number and (excepted := _excepted(before, clause)):
            read.append(_path(excepted, said))
        if latest and sentence[number - 1].relative and clause.verb is None:
            read.append(_path([*latest, clause], said))
        latest = needed
        if not clause.relative:
            before = needed
    return read


def _excepted(before: Sequence[Clause], clause: Clause) -> list[Clause] | None:
    """ "It is open daily, not Mondays" as "it is not open on Mondays"; None: it is nothing of the kind."""
    first = clause.contents[0]
    excepted = first.negated and first.meaning in WEEKDAYS and (clause.listed or first.link in ("", "in"))
    if clause.verb is not None or not excepted:
        return None
    *acting, doing = before
    kept = list(takewhile(lambda content: not _tells_when(content), doing.contents))
    kept[-1:] = [replace(content, negated=True) for content in kept[-1:]]
    day = replace(clause, contents=(replace(first, link="in"), *clause.contents[1:]))
    return [*acting, replace(doing, contents=tuple(kept)), day]


def _tells_when(content: Content) -> bool:
    when = content.meaning in WEEKDAYS or content.word.key in ("daily", "every", "all", "each")
    return when or content.meaning[0].isdigit() or content.link in ("in", "from", "to")


def turned(contents: tuple[Content, ...]) -> tuple[Content, ...]:
    """The same with all that it states negated, or not negated."""
    return tuple(replace(content, negated=not content.negated) for content in contents)


def _otherwise_said(contents: tuple[Content, ...]) -> list[tuple[Content, ...]]:
    """A statement, and "closed" in it as "not open" or the other way round."""
    at = next((at for at, content in enumerate(contents) if content.word.key in (_OPEN, *_CLOSED)), None)
    if at is None or (contents[at].word.key == _OPEN and not contents[at].negated):
        return [contents]
    closed = contents[at].word.key == _OPEN
    said = replace(contents[at], meaning=meaning("closed" if closed else _OPEN), passive=closed)
    same = next((end for end in range(at, len(contents)) if contents[end].clause != said.clause), len(contents))
    return [contents, (*contents[:at], *turned((said, *contents[at + 1 : same])), *contents[same:])]


def _path(needed: Sequence[Clause], said: Sentence) -> Path:
    contents = tuple(content for clause in needed for content in clause.contents)
    contents = active(contents) or contents
    return Path(contents, said, frozenset(content.meaning for content in contents), front(contents))


def _kind(clause: Clause, *, listed: bool) -> Bond:
    if clause.relative:
        return Bond.ADDED
    if clause.verb is None:
        first, *rest = clause.contents
        if not (first.link in ("", "be", "have") or clause.coordinated or clause.listed):
            return Bond.ADDED
        gapped = not first.link and any(content.link not in ("", "of", "than") for content in rest)
        return Bond.GAPPED if gapped else Bond.ITEM
    first = next((content for content in clause.contents if not content.adverb), clause.contents[0])
    participial = not clause.coordinated and first.participle and first.word.start == clause.verb
    participial = participial and not listed and first.word.key not in _CLOSED
    return Bond.ADDED if participial else Bond.OWN


def _subjects(clause: Clause) -> tuple[Content, ...]:
    if clause.verb is None:
        return clause.contents[:2]
    return tuple(content for content in clause.contents if content.word.start < clause.verb)


def _opens(clause: Clause) -> bool:
    """Whether it is a phrase in front of a subject: "When threatened," or "In 1903,"."""
    first = clause.contents[0]
    return not clause.own_subject and (first.link not in ("", "be", "have") or first.participle)


def _short(clause: Clause) -> bool:
    return clause.verb is None and len(clause.contents) <= 2


def _stands_alone(clause: Clause, before: Sequence[Clause]) -> bool:
    """Whether a clause has a subject of its own, or repeats the verb of the one before it."""
    if clause.own_subject or clause.relative or not before:
        return clause.own_subject
    heads = phrases(clause.contents)
    repeats = {content.meaning for content, head in zip(clause.contents, heads, strict=True) if head is None}
    return any(content.meaning in repeats for part in before for content in part.stating)


def active(contents: Sequence[Content]) -> tuple[Content, ...] | None:
    """Contents of a passive with its agent in the order of the active, "X was made by Y" as "Y made X"; else none."""
    agent = next(
        (at for at, content in enumerate(contents) if at and content.link == "by" and not _time(contents, at)), None
    )
    if agent is None:
        return None
    verb = next((at for at in range(agent - 1, -1, -1) if contents[at].participle), None)
    if verb is None:
        return None
    start, end = front(contents), agent + 1
    while end < len(contents) and (contents[end].follows or contents[end].link in ("by", "of")):
        end += 1
    agents = [replace(content, link="" if content.link == "by" else content.link) for content in contents[agent:end]]
    acting = replace(contents[verb], passive=False)
    rest = (*contents[start:verb], *contents[verb + 1 : agent], *contents[end:])
    return (*contents[:start], *agents, acting, *rest)


def converse(contents: Sequence[Content]) -> tuple[Content, ...] | None:
    """ "It gets its colour from saffron" as "saffron gives it its colour"; none: it is nothing of the kind."""
    verb = next((at for at, content in enumerate(contents) if at and content.meaning in _RECEIVING), None)
    source = next((at for at, content in enumerate(contents) if content.link == "from"), 0)
    if verb is None or source < verb:
        return None
    end = source + 1
    gerund = contents[source].word.key.endswith("ing")
    while end < len(contents) and (
        contents[end].follows or (gerund and contents[end].clause == contents[source].clause)
    ):
        end += 1
    givers = [replace(content, link="" if content.link == "from" else content.link) for content in contents[source:end]]
    giving = replace(contents[verb], meaning="give")
    return (*givers, giving, *contents[:verb], *contents[verb + 1 : source], *contents[end:])


def _time(contents: Sequence[Content], at: int) -> bool:
    """Whether "by" is followed by a year or a century."""
    number = contents[at].meaning
    following = contents[at + 1].meaning if at + 1 < len(contents) else ""
    return bool(YEAR.fullmatch(number)) or (number[0].isdigit() and following in ("centuri", "decad"))


def statements(sentence: Sequence[Clause]) -> list[list[tuple[Content, ...]]]:
    """For each clause of an answer's sentence what it states, in the orders in which evidence may have it."""
    stated: list[list[tuple[Content, ...]]] = []
    leading: list[Content] = []
    subject: tuple[Content, ...] = ()
    whole: tuple[Content, ...] = ()
    for number, clause in enumerate(sentence):
        contents = clause.contents
        if not whole and number + 1 < len(sentence) and _leads(clause, sentence[number + 1]):
            leading.extend(contents)
            continue
        if not whole or _stands_alone(clause, sentence[number - 1 : number]):
            subject = _subject(clause)
            readings = [(*leading, *contents)]
            if leading and clause.coordinated:  # "The Inuit of Canada and Greenland made"
                first = replace(contents[0], link=leading[-1].link)
                readings.insert(0, (*leading, first, *contents[1:]))
        else:
            readings = _completed(clause, whole, subject)
        said = [each for reading in readings for each in _otherwise_said(reading)]
        stated.extend([[order for each in said for order in _orders(each)]] * (number + 1 - len(stated)))
        leading, whole = [], readings[-1]
    shared = [_orders(each) for each in _shared(sentence)]
    every = stated[len(shared) - 1] if shared else []
    return [[*every, *each] for each in shared] + stated[len(shared) :]


def _shared(sentence: Sequence[Clause]) -> list[tuple[Content, ...]]:
    """What "toads and newts live here" states of each of them; empty where it begins with no list of subjects."""
    last = next((number for number, clause in enumerate(sentence) if not _listed_subject(clause)), 0)
    clause = sentence[last] if sentence else None
    if clause is None or not last or not clause.coordinated or any(content.negated for content in clause.contents):
        return []
    subject = _subject(clause)
    rest = clause.contents[len(subject) :]
    return [(*part, *rest) for part in (*(each.contents for each in sentence[:last]), subject)] if rest else []


def _listed_subject(clause: Clause) -> bool:
    """Whether it is a single word; of two the second may be a verb in the present tense."""
    first = clause.contents[0]
    alone = len(clause.contents) == 1 and clause.verb is None and not clause.relative
    return alone and not (first.link or first.pronoun or first.negated)


def _completed(clause: Clause, whole: tuple[Content, ...], subject: tuple[Content, ...]) -> list[tuple[Content, ...]]:
    """A clause with what it takes from what was said before it: the subject, or all but the item that it stands for."""
    contents = clause.contents
    if clause.relative:
        return [(whole[-1], *contents), (*subject, *contents)]
    link = contents[0].link
    if clause.verb is not None or link in ("", "be"):
        return [(*subject, *contents)]
    heads = [at for at, content in enumerate(whole) if content.link == link and at]
    if heads and clause.listed:
        end = next((at for at in range(heads[-1] + 1, len(whole)) if not whole[at].follows), len(whole))
        return [(*whole[: heads[-1]], *contents, *whole[end:])]
    return [(*subject, *contents)] if clause.coordinated else [(*whole, *contents)]


def _leads(clause: Clause, following: Clause) -> bool:
    """Whether a piece without a verb at the beginning belongs to what follows it: "In 1903," or "Bats and"."""
    if clause.own_subject or clause.verb is not None:
        return False
    if clause.contents[0].link not in ("", "be", "have"):
        return True
    meanings = {content.meaning for content in following.stating}
    repeats = any(content.meaning in meanings for content in clause.stating)
    return _short(clause) and following.coordinated and following.verb is not None and not repeats


def _subject(clause: Clause) -> tuple[Content, ...]:
    """What a clause is about: its contents before the verb, the first where no verb can be told."""
    contents = clause.contents[front(clause.contents) :]
    if clause.verb is None:
        return contents[:1]
    return tuple(content for content in contents if content.word.start < clause.verb)


def _orders(contents: tuple[Content, ...]) -> list[tuple[Content, ...]]:
    """A statement as it stands; as the active, if it is passive; with its sides exchanged, if two things are one."""
    if turned := active(contents):
        return [turned]
    orders = [contents, *filter(None, (converse(contents),))]
    passive = next((at for at, content in enumerate(contents) if content.passive), None)
    if passive is not None:
        start = front(contents)
        acting = replace(contents[passive], passive=False)
        orders.append((*contents[:start], acting, *contents[start:passive], *contents[passive + 1 :]))
    at = next((at for at, content in enumerate(contents) if content.link == "be" and at), None)
    if (
        at is not None
        and at != passive
        and any(part.definite or part.possessive for part in (contents[0], contents[at]))
    ):
        one, other = replace(contents[at], link=""), replace(contents[0], link=EQUALS)
        end = at + 1
        while end < len(contents) and (contents[end].follows or contents[end].link == "of"):
            end += 1
        orders.append((one, *contents[at + 1 : end], other, *contents[1:at], *contents[end:]))
    return orders


def entails(read: Sequence[Path], stated: Sequence[tuple[Content, ...]], title: Sequence[Content]) -> bool:
    """Whether one sentence of the evidence states what a clause of an answer states.

    Args:
        read: the sentence's paths.
        stated: the clause, of `statements`.
        title: content words of the evidence's subject, which a sentence that says "it" leaves out.
    """
    about = frozenset(content.meaning for content in title)
    return any(aligned(path, order, about) for order in stated for path in read)
