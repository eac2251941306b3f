"""Whether each content word of a statement can be found in what a sentence says, and in the same part.

The words of the statement have to stand in the sentence in their order: what is left out between them does no harm, and
what is exchanged does. Few moves are allowed: a phrase with a preposition from or to the front, "eucalyptus leaves" for
"leaves of eucalyptus", "its flowers are white" for "its white flowers", an adverb beside its verb.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from quizglass_server.steps.language import english
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.statements import Content

EQUALS = "equals"
"""The link of the subject that a statement with its sides exchanged ends in: only what "is" the other side is meant."""
_START = -1  # in front of a sentence that leaves out what it is about
_FREE = -2  # anywhere
_MOST_STEPS = 2000
_MEASURES = {first: frozenset(units.split()) for first, units in english.MEASURES.items()}
_MAY_BE_ADDED = frozenset(("stand", *_MEASURES))
YEAR = re.compile(r"\d{4}s?")
"""A year, or "1970s"."""
_UNDROPPED, _ORDINALS = frozenset(english.UNDROPPED.split()), frozenset(f"second third {english.ORDINALS}".split())
WEEKDAYS = frozenset(map(meaning, english.WEEKDAYS.split()))
_LOOSE = frozenset(("of", "in", "on", "for", "from"))
_UNLINKED = frozenset(("", "be", "have"))
_NONE = frozenset(("", "be", "as", "have", EQUALS))


class Bond(Enum):
    """How a clause of the evidence goes with those before it."""

    OWN = auto()
    """It says something else of the same subject: "and was retired in 2003"."""
    ITEM = auto()
    """It has no verb: the next item of a list, or a phrase."""
    GAPPED = auto()
    """It leaves out the verb before it, but has more than one phrase: "and the medal in 1911"."""
    ADDED = auto()
    """It adds to what is before it: "which is red", "carved into cliffs"."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What of a sentence of the evidence counts for all that can be read in it."""

    kinds: tuple[Bond, ...]
    """Of each clause."""
    subjects: frozenset[int]
    """Where words stand that later clauses have as their subject, in code points."""
    verbs: frozenset[int]
    """Where verbs stand that their form tells."""
    nouns: frozenset[str]
    """What stands directly behind numbers."""


@dataclass(frozen=True, slots=True)
class Path:
    """A clause of the evidence with those before it that it needs, in one order for active and passive."""

    contents: tuple[Content, ...]
    sentence: Sentence
    meanings: frozenset[str]
    """Of the contents."""
    fronted: int
    """How many contents are a phrase before the subject, as "in 1903" is."""


def aligned(path: Path, order: Sequence[Content], about: frozenset[str]) -> bool:
    """Whether a path says what a statement says.

    Args:
        path: of the evidence.
        order: the statement's contents.
        about: meanings of the words for what the evidence is about.
    """
    said = path.contents
    wanted = {content.meaning for content in order if not content.pronoun}
    if wanted - path.meanings - about - _MAY_BE_ADDED - path.sentence.nouns:
        return False
    positive = {content.meaning for content in said if not content.negated}
    denied = any(content.negated and content.meaning in wanted - positive for content in said)
    if denied != any(content.negated for content in order):
        return False
    return _Alignment(path, order, about, front(order)).exists()


