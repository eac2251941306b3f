"""What is found out besides searches: printed words, what the picture is likely to show, the question's domain."""

from __future__ import annotations

import re

from quizglass.values import Region
from quizglass_bundle.inputs.prompts import clean
from quizglass_server.domain.turns import Picture, StepDetail
from quizglass_server.roles.domain_router import DomainRouter
from quizglass_server.roles.reader import Reader
from quizglass_server.roles.tagger import Tagger
from quizglass_server.steps.language.appearance import asks_looks
from quizglass_server.steps.language.phrases import asks_by_its_names
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import texts, weighed

MAX_WORDS_CHARS = 400
"""Longer readings (a whole page in view) are cut at a word, so that they leave the prompt room for evidence."""
QUOTED_WHOLE = 12
"""Words up to which all that was read is quoted, whichever of them answer: no choice can be wrong then."""
_SHORTEST_WORD = 3
_READING = re.compile(
    r"\b(?:words?|writing|written|wrote|print(?:ed)?|reads?|says?|text|letters|lettering|inscription|spell(?:ed|s|t)?"
    r"|sign|label|caption|handwriting)\b",
    re.IGNORECASE,
)


_WRITTEN = re.compile(
    r"\b(?:price|prices|cost|costs|how much|pay|paid|fare|discount|sale"
    r"|opens?|opening|closes?|closing|hours|until when|timetable|depart\w*|arriv\w*|delayed"
    r"|phone|telephone|number plate|licen[sc]e plate|plate|e-?mail|website|web site|url|address|code|password"
    r"|brand|author|titles?|published|publisher|newspaper|headline|chapter|page"
    r"|platform|gate|stop|station|street|road|exit|route|line|bus|tram|flight|destination|direction|directions|way to"
    r"|speed limit|allowed|forbidden|prohibited|permitted|warning|warns?"
    r"|ingredients?|contains?|calories|allergens?|gluten|sugar|dose|dosage|expir\w*|best before|use by"
    r"|menu|dishes|soup of the day|screen|display|message|error|note|notice|poster|receipt|ticket|bill|form|button"
    r"|translate|translation|language|mean|means|called|slogan|motto|quote|dedicated)\b",
    re.IGNORECASE,
)
"""What is asked about that tends to stand on signs, labels, screens, spines and papers."""
_PRINTED = r"""(?:it|this|that|(?:the|this|that)(?:\ \w+)?\ (?:
    sign|label|sticker|poster|notice|board|page|screen|display|paper|sheet|plate|plaque|box|packet|package|pack|bag
    |bottle|can|tin|jar|cover|card|leaflet|receipt|ticket|banner|inscription|text|writing|words))"""
_THERE = rf"(?:\ (?:here|there|(?:on|in)\ {_PRINTED}))?"
_READ_OUT = re.compile(
    rf"""(?:(?:please|can\ you|could\ you|hey)[,\ ]+)*(?:
    what\ (?:does|do)\ {_PRINTED}\ (?:say|read)
    |what(?:['’]s|\ is)\ (?:written|printed){_THERE}
    |what\ (?:are\ the\ words|words\ are){_THERE}
    |read\ (?:me\ )?{_PRINTED}
    )(?:\ (?:out|aloud|loud|here|there|to\ me|for\ me))*[,\ ]*(?:please)?\ *[.?!]*""",
    re.IGNORECASE | re.VERBOSE,
)


def may_ask_for_words(question: str) -> bool:
    """Whether printed words may matter to a question, so that they are looked for before it is answered."""
    return asks_to_read(question) or _WRITTEN.search(question) is not None


def words_may_tell(question: str) -> bool:
    """Whether printed words may tell what a question wants that does not ask for them, where the picture is not looked
    up: not of looks, nor of a thing that it names itself."""
    return not (asks_looks(question) or asks_by_its_names(question))


def asks_to_read(question: str) -> bool:
    """Whether a question is about words in the picture, so that they are to be looked for whatever a gate says."""
    return _READING.search(question) is not None


def asks_to_read_out(question: str) -> bool:
    """Whether a question wants the words in the picture themselves, and nothing that they say: "What does it say?"."""
    return _READ_OUT.fullmatch(question.strip()) is not None


def are_few(words: str) -> bool:
    """Whether all of the words are quoted."""
    return len(words.split()) <= QUOTED_WHOLE


def is_short_text(words: str) -> bool:
    """Whether words are few, and one of them is a word."""
    return are_few(words) and has_word(words)


def has_word(words: str) -> bool:
    """Whether what was read is more than numbers, and letters that a pattern may have been taken for: "GM 125"."""
    return any(len(word) >= _SHORTEST_WORD and word.isalpha() for word in words.split())


def _told_gate(parts: list[Region] | None, _: Picture) -> Telling:
    verdict = ["none"] if parts == [] else []
    return (), [*texts("words", *verdict), *(StepDetail("words may be here", region=part) for part in parts or ())]


def _told_words(lines: list[str] | None, _: Picture, part: Region | None = None) -> Telling:
    return [StepDetail("part", region=part)] if part else [StepDetail("picture")], texts("words", " ".join(lines or ()))


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
async def read_words(reader: Reader, picture: Picture, part: Region | None = None) -> list[str]:
    """The lines of words of a part or the whole, in reading order, each on one line; none when there are none."""
    read, room = [], MAX_WORDS_CHARS
    for line in filter(None, map(clean, await reader.read(picture, part))):
        read.append(line if len(line) <= room else line[:room].rpartition(" ")[0] or line[:room])
        room -= len(line) + 1
        if room <= 0:
            break
    return read


@step("tag", role="tagger", optional=True, told=_told_tags)
async def tags_of(tagger: Tagger, picture: Picture) -> list[tuple[str, float]]:
    """What the picture is likely to show, with probabilities, likeliest first."""
    return await tagger.tags(picture)


@step("domain", role="domain_router", optional=True, told=_told_domain)
async def domain_of(router: DomainRouter, picture: Picture, question: str) -> str:
    """The likeliest domain's name (QA-Dragon's domain router)."""
    return max(await router.domains(picture, question), key=lambda item: item[1])[0]
