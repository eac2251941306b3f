"""What a question names by sight or by name, as a detector is asked for it. English, by its words."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from quizglass_server.steps.language.pronouns import leaves_out, points, speaks_of
from quizglass_server.steps.language.wording import stands_in, words

ANYTHING = "object"
"""What is looked for when a question names no thing."""
_MOST_WORDS = 3
_HAVING = re.compile(r"\s+of(?=\s+(?:this|that|these|those|the|my|your|it|its|them)\b)")
_OF_NAME = re.compile(r"\s+of\s+[A-Z0-9]")
_WHO = re.compile(r"\s+(?:(?:in|at|on|from) )?(?:who|that|which|where)\b")
_WORD = re.compile(r"[\w'\u2019-]+")
_POINTER = re.compile(r"\b(?:this|that|these|those|the|my|your)\s+")
# Left, right and middle are not told to the detector: `crop.place_of` knows them.
_WHERE = re.compile(
    r"\s+(?:(?:at|in|on) the (?:top|bottom|front|back)"
    r"|(?:beside|next to|behind|above|below|under|(?:to the )?(?:left|right) of) (?:the|this|that|my|your)"
    r" [\w'\u2019-]+)"
)
_ONES = ("one", "ones")
_COMPARED = frozenset(
    """bigger brighter cheaper darker faster heavier higher larger less lighter longer lower more newer older shorter
    slower smaller taller thicker thinner wider younger""".split()  # noqa: SIM905
)
"""What ends a name, and begins one: "is the taller boat older than"."""
_HAD = frozenset("age colour color height length name price size weight width".split())  # noqa: SIM905
"""What things have, and so nothing that could be found."""
_BY_SIGHT = re.compile(
    r"\b(?:here|see|seen|seeing|looks?|looking|visible|shown?|shows|pictured?|pictures|photo(?:graph)?s?|images?"
    r"|beside|next to|behind|above|below|under|(?:left|right|front) of"
    r"|(?:is|are|was|were|does|do|did|than|or|and|of) (?:that|those))\b",
    re.IGNORECASE,
)
"""What asks for a look at the picture, whatever is named."""
_FRAMES = (["picture"], ["photo"], ["photograph"], ["image"])
# What cannot be part of a thing's name ends it.
_ENDS = frozenset(
    """a about above am an and are as at be been before behind below beside born bottom bred built by called can come
    comes cooked cost costs could described designed did do does first for founded from front grow grown grows had
    has have here how i if in is it its kept known left lie lies live lives located made me middle my named next of
    on one or packed painted parked planted printed right say says served should side sold stand stands than that
    the there these they this those three to top two under used was we weigh weighs were what when where which who
    whose why will with work works would written wrote you your""".split()  # noqa: SIM905
)


def phrases_of(question: str) -> list[str]:
    """What a question names with "this", "the" and the like, a few words each; "object" when it names nothing.

    A phrase that distinguishes by neighbour or height keeps that: "bird right of the packet", "boat at the top". What a
    thing has is left out, such as the maker in "the maker of this car", and what is called by its name where the
    question also names something by sight: "this dish or the Terbindor".
    """
    named = named_at(question)
    by_name = {each.phrase for each in named if each.by_name}
    phrases = list(dict.fromkeys(each.phrase for each in named))
    return [phrase for phrase in phrases if phrase not in by_name] or phrases or [ANYTHING]


@dataclass(frozen=True, slots=True)
class Named:
    """What a question names, by sight or by its name, and where that stands, in code points."""

    phrase: str
    start: int
    """Of its first word, behind "the" or "this"."""
    end: int
    by_name: bool
    """Whether it begins with a capital."""


def named_at(question: str) -> list[Named]:
    """The same phrases and the names, each as often as it stands there."""
    text, named, end = _lowered(question), list[Named](), 0
    for pointer in _POINTER.finditer(text):
        if pointer.start() < end:
            continue
        name = ""
        for word in islice(_WORD.finditer(text, pointer.end()), _MOST_WORDS):
            if word[0] in _ONES:
                name, end = f"{name} {ANYTHING}", word.end()
                break
            if word[0] in _ENDS or (name and word[0] in _COMPARED):
                break
            name, end = f"{name} {word[0]}", word.end()
        if name.split()[:1] in _FRAMES:
            continue
        if name and (having := _HAVING.match(text, end)):
            end = having.end()
        elif name and (who := _WHO.match(text, end)) and _POINTER.search(text, who.end()):
            end = who.end()
        elif name and (question[pointer.end()].isupper() or not _is_had(question, name, end)):
            where, who = _WHERE.match(text, end), _WHO.match(text, end)
            phrase, stop = " ".join((name + (where[0] if where else "")).split()), where.end() if where else end
            named.append(Named(phrase, pointer.end(), stop, question[pointer.end()].isupper()))
            end = where.end() if where else who.end() if who else end
    return named


def _lowered(text: str) -> str:
    """A text in small letters, each where it stood: a few capitals have more than one."""
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def _is_had(question: str, name: str, end: int) -> bool:
    """Whether something has what a question says up to there: a price, or "the founder of Limawex"."""
    return name.split()[-1] in _HAD or _OF_NAME.match(question, end) is not None


def says_what(question: str) -> bool:
    """Whether a question says itself what it is about ("the car", "the Velmora"), and not an earlier subject."""
    phrases = phrases_of(question)
    return phrases != [ANYTHING] and not speaks_of(question) and not leaves_out(question)


def asks_by_name(question: str, names: Collection[str]) -> bool:
    """Whether a question has one of these names, and nothing that it asks about by sight: "Who made the Velmora?"."""
    asked, known = words(question), [words(name) for name in names]
    if points(question) or _BY_SIGHT.search(question) or not any(stands_in(name, asked) for name in known):
        return False
    phrases = [words(each.phrase) for each in named_at(question)]
    return all(any(stands_in(name, phrase) or stands_in(phrase, name) for name in known) for phrase in phrases)


def asks_by_its_names(question: str) -> bool:
    """Whether a question has a name ("the Velmora"), and asks about nothing else: "Who made the Velmora?"."""
    return asks_by_name(question, {each.phrase for each in named_at(question) if each.by_name})
