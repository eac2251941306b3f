"""Whether an answer says that nothing is known, in the bundle's own words or in those that models use for it."""

from __future__ import annotations

import re
from collections.abc import Callable

from quizglass_server.steps.language.statements import sentences
from quizglass_server.steps.language.wording import same_wording

_SOURCE = r"(?:notes?|texts?|passages?|sources?|context|evidence|picture|image|photo)"
_ASKING = r"(?:who|what|when|where|how|why|which|whether)"
_NOT = r"(?:does|do|did)(?:n't| not)"
_GIVEN = "available|given|provided|found|mentioned|stated|specified|included|shown|known|listed|recorded|there|here"
_LACKING = (
    rf"(?:information|mention|evidence|data|details?|answer)(?=[.,;!]|$| (?:(?:is|are|was|were) )?(?:{_GIVEN})\b"
    rf"| (?:about|on|of|regarding|concerning|for|in|from|that|to|as|if|{_ASKING})\b)"
)
"""What is not there, and no thing that is called after it: "no information desk", "no data is sent"."""
_PHRASES = (
    r"(?:i|we)(?:'m| am|'re| are) (?:sorry|unsure|unable|afraid|unfamiliar|not (?:sure|certain|able|familiar|aware))\b",
    r"(?:i|we) (?:really |simply )?(?:don't|do not|didn't|did not) (?:know|have (?:any|enough|that|the|this)\b)",
    r"(?:i|we) (?:can't|cannot|can not|couldn't|could not) "
    r"(?:tell|say|answer|determine|find|see|identify|provide|be sure)",
    r"(?:i|we) have no (?:idea|information|way of knowing)",
    r"(?:it|this|that) is(?:n't| not) (?:said|stated|mentioned|specified|possible to (?:say|tell|know))\b",
    r"(?:it|this|that) is(?:n't| not) (?:known|told|given|clear)"
    rf"(?: {_ASKING}\b.*| (?:from|in|by) (?:the|this|these) {_SOURCE})?[.!]?$",
    r"(?:it|that) is (?:unknown|unclear|impossible to (?:tell|say|know))",
    rf"(?:i|we|the {_SOURCE}) {_NOT} (?:say|tell|mention|state|specify|give|contain|provide|show|include)\b",
    rf"(?:it|this|there) {_NOT} (?:say|tell|mention|state|specify)\b",
    rf"(?:it|this|there) {_NOT} (?:give|contain|provide|show|include) (?:any |the |that )?"
    r"(?:information|mention|answer|details?|data)\b",
    rf"there(?: is|'s| are| was)(?:n't| not| no)(?: [\w'-]+){{0,4}} {_LACKING}",
    rf"no {_LACKING}",
    r"(?:unknown|not (?:known|given|stated|mentioned|specified|sure))[.!]?$",
    r".*\bi(?:'m| am) not (?:familiar with|sure)\b",
)
_ABSTAINING = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES), re.IGNORECASE)
_LEAD = re.compile(
    r"^\s*(?:(?:sorry|unfortunately|hmm|well|honestly|(?:based on|from) (?:the|this|these) \w+),?\s+)+",
    re.IGNORECASE,
)


def abstains(answer: str, words: str) -> bool:
    """Whether an answer knows nothing: empty, the bundle's own words, or a first sentence that says so.

    An answer that begins with something and then says what else is not known is an answer.

    Args:
        answer: what the generator wrote.
        words: the bundle's, as in "I don't know".
    """
    if not answer.strip() or same_wording(answer, words):
        return True
    first = next((sentence for _, sentence in sentences(answer)), "")
    return _ABSTAINING.match(_LEAD.sub("", _plain(first))) is not None


def begins_to_abstain(text: str, words: str) -> bool:
    """Whether a text that was cut off is the beginning of the bundle's words, as in "I don't know"."""
    return bool(text.strip()) and _plain(words).startswith(_plain(text.strip()))


def _plain(text: str) -> str:
    """A text in lower case and with straight apostrophes."""
    return text.casefold().replace("\u2019", "'")


class AbstentionFilter:
    """Passes on what is written, but for the bundle's words by which nothing is known: those are not sent.

    Args:
        words: the bundle's.
        tell: is given what is passed on.
        whole: pass nothing on before the end, which says whether the writer was sure of it.
    """

    def __init__(self, words: str, tell: Callable[[str], None], *, whole: bool = False) -> None:
        self._words, self._tell, self._whole = words, tell, whole
        self._text = ""
        self._told = False

    def add(self, piece: str) -> None:
        """Take a piece of the text."""
        self._text += piece
        if self._told:
            self._tell(piece)
        elif not (self._whole or _plain(self._words).startswith(_plain(self._text)) or self._refuses):
            self._pass_on()

    def end(self, *, sure: bool = True) -> bool:
        """Nothing more is written; returns whether the text was sent. An empty text is not sent, and what its
        writer was not sure of is held back if nothing was sent before."""
        if sure and not self._told and self._text and not self._refuses:
            self._pass_on()
        return self._told

    @property
    def _refuses(self) -> bool:
        return same_wording(self._text, self._words)

    def _pass_on(self) -> None:
        self._told = True
        self._tell(self._text)
