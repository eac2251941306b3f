"""What is found out besides searches: printed words, what the picture is likely to show, the question's domain."""

from __future__ import annotations

import re

from quizglass.values import Region
from quizglass_server.domain.turns import Picture, StepDetail
from quizglass_server.models.prompts import clean
from quizglass_server.roles.domain_router import DomainRouter
from quizglass_server.roles.reader import Reader
from quizglass_server.roles.tagger import Tagger
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import texts, weighed

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


def _told_gate(parts: list[Region] | None, _: Picture) -> Telling:
    verdict = ["none"] if parts == [] else []
    return (), [*texts("words", *verdict), *(StepDetail("words may be here", region=part) for part in parts or ())]


def _told_words(words: str | None, _: Picture, part: Region | None = None) -> Telling:
    return [StepDetail("part", region=part)] if part else [StepDetail("picture")], texts("words", words or "")


def _told_tags(tags: list[tuple[str, float]] | None, _: Picture) -> Telling:
    return [StepDetail("picture")], weighed(tags)


def _told_domain(domain: str | None, _: Picture, question: str) -> Telling:
    return texts("question", question), texts("domain", domain or "")


@step("gate", role="reader", optional=True, told=_told_gate)
async def find_words(reader: Reader, picture: Picture) -> list[Region]:
    """Where the picture may show words: one part, or none."""
    part = await reader.find(picture)
    return [] if part is None else [part]


@step("read", role="reader", optional=True, told=_told_words)
async def read_words(reader: Reader, picture: Picture, part: Region | None = None) -> str:
    """The words of a part or the whole, in reading order, lines joined by spaces; empty when there are none."""
    text = clean(" ".join(await reader.read(picture, part)))
    if len(text) <= MAX_WORDS_CHARS:
        return text
    return text[:MAX_WORDS_CHARS].rpartition(" ")[0] or text[:MAX_WORDS_CHARS]


@step("tag", role="tagger", optional=True, told=_told_tags)
async def tags_of(tagger: Tagger, picture: Picture) -> list[tuple[str, float]]:
    """What the picture is likely to show, with probabilities, likeliest first."""
    return await tagger.tags(picture)


@step("domain", role="domain_router", optional=True, told=_told_domain)
async def domain_of(router: DomainRouter, picture: Picture, question: str) -> str:
    """The likeliest domain's name (QA-Dragon's domain router)."""
    return max(await router.domains(picture, question), key=lambda item: item[1])[0]
