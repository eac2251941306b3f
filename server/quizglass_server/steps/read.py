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
from quizglass_server.steps.language.intents import bare
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
    r"\b(?:price|prices|priced|cost|costs|cheap\w*|expensive|dearest|pric(?:ier|iest)|how much|pay|paid|fare|discount"
    r"|sale|opens?|opening|closes?|closing|hours|until when|timetable|depart\w*|arriv\w*|delayed"
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
_NUMBER = re.compile(
    r"\b(?:price|prices|priced|costs?|cheap\w*|expensive|dearest|pric(?:ier|iest)|pay|paid|fare|discount"
    r"|how (?:much|many|long|old|far|often|tall|high|heavy|fast)|phone|telephone|ring|call|what time|until when"
    r"|speed limit|calories|number)\b",
    re.IGNORECASE,
)
"""What is asked for that is said by a number."""
_OWNERS = r"(?:the|this|that|these|those|my|our|his|her|its|their|all the|all of the|the whole)"
_WORDS = r"(?:text|words?|writing|letters|lettering|wording|inscription)"
_NO_WHOLE = (
    r"(?:prices?|costs?|dates?|names?|titles?|headlines?|headings?|numbers?|totals?|sums?|ingredients?|address|times?"
    r"|lines?|amounts?|doses?|dosage|hours?|notes?|sizes?|codes?|clock|book|temperature|weight|levels?"
    r"|back|bottom|underside|reverse|inside|lid|latin|greek)"
)
"""Parts of what stands there, each of which a line may say; places that are not seen, and no short texts."""
_JOINS = r"(?:on|in|at|of|for|from|about|above|under|with|without|next|between)"
_NAMED = (
    rf"(?:the (?:front|back|side|top|rest|whole) of )?{_OWNERS} "
    rf"(?:(?!{_JOINS}\b)[\w'-]+ ){{0,3}}?(?!{_NO_WHOLE}\b)[\w'-]+"
)
_ANY = rf"(?:it|this|that|these|those|{_NAMED})"
_SURFACE = (
    r"(?:signs?|signpost|labels?|stickers?|posters?|notices?|(?:[a-z]*|notice |menu )board|pages?|screens?"
    r"|display|monitor|plaque|menu|list|leaflet|flyer|brochure|letter|receipt|bill|ticket|banner|timetable|schedule|tag"
    r"|envelope|packaging|paper|form|invoice)"
)
"""What is there to have words on it: of others, "What's on the table?" asks for no words."""
_AT = rf"(?: (?:here|there|(?:on|in|at|above|under|over) {_ANY}))?"
_ALOUD = r"(?: (?:out|aloud|loud|me|us|to me|to us|for us|it|slowly|now|in full|completely))*"
_READ_OUT = re.compile(
    rf"what (?:does|do|is) (?!you\b){_ANY} (?:say(?:ing)?|read|state|tell me|tell us){_AT}"
    rf"|what {_ANY} (?:says?|reads?){_AT}"
    rf"|what (?:does|do) {_OWNERS} (?:[\w-]+ ){{0,2}}{_SURFACE} show"
    rf"|what is (?:written|printed|engraved|(?:all )?the {_WORDS}){_AT}"
    rf"|what (?:are the {_WORDS}|do the {_WORDS} say){_AT}|what {_WORDS} (?:is|are|do you see){_AT}"
    rf"|what is on {_OWNERS} (?:[\w-]+ ){{0,2}}{_SURFACE}"
    rf"|(?:is|are) there (?:any |some )?(?:text|words|writing)(?: written| printed)?{_AT}"
    rf"|read{_ALOUD}(?: (?:it|this|that|everything|all|all of (?:it|this|that)|{_NAMED}"
    rf"|what {_ANY} says?|what is (?:written|printed|on (?:it|{_OWNERS} (?:[\w-]+ )?{_SURFACE}))))?{_AT}{_ALOUD}"
)
"""Of a question without the politeness around it (`bare`)."""
_TEXT = (
    rf"{_OWNERS} (?:[\w-]+ ){{0,2}}(?:letter|page|text|article|leaflet|flyer|e-?mail|message|notice|document|paper|form"
    r"|sign|poster|brochure|invoice)s?"
)
_GIST = re.compile(
    rf"what (?:is|are) {_TEXT} (?:all )?about|summari[sz]e {_TEXT}"
    rf"|(?:what is |give me )?(?:the |a )?(?:short |quick |brief )?(?:gist|summary|main point|subject) of {_TEXT}"
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
    return _READING.search(question) is not None or asks_to_read_out(question)


def asks_to_read_out(question: str) -> bool:
    """Whether a question wants the words in the picture themselves, and nothing that they say: "What does it say?"."""
    return _READ_OUT.fullmatch(bare(question)) is not None


def asks_for_gist(question: str) -> bool:
    """Whether a question wants to know what a text is about as a whole: "What is this letter about?"."""
    return _GIST.fullmatch(bare(question)) is not None


def are_few(words: str) -> bool:
    """Whether all of the words are quoted."""
    return len(words.split()) <= QUOTED_WHOLE


def may_be_meant(question: str, words: str) -> bool:
    """Whether words that do not answer a question may be repeated to it: they are few, one of them is a word, and there
    is a number where one is asked for."""
    return are_few(words) and has_word(words) and (_NUMBER.search(question) is None or any(map(str.isdigit, words)))


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
