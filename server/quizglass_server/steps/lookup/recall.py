"""Answers "When did I last see this?" from the visual memory: deterministic, no model writes a word of it.

Only questions that ask for an earlier sighting by the wearer are meant, in English. With a picture the sightings that
look like it count; without one those in which something was recognised that the question names.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from quizglass.values import Origin
from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.sightings import SightingFilter, SightingHit, SightingQuery
from quizglass_server.domain.turns import Evidence, Vector
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.scheduling.ledger import handed, text_size
from quizglass_server.steps.language.wording import stands_in, words
from quizglass_server.steps.lookup.parts.crop import WHOLE, View, place_of, views_of
from quizglass_server.steps.telling import shortened

_SEEING = r"(?:see|saw|seen|look(?:ed)? at)"
_WEARER = r"(?:I|we)"
# "When I saw it, what did it cost?" asks for something else.
_WHEN = (
    rf"\b(?:when(?!\s+{_WEARER}\b[^.?!,]*,\s*(?:what|who|where|how|which|why|is|was|were|did|does|do|had|has)\b)"
    r"|how long ago)\b"
)
# A "see" without "did" is of the present or the future: "When can I see it again?" And "(?>…?)" goes to the first such
# word and never back: a hostile question would take seconds.
_ASKED = re.compile(
    rf"{_WHEN}(?>[^.?!]*?\b(?:have|had|did)\s+{_WEARER}\b)(?>[^.?!]*?\b{_SEEING}\b)"
    rf"|{_WHEN}(?>[^.?!]*?\b{_WEARER}\b)(?>[^.?!]*?\b(?:saw|seen|looked at)\b)"
    rf"|\b(?:have|had|did)\s+{_WEARER}\b(?>[^.?!]*?\b{_SEEING}\b)(?>[^.?!]*?\b(?:before|already|earlier)\b)"
    rf"|\b(?:have|had|did)\s+{_WEARER}\s+(?:ever|already)\b(?>[^.?!]*?\b{_SEEING}\b)",
    re.IGNORECASE,
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_WEEK = 7  # days from which a weekday alone would be ambiguous
_BY_NAME = 100  # sightings among which one with the name is looked for
_LONGEST = 200  # characters of a question or answer that is repeated

Look = Callable[[Sequence[View]], Awaitable[Sequence[Vector]]]
"""Makes the vectors of views of a turn's picture."""


class SightingIndex(Protocol):
    """What sightings can be found in."""

    async def by_picture(self, vectors: Sequence[Vector], query: SightingQuery) -> list[SightingHit]:
        """Sightings that look like any of these views of one thing."""
        ...

    async def by_text(self, vector: Vector | None, words: str, query: SightingQuery) -> list[SightingHit]:
        """Sightings whose question, answer and names fit best."""
        ...


def asks_for_sighting(question: str) -> bool:
    """Whether a question asks when the wearer saw something."""
    return _ASKED.search(question) is not None


async def last_seen(index: SightingIndex, look: Look, question: str, tuning: Tuning) -> SightingHit | None:
    """The last sighting of the thing in a picture: of the whole of it, or of its parts if nothing looks like that.

    A question that names a place ("on the left") means the parts that are there.
    """
    query = SightingQuery(1, least_score=tuning.image_accept)
    parts = views_of(question, tuning.views)
    for views in ([WHOLE], parts) if place_of(question) is None else (parts,):
        vectors = await look(views)
        handed("memory", sum(vector.nbytes for vector in vectors))
        if vectors and (found := await index.by_picture(vectors, query)):
            return found[0]
    return None


async def last_seen_by_name(index: SightingIndex, encoder: TextEncoder, question: str) -> SightingHit | None:
    """The last sighting in which something was recognised that the question names.

    The search gives those that fit best, and of many the last may not be among them: it goes on among later ones.
    """
    (vector,) = await encoder.embed_queries([question])
    asked = words(question)
    handed("memory", vector.nbytes + text_size(question))
    last, query = None, SightingQuery(_BY_NAME)
    while True:
        hits = await index.by_text(vector, question, query)
        named = (hit for hit in hits if any(stands_in(words(name), asked) for name in hit.sighting.recognised))
        if (later := next(named, None)) is None:
            return last
        if len(hits) < _BY_NAME:  # all that there are
            return later
        last, query = later, replace(query, filter=SightingFilter(time_from=later.sighting.time + 1))


def told_sighting(hit: SightingHit, now: datetime) -> Evidence:
    """A sighting as evidence; its text is the answer.

    Times are in the time zone of `now`, or the server's when it has none. The offset of this moment would not do:
    half a year ago clocks were set differently.
    """
    seen = hit.sighting
    name = seen.recognised[0] if seen.recognised else ""
    shown = f"this ({name})" if name else "this"
    sentences = [f"You last saw {shown} {said_time(datetime.fromtimestamp(seen.time, now.tzinfo), now)}."]
    if seen.question and seen.answer:
        question, answer = (shortened(text, _LONGEST) for text in (seen.question, seen.answer))
        sentences.append(f'You asked "{question}", and the answer was "{answer}".')
    return Evidence("", Origin.MEMORY, seen.id, name, " ".join(sentences), search_score=hit.score, used=True)


def said_time(then: datetime, now: datetime) -> str:
    """A time as it is said: "today at 14:05", "on Saturday at 14:05", "on 3 October at 14:05"."""
    clock = f"at {then:%H:%M}"
    days = (now.date() - then.date()) // timedelta(days=1)
    if days == 0:
        return f"today {clock}"
    if days == 1:
        return f"yesterday {clock}"
    if 0 < days < _WEEK:
        return f"on {_DAYS[then.weekday()]} {clock}"
    year = "" if then.year == now.year else f" {then.year}"
    return f"on {then.day} {_MONTHS[then.month - 1]}{year} {clock}"


def recognised(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Titles of the entries that a turn's picture was taken for, each once."""
    shown = (item.title for item in evidence if item.origin is Origin.IMAGE_SEARCH and item.used)
    return tuple(dict.fromkeys(title for title in shown if title))
