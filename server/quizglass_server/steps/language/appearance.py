"""Whether a question can be answered by nothing but looking at the picture: how many it shows, and what stands where.

English, by its words. What notes may tell of a thing, its colour or how many legs it has, is no such question: those
go to the model, which says whether its notes answer.
"""

from __future__ import annotations

import re

_PICTURE = r"(?:picture|photo(?:graph)?|image|frame)"
_SEEN = rf"(?:(?:do|can|could) (?:you|I|we) (?:see|count|make out)|in (?:this|the|my) {_PICTURE})"
_SIDE = r"(?:left|right|top|bottom|upper|lower|middle|cent(?:re|er))"
_ASKED = re.compile(
    rf"\bhow many\b[^.?!]{{0,60}}\b{_SEEN}\b"
    rf"|\b(?:on|at|in) the {_SIDE}(?:[- ]hand)?(?: side| part| half| edge)? of (?:this|the|my) {_PICTURE}\b"
    rf"|\bin the {_SIDE}[- ]?{_SIDE}?(?:[- ]hand)? corner\b"
    rf"|\bon the left or (?:on )?the right\b"
    rf"|\b(?:what|who) (?:is|are|stands?|lies?|sits?) (?:behind|beside|next to|in front of|above|below|under)"
    rf" (?:it|this|that|them|these|me|us)\b"
    rf"|\b(?:is|are) there (?:an?|any|some|\w+) [^.?!]{{1,40}} in (?:this|the|my) {_PICTURE}\b"
    rf"|\bwhat colou?r is the background\b",
    re.IGNORECASE,
)


def asks_what_is_seen(question: str) -> bool:
    """Whether only somebody who sees the picture can answer."""
    return _ASKED.search(question) is not None
