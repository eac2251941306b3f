"""What kind of thing a question asks for, and whether a sentence has one: "the constellation Fornax", "Mr Whitlock".
And what each half of a question asks that has two.

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


_ASKING = r"(?:what|who|whom|whose|when|where|why|how|which)(?:['’](?:s|re|d|ll))?"
_AUXILIARY = (
    r"(?:am|is|are|was|were|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|would)(?:n['’]t)?"
)
_SUBJECT = r"(?:i|you|he|she|it|we|they|this|these|there)"
_JOINT = re.compile(
    rf"(?:[,;]? and (?:also )?| ?(?<!\?)\?+ (?:(?:and|or|but) )?(?:also )?)"
    rf"(?=(?:{_ASKING}|{_AUXILIARY}\s+{_SUBJECT}|(?P<open>{_AUXILIARY}))\b)",
    re.IGNORECASE,
)
"""Before a second half; `open` where its auxiliary may be the first one's verb: "Who lives here and has the key?".
White space is single spaces, of which long runs would be looked through once for each of them."""
_ASKS = re.compile(
    rf"{_LEAD}(?:(?:hi|hello|please)\W+)?(?:tell me\s+)?"
    rf"(?:(?:(?:until|till|since|in|on|at|for|from|with|to|by|about)\s+)?{_ASKING}|{_AUXILIARY})\b",
    re.IGNORECASE,
)
_OF_A_VERB = re.compile(rf"{_LEAD}(?:when|where|why|how|{_AUXILIARY})\b", re.IGNORECASE)
"""Before a first half whose question word is no subject."""
_NO_HALF = re.compile(
    rf"{_LEAD}(?:when|where|if)\s+{_SUBJECT}\b|\bbetween\b|\bnot\W*$|\b(?:that|those|then|ones?)\W*$", re.IGNORECASE
)
"""Of halves that are none, or mean by "that" what the other one says."""
_LEFT_OUT = re.compile(
    r"(?:what|which|who|whose|when|where|why|how) (?:about|after|at|before|during|for|from|if|in|on|with|without)\b ",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    rf"(?:when|where|why)\b(?!['’]|(?: exactly| else)?(?: {_AUXILIARY}\b| to\b))"
    rf"|(?:what|which|how) (?:the|an?|my|your|his|her|its|our|their|{_SUBJECT})\b",
    re.IGNORECASE,
)
_PERSON_WHO = re.compile(
    r"\b(?:ones?|m[ae]n|wom[ae]n|person|people|those|someone|anyone|boys?|girls?|dogs?|cats?) who\b", re.IGNORECASE
)
"""Of second halves that go on in the first one: by its verb ("and which for the gate?"), in its clause ("when it beeps
and when the lamp blinks?") or about a person in it ("the man who feeds the cat and who has the key?")."""
_TOLD = re.compile(
    rf"{_LEAD}(?:(?:please|hi|hello)\W+)?(?:tell me|(?:do|can|could|would|will) (?:you|it) (?:please )?"
    r"(?:explain|know|remember|say|tell)|does it say|may i ask)\b",
    re.IGNORECASE,
)
"""Before questions in the order of clauses: "Do you know when Anna comes and when Ben comes?"."""
_HOW = re.compile(r"\bhow (?!(?:is|are|was|were|do|does|did|can)\b)\w+|\bwhere\b.* from\W*$", re.IGNORECASE)
"""Says what it asks for, though in function words alone."""
_STATELESS = frozenset(english.FUNCTION.split())
_SHORTEST_HALF = 3
"""Words: "and when?" asks the same once more."""


def halves(question: str) -> tuple[str, ...]:
    """The two questions that one asks ("What does he weigh and when was he born?"), or it alone.

    Each has a question word or an auxiliary of its own and says what it asks for: "and when?" is no half, nor a noun
    behind "and".
    """
    parted, said = [], " ".join(question.split())
    for joint in _JOINT.finditer(said):
        first, second = said[: joint.start()].rstrip(" ?,;"), said[joint.end() :]
        maybe_one = joint["open"] and "?" not in joint[0] and not _OF_A_VERB.match(first)
        if maybe_one or _goes_on(first, second):
            continue
        if _asks_by_itself(first) and _asks_by_itself(second):
            parted.append((f"{first}?", second[:1].upper() + second[1:]))
    return parted[0] if len(parted) == 1 else (question,)


def _goes_on(first: str, second: str) -> bool:
    """Whether what stands behind "and" is no question without what stands before it."""
    if _LEFT_OUT.match(second) or (_CLAUSE.match(second) and not _TOLD.match(first)):
        return True
    return second[:4].lower() == "who " and _PERSON_WHO.search(first) is not None


def _asks_by_itself(half: str) -> bool:
    said = [word.key for word in words(half)]
    if len(said) < _SHORTEST_HALF or not _ASKS.match(half) or _NO_HALF.search(half):
        return False
    return _HOW.search(half) is not None or any(key.removesuffix("'s") not in _STATELESS for key in said)


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
