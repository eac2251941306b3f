"""What a follow-up question points at: the picture ("this", "the one on the left"), what was said ("it", "he", or left
out: "And when?"), or nothing.

Deterministic and English, like `steps.lookup.recall`; no model is asked.
"""

from __future__ import annotations

import re
from enum import IntEnum

from quizglass_server.steps.language.intents import SMALL_TALK, intent_of
from quizglass_server.steps.language.phrases import phrases_of
from quizglass_server.steps.language.pronouns import leaves_out, speaks_of
from quizglass_server.steps.language.wording import words
from quizglass_server.steps.lookup.parts.crop import place_of, with_place

_SPAN = r"(?:day|night|week|month|year|season|century|time|morning|afternoon|evening)s?"
# "that" is also a conjunction ("the company that makes"): it points where a sentence begins or ends with it, and after
# a word that wants an object.
_THAT = (
    r"(?:^|[,;:]|\b(?:is|was|are|does|did|has|had|will|can|of|about|by|in|on|at|for|with|from|like|and|or|than|to|"
    r"made|makes|built|wrote|painted|\w+ed))\s*\bthat\b|\bthat\b(?=\s*(?:one\b|[.?!]|$))"
)
_THIS = re.compile(
    rf"\b(?:this|these)\b(?! {_SPAN}\b)|\bthose\b|\bhere\b|{_THAT}"
    rf"|\bthe others?\b(?! (?:{_SPAN}|hand)\b)|\banother one\b|\bthe (?:\w+ )?ones?\b"
    r"|\b(?:picture|photo|image|frame)\b|\bcolou?rs?\b|\bshapes?\b|\blooks? like\b|\b(?:written|printed)\b"
    r"|\bdo (?:you|I|we) see\b",
    re.IGNORECASE,
)
_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_OTHER = re.compile(rf"\b(?:the others?\b(?! (?:{_SPAN}|hand|side)\b)|another one\b)", re.IGNORECASE)
_OPENING = re.compile(r"^(?:and|or|but|so)?\s*(?:what about|how about)?\s*", re.IGNORECASE)
_BARE = re.compile(r"(?:this|that|the other|another|the)?(?: ?\bone)?", re.IGNORECASE)
_GO_ON = re.compile(
    r"(?:please )?(?:go on|go ahead|continue|carry on|keep going|say the rest|what else (?:did|were) you .*)"
    r"(?:,? please)?",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"(?:(?:please|sorry|pardon|excuse me|what)[,. ]*)?(?:can you |could you )?"
    r"(?:(?:say|repeat|tell me) (?:that|it|this)(?: again| once more)?|say again|repeat(?: please)?|come again"
    r"|(?:once more|again)|what was that(?: again)?|what did you (?:just )?say|i did(?:n['’]t| not) (?:hear|catch|get) "
    r"(?:that|you|it))(?:,? please)?|pardon(?: me)?",
    re.IGNORECASE,
)
_OPPOSITE = {"left": "right", "right": "left"}
_INTRODUCES = re.compile(r"\b(?:an?|my|our|your|which|who|whom|whose|what)\b", re.IGNORECASE)


class Reference(IntEnum):
    """What a question points at, from the weakest to the strongest."""

    NOTHING = 0
    """It stands alone: "Who founded Jolawex?"."""
    THE = 1
    """Something that it takes for known, and no name: "Who designed the boat?"."""
    IT = 2
    """What was spoken of last: "How much does it weigh?", "How old is he?", "And when?"."""
    THIS = 3
    """What is to be seen: "this", "that one", "the one on the left", "the other one", a colour, "in the picture"."""


def refers(question: str) -> Reference:
    """What a question points at; the strongest where it points at several."""
    if _THIS.search(question) or place_of(question) is not None:
        return Reference.THIS
    if speaks_of(question) or leaves_out(question):
        return Reference.IT
    return Reference.THE if _THE.search(question) and not _names(question) else Reference.NOTHING


def introduces(question: str) -> bool:
    """Whether a question that points at nothing says what later ones mean by "it": by a name, by a noun with its
    article, or as its answer ("Which company makes boats?"). "Is breakfast included?" does not, and no small talk.
    """
    if intent_of(question) in SMALL_TALK:
        return False
    return _names(question) or _INTRODUCES.search(question) is not None


def asks_for_other(question: str) -> bool:
    """Whether a question is about another thing than the one before: "And the other one?"."""
    return _OTHER.search(question) is not None


def asks_to_go_on(question: str) -> bool:
    """Whether a question wants the rest of an answer that was not heard to its end: "Go on."."""
    return _GO_ON.fullmatch(question.strip(" .!?")) is not None


def asks_to_say_again(question: str) -> bool:
    """Whether a question wants the last answer once more: "Say that again.", "What was that?"."""
    return _AGAIN.fullmatch(question.strip(" .!?")) is not None or question.strip().lower() == "sorry?"


def says_again(question: str, earlier: str) -> bool:
    """Whether a question names its things by words of an earlier one: "the boat", once "the boat on the left"."""
    said = {word.key for word in words(earlier)}
    return all(word.key in said for phrase in phrases_of(question) for word in words(phrase))


def carried(question: str, earlier: str) -> str | None:
    """The earlier question, asked about what a follow-up without a verb of its own points at.

    "And the one on the right?" after "How much does the boat on the left cost?" is "How much does the boat on the
    right cost?". So are "And this one?" and "What about the other one?", which is the thing on the other side if the
    earlier question named one.

    Returns:
        None where the follow-up says more than that, or the earlier question is about a thing by its name.
    """
    there = place_of(question)
    rest = with_place(question, there, None) if there else question
    rest = _OPENING.sub("", " ".join(rest.split())).strip(" ,.?!")
    if not _BARE.fullmatch(rest) or not (rest or there) or _names(earlier) or refers(earlier) is Reference.NOTHING:
        return None
    before = place_of(earlier)
    if there is None and before is not None and asks_for_other(question):
        there = _OPPOSITE.get(before)
    if before is not None:
        return with_place(earlier, before, there)
    seen = _seen(earlier)
    if there is None:
        return seen
    return f"{seen.rstrip(' .?!')}, {'in' if there == 'middle' else 'on'} the {there}?"


def _seen(question: str) -> str:
    """The question with its last "it" as "this"."""
    found = list(re.finditer(r"\bit\b", question))
    return f"{question[: found[-1].start()]}this{question[found[-1].end() :]}" if found else question


def _names(question: str) -> bool:
    """Whether a question has a name or number of its own; its first word is written large anyway."""
    return any(word.named and word.key != "i" for word in words(question)[1:])