class _Alignment:
    """The search for a place of each content of a statement in a path."""

    def __init__(self, path: Path, order: Sequence[Content], about: frozenset[str], fronted: int) -> None:
        self._path, self._said, self._order, self._about = path, path.contents, order, about
        self._heads, self._own_heads = phrases(self._said), phrases(order)
        self._fronted = fronted
        self._titled = any(said.meaning in about or (said.pronoun and not said.possessive) for said in self._said)
        self._steps = 0

    def exists(self) -> bool:
        """Whether there is a place for everything."""
        candidates = [list(self._candidates(at)) for at in range(len(self._order))]
        return all(candidates) and self._search(candidates, [])

    def _search(self, candidates: Sequence[Sequence[int]], places: list[int]) -> bool:
        if len(places) == len(candidates):
            return self._whole(places)
        for place in candidates[len(places)]:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                return False
            if self._fits(places, place) and self._search(candidates, [*places, place]):
                return True
        return False

    def _candidates(self, at: int) -> Iterator[int]:
        content = self._order[at]
        ours = content.pronoun or content.meaning in self._about
        own = bool(content.possessive or content.link in _LOOSE or self._receives(at))
        for place, said in enumerate(self._said):
            if not content.pronoun and not said.pronoun and said.meaning == content.meaning:
                if said.negated == content.negated and self._bound_alike(at, place):
                    yield place
            elif ours and self._stands_for(at, place, own):
                yield place
        if (
            self._is_measure(at)
            or self._elided(at)
            or (ours and own and (content.pronoun or not content.name or content.meaning in self._about))
        ):
            yield _FREE
        elif ours and not self._titled:
            yield _START

    def _elided(self, at: int) -> bool:
        """Whether a noun behind a number is left out there as understood: "one has one hump and the other two"."""
        content, before = self._order[at], self._order[at - 1] if at else None
        if before is None or not content.follows or not before.meaning[0].isdigit():
            return False
        ends = [
            place
            for place, said in enumerate(self._said)
            if said.meaning == before.meaning and not (place + 1 < len(self._said) and self._said[place + 1].follows)
        ]
        return bool(ends) and (content.meaning in self._about or content.meaning in self._path.sentence.nouns)

    def _receives(self, at: int) -> bool:
        """Whether something of its own follows: "gives the pretzel its crust"."""
        return at + 1 < len(self._order) and self._order[at + 1].meaning == "its"

    def _compound(self, at: int, place: int) -> bool:
        """Whether the same word follows: "lavender oil" and "its oil"."""
        own, said = self._order[at + 1 : at + 2], self._said[place + 1 : place + 2]
        return bool(own and said and own[0].follows and own[0].meaning == said[0].meaning)

    def _stands_for(self, at: int, place: int, own: bool) -> bool:
        """Whether a pronoun or another word for what the text is about stands there in the same part."""
        content, said = self._order[at], self._said[place]
        if not said.pronoun and said.meaning not in self._about:
            return False
        if own:
            return said.possessive or said.link in ("of", "in")
        if said.possessive and self._compound(at, place):
            return True
        head = self._heads[place]
        own_head = self._own_heads[at]
        inside = head is not None and (own_head is None or self._said[head].link != self._order[own_head].link)
        return not (said.possessive or inside) and _links_agree(said, content)

    def _bound_alike(self, at: int, place: int) -> bool:
        content, said = self._order[at], self._said[place]
        following = self._order[at + 1] if at + 1 < len(self._order) else None
        before = self._said[place - 1] if place else None
        if said.possessive and not content.possessive and content.link != "of":
            after = self._said[place + 1] if place + 1 < len(self._said) else None
            return following is not None and after is not None and following.meaning == after.meaning
        if self._voices_differ(at, place) or self._otherwise_predicated(at, place):
            return False
        if _links_agree(said, content) or self._phrases_agree(at, place):
            return True
        if said.link == "of" and content.link in _NONE:
            return bool(following and before and following.follows and following.meaning == before.meaning)
        return (
            content.link == ""
            and all(other.follows or not number for number, other in enumerate(self._order))
            and at == 0
        )

    def _phrases_agree(self, at: int, place: int) -> bool:
        """Whether the phrases that two words stand in begin with one preposition."""
        own, head = self._own_heads[at], self._heads[place]
        return own is not None and head is not None and self._order[own].link == self._said[head].link

    def _otherwise_predicated(self, at: int, place: int) -> bool:
        """Whether the statement says that something is or has this, and the evidence only mentions it."""
        content, said = self._order[at], self._said[place]
        if content.link not in ("be", "have", EQUALS) or said.link not in _NONE or said.link == content.link:
            return False
        if content.link == "have":
            return not content.meaning[0].isdigit()
        doer = content.word.key.endswith(("er", "or")) and said.word.key != content.word.key
        if content.link == EQUALS:
            return said.link != "be" and not doer
        opens = place == 0 or said.clause != self._said[place - 1].clause or self._run_link(place) == "be"
        beside = {part.meaning for part in (*self._said[place + 1 : place + 2], *self._said[max(place - 1, 0) : place])}
        attribute = at > 0 and self._order[at - 1].meaning in beside
        return said.link != "" or not (opens or doer or attribute or content.participle)

    def _run_link(self, place: int) -> str:
        """What binds the words to which a word is joined, as "is" does "native" in "is a bear native to"."""
        while place and self._said[place].follows and not self._said[place].link:
            place -= 1
        return self._said[place].link

    def _voices_differ(self, at: int, place: int) -> bool:
        """Whether a verb is passive in one of the two and active in the other."""
        content, said = self._order[at], self._said[place]
        if content.passive == said.passive:
            return False
        begins = not any(part.clause == said.clause for part in self._said[:place])
        if content.passive and begins and said.participle and self._path.sentence.kinds[said.clause] is Bond.ADDED:
            return False
        sequence, number = (self._said, place) if content.passive else (self._order, at)
        following = sequence[number + 1] if number + 1 < len(sequence) else None
        return not (sequence[number].participle and (following is None or following.link not in _UNLINKED))

    def _is_measure(self, at: int) -> bool:
        """Whether a word says what a number is of ("330 metres tall") and the evidence does not say otherwise."""
        content = self._order[at]
        if content.meaning == "stand" and at + 2 < len(self._order):
            return self._order[at + 1].meaning[0].isdigit() and self._order[at + 2].follows
        if content.meaning not in _MEASURES or at < 2 or not self._order[at - 2].meaning[0].isdigit():
            return False
        said = [part.meaning for part in self._said]
        number, unit = self._order[at - 2].meaning, self._order[at - 1].meaning
        beside = {part for at, part in enumerate(said) if number in said[max(at - 2, 0) : at + 2] and unit in said}
        return content.follows and unit in _MEASURES[content.meaning] and not beside.intersection(_MEASURES)

    def _fits(self, places: Sequence[int], place: int) -> bool:
        at = len(places)
        if place < 0:
            return place == _FREE or not any(other >= 0 for other in places)
        said = self._said[place]
        for before, other in enumerate(places):
            if other == _FREE:
                continue
            if other == place and not (said.pronoun or said.meaning in self._about):
                return False
            if other > place and not self._may_move(before, at, other, place):
                return False
            if other >= 0 and not self._go_together(before, at, other, place):
                return False
        if places and places[-1] >= 0:
            return not (self._taken_apart(at, places[-1], place) or self._scattered(at, places[-1], place))
        return True

    def _may_move(self, one: int, other: int, high: int, low: int) -> bool:
        """Whether `one` may stand before `other` in the statement though the evidence has them the other way round."""
        said, order = self._said, self._order
        head_high, head_low = self._heads[high], self._heads[low]
        own_one, own_other = self._own_heads[one], self._own_heads[other]
        if one < self._fronted <= other and head_high is not None and said[head_high].link != "than":
            return True
        if own_other is not None and head_low is not None and self._begins(head_low, high):
            return True
        beside = high == low + 1
        if beside and other == one + 1:
            if order[other].follows and (
                said[high].link == "of" or (said[high].link == "be" and not said[high].article)
            ):
                return True
            if said[high].follows and (
                order[other].link == "of" or (order[other].link == "be" and not order[other].article)
            ):
                return True
        if self._named(one, other, high, low):
            return True
        if not (order[one].adverb or order[other].adverb):
            return False
        return beside or other == one + 1 or own_one is not None or own_other is not None

    def _begins(self, head: int, place: int) -> bool:
        """Whether a phrase is the beginning of the clause that a word behind it stands in."""
        said = self._said
        here = said[head].clause
        return here == said[place].clause and not any(part.clause == here for part in said[:head])

    def _named(self, one: int, other: int, high: int, low: int) -> bool:
        """Whether "the architect Ana Brint" stands for "Ana Brint was an architect"."""
        run = self._order[one + 1 : other + 1]
        if not (self._order[other].name and self._said[low].name and all(part.follows for part in run)):
            return False
        first = high
        while first and self._said[first].follows:
            first -= 1
        return self._said[first].link == "be" and self._said[first].article and low < first

    def _go_together(self, before: int, at: int, one: int, other: int) -> bool:
        """Whether words of two clauses may be of one statement."""
        early, late = sorted((self._said[one], self._said[other]), key=lambda content: content.clause)
        if self._order[before].clause != self._order[at].clause and self._own_heads[before] != self._own_heads[at]:
            return True  # two items of a list here too
        if early.clause == late.clause:
            return True
        kind = self._path.sentence.kinds[late.clause]
        if kind is Bond.OWN:
            return early.word.start in self._path.sentence.subjects
        if kind is Bond.GAPPED and late.link not in _NONE:
            return early.word.start in self._path.sentence.subjects | self._path.sentence.verbs
        if kind in (Bond.ITEM, Bond.GAPPED):
            return early.link != late.link or early.link in _NONE or early.link == "of"
        return True

    def _taken_apart(self, at: int, before: int, place: int) -> bool:
        """Whether two words that the statement joins go with other words there: "blue car" and "red roof"."""
        content, said = self._order[at], self._said
        if not content.follows or before > place or content.pronoun or place - before <= 0:
            return False
        run = said[before + 1 : place + 1]
        if all(part.follows for part in run):
            return False
        one = self._order[at - 1]
        if one.name and content.name and said[before].clause == said[place].clause:
            return True
        return said[before + 1].follows and said[place].follows

    def _scattered(self, at: int, before: int, place: int) -> bool:
        """Whether a word with a preposition stands apart from the word that it goes with.

        "It first flew in 1969 and was retired in 2003" does not say that it first flew in 2003.
        """
        content, said = self._order[at], self._said
        if content.link in _NONE or place < self._path.fronted or said[before].pronoun:
            return False
        here, there = said[before].clause, said[place].clause
        if here == there or said[before].meaning in self._about or said[before].meaning[0].isdigit():
            return False
        if content.meaning[0].isdigit():
            return self._path.sentence.kinds[there] is not Bond.ADDED
        return there < here or any(
            self._path.sentence.kinds[clause] is Bond.OWN for clause in range(here + 1, there + 1)
        )

    def _whole(self, places: Sequence[int]) -> bool:
        """Whether nothing is left out that changes what is said."""
        used = {place for place in places if place >= 0}
        if _START in places and used:
            first = min(used)
            if any(not part.adverb and number >= self._path.fronted for number, part in enumerate(self._said[:first])):
                return False
        days = {place for place, part in enumerate(self._said) if part.negated and part.meaning in WEEKDAYS}
        if days and not used & days and any(self._said[place].negated for place in used):
            return False  # "it is not open" in "it is not open on Mondays"
        if any(not used.issuperset(ends) for place in used for ends in self._ranges(place)):
            return False
        if not used.issuperset(map(self._own_of, used)):
            return False
        return not any(place - 1 not in used and self._changes(place) for place in used if place)

    def _own_of(self, place: int) -> int:
        """Where the word stands that a phrase goes with: "glass" in "paper goes out on Mondays, glass on Thursdays"."""
        said = self._said[place]
        beside = [at for at, part in enumerate(self._said) if part.clause == said.clause]
        gapped = self._path.sentence.kinds[said.clause] is Bond.GAPPED and said.clause > 0
        return beside[0] if gapped and beside[1] == place and said.link not in _NONE else place

    def _ranges(self, place: int) -> Iterator[tuple[int, int]]:
        """Both ends of a range of numbers that a word is one of: "10 to 12", but not "from 10 to 12"."""
        for low, high in ((place - 1, place), (place, place + 1)):
            if low >= 0 and high < len(self._said):
                one, other = self._said[low], self._said[high]
                numbers = one.meaning[0].isdigit() and other.meaning[0].isdigit()
                if numbers and other.link == "to" and one.link != "from":
                    yield low, high

    def _changes(self, place: int) -> bool:
        """Whether the word before it may not be left out: "nearly extinct", "second largest"."""
        said = self._said[place]
        if not said.follows:
            return False
        key = self._said[place - 1].word.key
        return key in _UNDROPPED or (key in _ORDINALS and said.word.key.endswith(("est", "most")))


