"""Which of a kind is asked for, and whether a sentence names it: "the constellation Fornax", "Lot 52", "grip size 3".

English, by its words.
"""

from __future__ import annotations

import re

_NO_NOUN = (
    r"is|are|was|were|am|be|been|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must|of|for|to|in"
    r"|on|at|from|with|by|about|if|when|an?|the|this|that|these|those|it|he|she|they|i|you|we|my|your|our|his|her|its"
    r"|their|else|happens|happened"
)
"""Words that end what is asked for, or stand in its place."""
_ASKED = re.compile(rf"\b(?:which|what)((?: (?!(?:{_NO_NOUN})\b)[a-z][\w-]*){{1,3}})", re.IGNORECASE)


def says_which(question: str, sentence: str) -> bool:
    """Whether a sentence has a name or a number right behind a noun that "which" or "what" asks for.

    Args:
        question: as asked; of "in which constellation is this" the noun is "constellation".
        sentence: in its own case, since a name is told by its capital.
    """
    asked = _ASKED.search(question)
    if asked is None:
        return False
    kinds = "|".join(re.escape(noun.removesuffix("s")) for noun in asked[1].split())
    return re.search(rf"\b(?i:(?:{kinds})s?) (?:[A-Z]\w|[\d#])", sentence) is not None
