"""What kind of thing a question asks for, and whether a sentence has one: "the constellation Fornax", "Mr Whitlock".

English, by its words.
"""

from __future__ import annotations

import re

from quizglass_server.steps.language import english
from quizglass_server.steps.language.wording import words

_NO_NOUN = (
    r"is|are|was|were|am|be|been|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must|of|for|to|in"
    r"|on|at|from|with|by|about|if|when|an?|the|this|that|these|those|it|he|she|they|i|you|we|my|your|our|his|her|its"
    r"|their|else|happens|happened"
)
"""Words that end what is asked for, or stand in its place."""
_WHICH = re.compile(rf"\b(?:which|what)((?: (?!(?:{_NO_NOUN})\b)[a-z][\w-]*){{1,3}})", re.IGNORECASE)
_LEAD = r"^\W*(?:(?:and|so|but|ok|okay|hey)\b\W*)*"
_WHEN = re.compile(rf"{_LEAD}(?:when|what time|how often)\b", re.IGNORECASE)
_TIME = re.compile(
    rf"\b(?:{'|'.join(english.MONTHS.split())}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter"
    r"|christmas|easter|mornings?|evenings?|noon|midnight|night|daily|weekly|monthly|yearly|every|each|1[6-9]\d\d"
    r"|20\d\d|\d\d?:\d\d)\b|\b\d\d?(?::\d\d)? ?(?:[ap]m|[ap]\.m)\b"
    r"|\b(?:at|by|until|till|before|after|from|since) "
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(rf"{_LEAD}where\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?i:in|on|at|behind|under|below|above|beside|next to|from|inside|by) "
    r"(?:(?i:the|my|our|his|her|their|an?)|[A-Z0-9]\w*)\b"
)
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_CALL = re.compile(r"\b(?:ring|call|phone|contact|report|tell|ask)\b", re.IGNORECASE)
_REACHED = re.compile(rf"\d{{3}}|{_CALL.pattern}|\b(?:mail|extension)\b", re.IGNORECASE)
_WHETHER = re.compile(
    r"\W*(?:(?:and|so|but|ok|okay|hey|please|well|now|then)\b\W*)*"
    r"(?:am|is|are|was|were|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|would)(?:n['’]t)?\b",
    re.IGNORECASE,
)
_NO_NAME = frozenset(
    f"""
{english.MONTHS} jan feb mar apr jun jul aug sep sept oct nov dec christmas easter advent i i'm i've i'd i'll
monday tuesday wednesday thursday friday saturday sunday
""".split()
)
"""Words with a capital that name no person, company or place."""


def asks_whether(question: str) -> bool:
    """Whether "yes" or "no" answers a question: it begins with an auxiliary."""
    return _WHETHER.match(question) is not None


def says_asked(question: str, sentence: str) -> bool:
    """Whether a sentence has what a question asks for by its kind.

    Of "which" and "what" that is a name or a number right behind the noun that is asked for ("Lot 52"); of "who" a name
    anywhere, or, for whom to call, how to; of "when" a time, of "where" a place. Nothing of other questions: a sentence
    with a number answers few that ask for one.

    Args:
        question: as asked.
        sentence: in its own case, since a capital marks a name.
    """
    if _WHO.search(question):
        return _has_name(sentence) or (_CALL.search(question) is not None and _REACHED.search(sentence) is not None)
    if _WHEN.match(question):
        return _TIME.search(sentence) is not None
    if _WHERE.match(question):
        return _PLACE.search(sentence) is not None
    asked = _WHICH.search(question)
    if asked is None:
        return False
    kinds = "|".join(re.escape(noun.removesuffix("s")) for noun in asked[1].split())
    return re.search(rf"\b(?i:(?:{kinds})s?) (?:[A-Z]\w|[\d#])", sentence) is not None


def _has_name(sentence: str) -> bool:
    """Whether a word behind the first one has a capital."""
    later = words(sentence)[1:]
    return any(word.named and word.key[0].isalpha() and word.key.removesuffix("s") not in _NO_NAME for word in later)
