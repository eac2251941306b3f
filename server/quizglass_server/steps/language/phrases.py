"""What a question names by sight or by name, as a detector is asked for it. English, by its words."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice

from quizglass_server.steps.language.pronouns import SPOKEN_OF, points
from quizglass_server.steps.language.wording import stands_in, words

ANYTHING = "object"
"""What is looked for when a question names no thing."""
_MOST_WORDS = 3
_HAVING = re.compile(r"\s+of(?=\s+(?:this|that|these|those|the|my|your|it|its|them)\b)")
_WHO = re.compile(r"\s+(?:(?:in|at|on|from) )?(?:who|that|which|where)\b")
_WORD = re.compile(r"[\w'-]+")
_POINTER = re.compile(r"\b(?:this|that|these|those|the|my|your)\s+")
# Left, right and middle are not told to the detector: `crop.place_of` knows them.
_WHERE = re.compile(
    r"\s+(?:(?:at|in|on) the (?:top|bottom|front|back)"
    r"|(?:beside|next to|behind|above|below|under|(?:to the )?(?:left|right) of) (?:the|this|that|my|your) [\w'-]+)"
)
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

    What is told apart by its neighbour or height keeps that: "bird right of the packet", "boat at the top". What a
    thing has is left out, such as the maker in "the maker of this car", and what is called by its name where the
    question also names something by sight: "this dish or the Terbindor".
    """
    text, named, end = question.lower(), list[str](), 0
    by_name: set[str] = set()
    for pointer in _POINTER.finditer(text):
        if pointer.start() < end:
            continue
        name = ""
        for word in islice(_WORD.finditer(text, pointer.end()), _MOST_WORDS):
            if word[0] in _ENDS:
                break
            name, end = f"{name} {word[0]}", word.end()
        if name.split()[:1] in _FRAMES:
            continue
        if name and (having := _HAVING.match(text, end)):
            end = having.end()
        elif name and (who := _WHO.match(text, end)) and _POINTER.search(text, who.end()):
            end = who.end()
        elif name:
            where, who = _WHERE.match(text, end), _WHO.match(text, end)
            named.append(" ".join((name + (where[0] if where else "")).split()))
            if question[pointer.end() : pointer.end() + 1].isupper():
                by_name.add(named[-1])
            end = where.end() if where else who.end() if who else end
    named = list(dict.fromkeys(named))
    return [phrase for phrase in named if phrase not in by_name] or named or [ANYTHING]


def says_what(question: str) -> bool:
    """Whether a question says itself what it is about ("the car", "the Velmora"), and nothing of what was spoken of."""
    phrases = phrases_of(question)
    return phrases != [ANYTHING] and SPOKEN_OF.search(question) is None


def asks_by_name(question: str, names: Collection[str]) -> bool:
    """Whether a question has one of these names, and nothing that it asks about by sight: "Who made the Velmora?"."""
    asked, known = words(question), [words(name) for name in names]
    if points(question) or not any(stands_in(name, asked) for name in known):
        return False
    phrases = [words(phrase) for phrase in phrases_of(question) if phrase != ANYTHING]
    return all(any(stands_in(name, phrase) or stands_in(phrase, name) for name in known) for phrase in phrases)
