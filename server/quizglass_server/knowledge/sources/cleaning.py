"""Passages of strangers as they may be used: bounded, without markup and without characters that steer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import islice

from quizglass.text import plain
from quizglass_server.decoding.markup import blocks
from quizglass_server.knowledge.sources.protocol import Passage, SourceError

MAX_TEXT = 2_000
"""Characters of a passage."""
MAX_TITLE, _MAX_ID, _MAX_ADDRESS = 200, 200, 500
_RAW = 4
"""Characters of markup that are read for each one of its text."""
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|<!--|&(?:[A-Za-z]{2,31}|#\w{2,7});")
_SCHEME = re.compile(r"(?!https?://)[A-Za-z][A-Za-z0-9+.-]*:", re.IGNORECASE)


def cleaned(found: object, limit: int) -> list[Passage]:
    """The first `limit` passages, without those that say nothing.

    Raises:
        SourceError: it is no list of passages.
    """
    if not isinstance(found, Iterable):
        raise SourceError("it gave no list of passages")
    passages = [_cleaned(each) for each in islice(found, limit)]
    return [passage for passage in passages if passage.text]


def _cleaned(given: object) -> Passage:
    if not isinstance(given, Passage):
        raise SourceError("it gave something else than passages")
    texts = (given.id, given.title, given.text, given.address)
    if not all(isinstance(each, str) for each in texts):
        raise SourceError("a passage has something else than text in it")
    text, title = without_markup(given.text, MAX_TEXT), without_markup(given.title, MAX_TITLE)
    address = " ".join(plain(given.address[:_MAX_ADDRESS]).split())
    name = " ".join(plain(given.id[:_MAX_ID]).split()) or address or title
    return Passage(name, title, text, "" if _SCHEME.match(address) else address, _cosine(given.score))


def without_markup(text: str, most: int) -> str:
    """The words of a text, plain or HTML, on one line and cut between two of them."""
    text = text[: _RAW * most]
    if _MARKUP.search(text):
        text = " ".join(block.text for block in blocks.blocks(text, "html"))
    text = " ".join(plain(text).split())
    return text if len(text) <= most else text[:most].rpartition(" ")[0] or text[:most]


def _cosine(score: object) -> float | None:
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return None
    return max(-1.0, min(1.0, float(score)))
