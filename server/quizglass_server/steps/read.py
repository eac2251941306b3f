"""What is found out before anything is decided: the words printed in the picture, and the domain of the question."""

from __future__ import annotations

import re

from quizglass_server.domain.regions import Region
from quizglass_server.domain.turns import Picture
from quizglass_server.models.prompts import clean
from quizglass_server.roles.domain_router import DomainRouter
from quizglass_server.roles.reader import Reader
from quizglass_server.steps.step import step

MAX_WORDS_CHARS = 400
"""Longer readings (a whole page in view) are cut at a word, so that they leave the prompt room for evidence."""
_READING = re.compile(
    r"\b(?:words?|writing|written|wrote|print(?:ed)?|reads?|says?|text|letters|lettering|inscription|spell(?:ed|s|t)?"
    r"|sign|label|caption|handwriting)\b",
    re.IGNORECASE,
)


def asks_to_read(question: str) -> bool:
    """Whether a question is about words in the picture, so that they are to be looked for whatever a gate says."""
    return _READING.search(question) is not None


@step("gate", role="reader", optional=True)
async def find_words(reader: Reader, picture: Picture) -> list[Region]:
    """Where the picture may show words: one part, or none."""
    part = await reader.find(picture)
    return [] if part is None else [part]


@step("read", role="reader", optional=True)
async def read_words(reader: Reader, picture: Picture, part: Region | None = None) -> str:
    """The words of a part or the whole, in reading order, lines joined by spaces; empty when there are none."""
    text = clean(" ".join(await reader.read(picture, part)))
    if len(text) <= MAX_WORDS_CHARS:
        return text
    return text[:MAX_WORDS_CHARS].rpartition(" ")[0] or text[:MAX_WORDS_CHARS]


@step("domain", role="domain_router", optional=True)
async def domain_of(router: DomainRouter, picture: Picture, question: str) -> str:
    """The likeliest domain's name (QA-Dragon's domain router)."""
    return max(await router.domains(picture, question), key=lambda item: item[1])[0]
