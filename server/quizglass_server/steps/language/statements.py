"""What a sentence states, clause by clause: content words, numbers, pronouns, how they are bound, and polarity.

English: function words, negations, forms of verbs and pronouns are English ones (`english.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from quizglass_server.domain.sentence_ends import cut
from quizglass_server.steps.language import english
from quizglass_server.steps.language.lexemes import Lexeme, lexemes, meaning
from quizglass_server.steps.language.wording import Word

_STATELESS = frozenset(f"{english.FUNCTION} {english.FRAMING}".split())
_NEGATIONS = frozenset(english.NEGATIONS.split())
_PRONOUNS = dict(pair.split("=") for pair in english.PRONOUNS.split())
_AUXILIARIES, _BE = frozenset(english.AUXILIARIES.split()), frozenset(english.BE.split())
_PARTICIPLES, _PASTS = frozenset(english.PARTICIPLES.split()), frozenset(english.PASTS.split())
_ADVERBS, _NO_ADVERBS = frozenset(english.ADVERBS.split()), frozenset(english.NO_ADVERBS.split())
_NO_PARTICIPLES = frozenset(english.NO_PARTICIPLES.split())
_ARTICLES = frozenset(("a", "an", "the"))
_DEFINITE = frozenset(("the", "its", "his", "her", "their"))
_BINDING = frozenset(f"{english.BINDING} {english.ROLES}".split())
_ONE_LINK = {"on": "in", "at": "in", "during": "in", "within": "in", "inside": "in", "since": "from"} | dict.fromkeys(
    ("until", "till"), "to"
)
_CONJUNCTIONS = "and|but|or|which|who|whom|whose|that|while|whereas|although|though|until|where|when|because(?! of)"
_CLAUSE_END = re.compile(rf"(?<!\d),|,(?!\s?\d)|[:;()]|\b(?:{_CONJUNCTIONS})\b", re.IGNORECASE)
_HAVE, _FRAMING = frozenset(("has", "have", "had", "having")), frozenset(english.FRAMING.split())
_STICKY = frozenset(("than", "instead", "because"))
_LONGEST_ITEM = 2  # content words of a list's next item
_VERBS = frozenset(map(meaning, sorted(_PARTICIPLES | _PASTS)))
_TIMES = frozenset(map(meaning, f"{english.TIMES} {english.MONTHS}".split()))
_RELATIVE = frozenset(("which", "who", "whom", "whose", "that", "where"))
_NOT_ONLY = re.compile(r"\bnot (?=only\b)", re.IGNORECASE)
_EXCEPT = re.compile(
    r"\b(?:except(?: for)?|excluding|apart from|other than)"
    rf"(?=\s+(?:on\s+)?(?:{'|'.join(english.WEEKDAYS.split())})s?\b)",
    re.IGNORECASE,
)
_THE_ONE = re.compile(r"(?<=\bthe )ones?(?= (?:in|on|at|of|from|for|with)\b)", re.IGNORECASE)
"""Stands for a noun before it, as in "the Nobel Prize in Physics and the one in Chemistry"."""
_PICTURE = r"(?:photo|picture|image|photograph)"
_LEAD = re.compile(
    r"^\s*(?:(?:on |in )?(?:the|this|that) (?:\w+ ){1,2}"
    rf"(?:shown|pictured|here|(?:in|on) (?:the|this|your) {_PICTURE})\b(?: here)?"
    r"|you(?: are|['\u2019]re) (?:looking at|seeing)\b|what (?:you|we) (?:see|are looking at)(?: here)?\b"
    rf"|(?:in|on) (?:the|this|your) {_PICTURE}\b)",
    re.IGNORECASE,
)
"""The frame of an answer: "The animal in the photo is"."""


@dataclass(frozen=True, slots=True)
class Content:
    """A content word of a sentence, or a pronoun for what the text is about."""

    word: Word
    meaning: str
    """As of `Lexeme`; "it" and "its" for pronouns of any gender and number."""
    negated: bool
    follows: bool
    """Whether the content before it stands directly before it, with nothing but a space between."""
    passive: bool
    """Whether it is a participle behind a form of "to be"."""
    link: str
    """What binds it to the contents before it: a preposition (one for those of a meaning), "be", or nothing."""
    article: bool
    """Whether an article stands before it."""
    definite: bool
    """Whether "the" or a possessive stands before it."""
    pronoun: bool
    clause: int = 0
    """Which clause of its sentence it belongs to."""

    @property
    def possessive(self) -> bool:
        """Whether the next word belongs to it."""
        return self.meaning == "its" if self.pronoun else self.word.key.endswith(("'s", "s'"))

    @property
    def name(self) -> bool:
        """Whether it is written as a name."""
        return self.word.named and not self.meaning[0].isdigit()

    @property
    def adverb(self) -> bool:
        """Whether it may stand before or behind its verb."""
        key = self.word.key
        return key in _ADVERBS or (key.endswith("ly") and key not in _NO_ADVERBS)

    @property
    def participle(self) -> bool:
        """Whether it has the form of a past participle."""
        return _is_participle(self.word.key)


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a sentence between commas, conjunctions and the like that states something."""

    contents: tuple[Content, ...]
    own_subject: bool
    """Whether it says itself what it is about; else the clauses before it do."""
    relative: bool
    """Whether it only adds to the clause before it, as after "which"."""
    verb: int | None
    """Where its first verb stands, in code points, so far as a verb can be told by its form."""
    coordinated: bool
    """Whether "and" or the like stands before it, and not a comma alone."""
    listed: bool = False
    """Whether it is a list's next item, which takes its preposition from the item before it."""
    contrasted: bool = False
    """Whether "but" or "only" stands before it."""

    @property
    def stating(self) -> tuple[Content, ...]:
        """Its contents but for pronouns."""
        return tuple(content for content in self.contents if not content.pronoun)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with where it begins, in code points."""
    start = 0
    for piece in cut(text, semicolons=True):
        if piece.strip():
            yield start, piece.rstrip()
        start += len(piece)


def clauses(sentence: str) -> list[Clause]:
    """The clauses of one sentence that state something, in order.

    A negation reaches to the end of its clause, and an even number of them make it positive again; a clause that is
    nothing but a negation ("but it is not one") is about the one before it.
    """
    plain = _LEAD.sub(lambda match: "it".rjust(len(match[0])), sentence)
    plain = _NOT_ONLY.sub(lambda match: " " * len(match[0]), plain)
    plain = _EXCEPT.sub(lambda match: ", not".ljust(len(match[0])), plain)
    plain = _THE_ONE.sub(lambda match: " " * len(match[0]), plain)
    spoken = lexemes(plain)
    ends = _clause_ends(plain, spoken)
    stated: list[Clause] = []
    for _, part in groupby(spoken, key=lambda lexeme: bisect_right(ends, lexeme.word.start)):
        run = list(part)
        clause = _clause(run, len(stated))
        if clause.stating:
            stated.append(_inheriting(clause, stated[-1]) if stated else clause)
        elif stated and any(_negates(lexeme.word.key) for lexeme in run):
            turned = tuple(replace(content, negated=not content.negated) for content in stated[-1].contents)
            stated[-1] = replace(stated[-1], contents=turned)
    return stated


def _clause_ends(plain: str, spoken: list[Lexeme]) -> list[int]:
    """Where clauses end, in order, which is within no word: a sentence of a stranger may have thousands of commas."""
    words = sorted((lexeme.word.start, lexeme.word.end) for lexeme in spoken)
    starts = [start for start, _ in words]
    reached = [0, *accumulate((end for _, end in words), max)]
    ends = [match.start() for match in _CLAUSE_END.finditer(plain)]
    return [end for end in ends if reached[bisect_left(starts, end)] <= end]


def _contents(spoken: list[Lexeme], number: int) -> tuple[list[Content], bool]:
    """The content words of a clause and its pronouns, and whether the clause ends negated."""
    contents: list[Content] = []
    negated = passive = article = definite = False
    link, last_end, every = "", -2, False
    for lexeme in spoken:
        key, each, every = lexeme.word.key, every, lexeme.word.key in ("each", "every")
        if _negates(key):
            negated = not negated
        elif key in _PRONOUNS or states(lexeme):
            pronoun = key in _PRONOUNS
            follows = 0 <= lexeme.word.start - last_end <= 1
            if each and lexeme.meaning in _TIMES:
                link = link or "each"
            stands_for = _PRONOUNS.get(key, lexeme.meaning)
            acted = passive and _is_participle(key)
            bound = (link, article, definite)
            contents.append(Content(lexeme.word, stands_for, negated, follows, acted, *bound, pronoun, number))
            passive = passive and contents[-1].adverb
            link, last_end, article, definite = "", lexeme.word.end, False, key in _DEFINITE
        elif key in _FRAMING:
            link, article, definite = link if link == "to" else "", False, False
        else:
            eaten = key == "on" and contents and contents[-1].meaning == "eat"  # "feeds on leaves"
            link = link if eaten else _linked(link, key)
            passive = key in _BE or (passive and key not in _ARTICLES)
            article, definite = key in _ARTICLES or article, key in _DEFINITE or definite
    return contents, negated


def _clause(spoken: list[Lexeme], number: int) -> Clause:
    contents, negated = _contents(spoken, number)
    if negated and [content.word.key for content in contents if not content.pronoun] == ["one"]:
        contents = []  # "it is not one"
    relative = any(lexeme.word.key in _RELATIVE for lexeme in spoken[:2])
    verb = _verb(spoken)
    if verb is None:
        verb = _present(spoken, contents)
    subject = verb is not None and any(content.word.start < verb and not content.adverb for content in contents)
    begins = bool(contents) and contents[0].meaning == "it" and not contents[0].link
    subject = (subject or begins) and not relative
    coordinated, contrasted = spoken[0].word.key in ("and", "or", "but"), spoken[0].word.key in ("but", "only")
    return Clause(tuple(contents), subject, relative, verb, coordinated, contrasted=contrasted)


def _present(spoken: list[Lexeme], contents: list[Content]) -> int | None:
    """Where the verb stands of a clause like "and the bell weighs 13 tonnes"; none where no such form is seen."""
    keys = [lexeme.word.key for lexeme in spoken[:2]]
    if len(keys) < 2 or keys[0] not in ("and", "but", "or", "while") or keys[1] not in _ARTICLES | _DEFINITE:
        return None
    for at, content in enumerate(contents[1:-1], 1):
        third_person = content.word.key.endswith("s") and not content.word.key.endswith(("ss", "'s", "us"))
        if third_person and content.follows and not contents[at - 1].pronoun and contents[at + 1].link != "of":
            return content.word.start
    return None


def _linked(link: str, key: str) -> str:
    if key in _BINDING:
        return link if link in _STICKY else _ONE_LINK.get(key, key)
    if link:
        return link
    return "be" if key in _BE else "have" if key in _HAVE else ""


def _inheriting(clause: Clause, before: Clause) -> Clause:
    """A list's next item, with the preposition of the item before it: "in Europe and Asia"."""
    first = clause.contents[0]
    one_phrase = all(content.follows or content.link in ("than", "of") for content in clause.contents[1:])
    if len(clause.stating) > 1 and verbal(first):
        return clause
    if clause.verb is not None or clause.relative or first.link or not one_phrase:
        return clause
    links = [content.link for content in before.contents if not content.follows or content.link]
    longest = _LONGEST_ITEM + (links[-1:] == ["have"])
    if not links or len(clause.stating) > longest or (first.article and links[-1] in ("of", "in")):
        return clause
    return replace(clause, contents=(replace(first, link=links[-1]), *clause.contents[1:]), listed=bool(links[-1]))


def verbal(content: Content) -> bool:
    """Whether the first word of a piece is likelier its verb than a noun: "and eats insects", "and drink nectar"."""
    key = content.word.key
    third_person = key.endswith("s") and not key.endswith(("ss", "'s", "us")) and not content.name
    return not content.article and (third_person or content.meaning in _VERBS)


def states(lexeme: Lexeme) -> bool:
    """Whether a lexeme states something: a name, a number, or no function word."""
    key = lexeme.word.key
    return lexeme.number or not (key in _STATELESS or key in _BINDING or key in _BE or _negates(key))


def _verb(spoken: list[Lexeme]) -> int | None:
    """Where the first verb stands that its form tells: an auxiliary or a past tense."""
    for lexeme in spoken:
        key = lexeme.word.key
        modal = key == "cannot" or key.endswith("n't")
        if modal or key in _AUXILIARIES or key in _BE or key in _PASTS or (states(lexeme) and _is_participle(key)):
            return lexeme.word.start
    return None


def _is_participle(key: str) -> bool:
    return key in _PARTICIPLES or (key.endswith("ed") and key not in _NO_PARTICIPLES)


def _negates(key: str) -> bool:
    return key in _NEGATIONS or key.endswith("n't")