def front(contents: Sequence[Content]) -> int:
    """How many contents at the beginning are a phrase of time, place or the like: "in 1903", "of all penguins"."""
    if not contents or contents[0].link in _NONE or contents[0].link in ("than", "over", "under"):
        return 0
    size = 1
    while size < len(contents) and (_joined(contents, size) or _goes_on(contents[0], contents[size])):
        size += 1
    return size


def _joined(contents: Sequence[Content], at: int) -> bool:
    """Whether a word belongs to the phrase of the one before it; a subject behind a year does not."""
    return contents[at].follows and not contents[at].pronoun and not YEAR.fullmatch(contents[at - 1].meaning)


def _goes_on(first: Content, other: Content) -> bool:
    return other.link == "of" or (first.link == other.link and first.clause != other.clause)


def phrases(contents: Sequence[Content]) -> list[int | None]:
    """For each content the first of its phrase with a preposition; none: it is in no such phrase."""
    heads: list[int | None] = []
    for at, content in enumerate(contents):
        if content.link not in _NONE:
            heads.append(at)
        else:
            heads.append(heads[-1] if at and content.follows else None)
    return heads


def _links_agree(one: Content, other: Content) -> bool:
    """Whether two words are bound alike to what stands before them."""
    links = {one.link, other.link}
    if len(links) == 1 or links <= _NONE or links == {"have", "with"}:
        return True
    if "of" in links:
        rest = (links - {"of"}).pop()
        return rest in _LOOSE or (rest in _NONE and other.link == "of")
    return one.meaning == other.meaning and one.meaning[0].isdigit() and bool(links & _NONE) and "in" in links
