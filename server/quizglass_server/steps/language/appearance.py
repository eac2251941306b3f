"""Whether a question can be answered by nothing but looking at the picture: how many it shows, and what stands where.
And whether it says another colour than what was found.

English, by its words. How many legs a thing has notes may tell, so that is no such question: it goes to the model,
which says whether its notes answer. Notes tell the colour of a pictured thing now and then, in words that can be
found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from quizglass_server.steps.language.phrases import named_at
from quizglass_server.steps.language.wording import words

_PICTURE = r"(?:picture|photo(?:graph)?|image|frame)"
_SEEN = rf"(?:(?:do|can|could) (?:you|I|we) (?:see|count|make out)|in (?:this|the|my) {_PICTURE})"
_SIDE = r"(?:left|right|top|bottom|upper|lower|middle|cent(?:re|er))"
_ASKED = re.compile(
    rf"\bhow many\b(?:(?!(?<!of )\bthe\b)[^.?!]){{0,60}}\b{_SEEN}\b"
    rf"|\b(?:on|at|in) the {_SIDE}(?:[- ]hand)?(?: side| part| half| edge)? of (?:this|the|my) {_PICTURE}\b"
    rf"|\bin the {_SIDE}[- ]?{_SIDE}?(?:[- ]hand)? corner\b"
    rf"|\bon the left or (?:on )?the right\b"
    rf"|\b(?:what|who) (?:is|are|stands?|lies?|sits?) (?:behind|beside|next to|in front of|above|below|under)"
    rf" (?:it|this|that|them|these|me|us)\b"
    rf"|\b(?:is|are) there (?!in\b)(?:an?|any|some|\w+) [^.?!]{{1,40}} in (?:this|the|my) {_PICTURE}\b"
    rf"|\bwhat colou?r is the background\b",
    re.IGNORECASE,
)
_OWNED = r"(?:this|that|these|those|it|its|my|mine|he|she|they|i|we|his|her|their|our)"
_HERE = rf"(?:in|on|of) (?:this|the|my) {_PICTURE}"
_BESIDE = r"(?:(?<!the )(?:left|right) of|above|below|behind|beside|next to|in front of)"
_COLOUR_ASKED = re.compile(
    rf"\b(?:what|which) colou?rs?(?: [\w-]+){{0,3}} (?:is|are|was|were|has|have|does|do|did|am) {_OWNED}\b"
    rf"|\bwhat(?: is|['\u2019]s| are) (?:the|its|their) colou?rs?(?: of {_OWNED}\b|$|\?)"
    rf"|\bcolou?rs?\b[^.?!]{{0,60}}\b(?:on|at|in) the {_SIDE}(?: has| have)?[?.! ]*$"
    rf"|\bcolou?rs?\b[^.?!]{{0,60}}\b{_BESIDE} (?:the|an?)\b"
    rf"|\bcolou?rs?\b[^.?!]{{0,60}}\b(?:{_HERE}|(?:do|can) (?:you|I|we) see|in front of (?:me|us))\b",
    re.IGNORECASE,
)
_COLOURS = re.compile(
    r"\b(?:(?:red|blue|green|yellow|orange|purple|violet|pink|brown|black|white|gr[ae]y|beige|cream|gold|silver|bronze"
    r"|copper|turquoise|teal|cyan|magenta|indigo|maroon|crimson|scarlet|ivory|khaki|olive|navy|lilac|amber|tan|rosy?"
    r"|azure|ruby|emerald|sapphire|lavender|ochre|mustard|rust|sand|slate|charcoal|ebony|chestnut|auburn|blond|ginger|tabby"
    r"|transparent|translucent|clear|pale|dark|light|bright|striped|spotted|motley|rainbow)(?:e|s|n|en|ish|y|ey|ly|der)?"
    r"|\w*colou?r\w*)\b",
    re.IGNORECASE,
)


_THING = r"(?:things?|objects?|items?|animals?|birds?|plants?|flowers?|trees?|fruits?|vegetables?|vehicles?|shapes?)"
_LOOKS = re.compile(
    r"\bcolou?rs?\b"
    rf"|\bhow many (?:\w+ )?(?:{_THING}|people|persons?|men|women|children|kids|faces)\b"
    r"|\b(?:what|which) shape\b|\bshaped?\b"
    rf"|\b(?:what|which) (?:(?:sort|kind|type) of )?{_THING} (?:is|are|do|can|stands?)\b"
    rf"|\b(?:what|which) {_SIDE}?\s?side\b|\b(?:left|right), (?:right|left|middle)\b"
    rf"|\bwhat(?: is|['\u2019]s| are| do (?:I|you|we) see| can (?:I|you|we) see|can be seen)"
    rf" (?:on|at|in|to) the {_SIDE}(?:[- ]hand)?(?: side)?[?.! ]*$"
    r"|\b(?:indoors or outdoors|outdoors or indoors|inside or outside)\b"
    r"|\b(?:is|are) (?:he|she|they|the (?:man|woman|boy|girl|person|child|dog|cat|people)) (?:\w+ing)\b"
    r"|\b(?:he|she|they|the (?:man|woman|boy|girl|person|child|dog|cat|people)) (?:doing|wearing|holding)\b",
    re.IGNORECASE,
)


_SPELLINGS = {"gray": "grey", "golden": "gold"}
_HUES = frozenset(
    """beige black blue brown crimson cyan gold golden gray green grey indigo magenta maroon olive orange pink purple
    red scarlet silver teal turquoise violet white yellow""".split()  # noqa: SIM905
)


def tells_other_colours(question: str, texts: Iterable[str]) -> bool:
    """Whether texts name colours, but not the one by which a question says what it means: "the red car".

    The last word of a phrase says what is meant, or what is asked: "the orange", "is this car red".
    """
    by_sight = [each.phrase.rpartition(" ")[0] for each in named_at(question) if not each.by_name]
    asked = {hue for phrase in by_sight for hue in _hues(phrase)}
    told = {hue for text in texts for hue in _hues(text)}
    return bool(told) and not asked <= told


def _hues(text: str) -> set[str]:
    return {_SPELLINGS.get(word.key, word.key) for word in words(text) if word.key in _HUES}


def is_hue(key: str) -> bool:
    """Whether a word, as of `Word.key`, is one for a colour and nothing else."""
    return key in _HUES


def asks_colour(question: str) -> bool:
    """Whether it asks for the colour of something that it points at; not of a thing that it names."""
    return _COLOUR_ASKED.search(question) is not None


def tells_colour(text: str) -> bool:
    """Whether a text has a word for a colour, or for something like one."""
    return _COLOURS.search(text) is not None


def asks_looks(question: str) -> bool:
    """Whether it asks how something looks, where it is, or how many there are: what no words say that are in view."""
    return asks_what_is_seen(question) or asks_colour(question) or _LOOKS.search(question) is not None


def asks_what_is_seen(question: str) -> bool:
    """Whether only a viewer of the picture can answer."""
    return _ASKED.search(question) is not None
