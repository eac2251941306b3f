"""A question with a name in place of the words that point at its subject: "Is this older than the Velmora?".

English, by its words. A small model that is given the name may put the one that the question has in both places.
"""

from __future__ import annotations

import re
from collections import Counter

from quizglass_server.steps.language.phrases import named_at
from quizglass_server.steps.language.statements import sentences
from quizglass_server.steps.language.wording import words

_POINTER = re.compile(r"\b(?:this|that|these|those|the|my|your)\s+$", re.IGNORECASE)
_ALONE = re.compile(r"\b(?:this|these)\b", re.IGNORECASE)


def repeats_a_name(text: str) -> bool:
    """Whether a sentence has one name twice, or a text one sentence: what it compares is compared with itself."""
    said = [sentence for _, sentence in sentences(text)]
    named = [Counter(word.key for word in words(each)[1:] if word.named and word.key[0].isalpha()) for each in said]
    return any(count > 1 for names in named for count in names.values()) or len(set(said)) < len(said)


def with_name(question: str, name: str) -> str | None:
    """The question with the name of the one thing that it points at; None where it points at none, or at several."""
    pointed = [
        (pointer.start(), each.end)
        for each in named_at(question)
        if not each.by_name and (pointer := _POINTER.search(question[: each.start])) is not None
    ]
    alone = [
        match.span() for match in _ALONE.finditer(question) if not any(at <= match.start() < end for at, end in pointed)
    ]
    if len(pointed) + len(alone) != 1:
        return None
    ((start, end),) = pointed + alone
    return f"{question[:start]}the {name}{question[end:]}"
