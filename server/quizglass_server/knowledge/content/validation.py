"""What an entry may look like: the limits that `knowledge.proto` documents. Pictures are judged when decoded."""

from __future__ import annotations

import re
from collections.abc import Mapping

from quizglass.text import clean_line, clean_text
from quizglass.values import Entry
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.errors import InvalidInput

MAX_ID = 200
MAX_TITLE = 200
MAX_CAPTION = 500
MAX_KIND = 60
MAX_TEXT = 200_000
MAX_SOURCE = 500
MAX_ATTRIBUTES = 200
MAX_KEY = 60
MAX_VALUE = 500
MAX_PICTURES = 16
MAX_TIME = 253_402_300_799  # the last second of the year 9999
MAX_LIFE_S = 100 * 366 * 86_400
TEXT_FORMATS = ("", "markdown", "html")

_LANGUAGE = re.compile(r"(?=.{2,35}$)[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_ID = re.compile(r"[A-Za-z0-9._:/-]+")


def checked_entry(given: PicturedEntry) -> PicturedEntry:
    """The entry as it is stored: control characters gone, ends stripped, the same picture once.

    Raises:
        InvalidInput: a field is missing, too long or malformed; it is named as in the message `Entry`.
    """
    entry = given.entry
    if len(given.pictures) > MAX_PICTURES:
        raise InvalidInput("pictures", f"{len(given.pictures)} pictures, at most {MAX_PICTURES} are allowed")
    clean = Entry(
        id=_checked_id(entry.id),
        title=_line("title", entry.title, MAX_TITLE, required=True),
        caption=_line("caption", entry.caption, MAX_CAPTION),
        kind=_line("kind", entry.kind, MAX_KIND),
        text=_limited("text", clean_text(entry.text), MAX_TEXT),
        attributes=_checked_attributes(entry.attributes),
        source=_line("source", entry.source, MAX_SOURCE),
        language=_checked_language(entry.language),
        text_format=_checked_format(entry.text_format),
        time=_between("time", entry.time, MAX_TIME),
        expires_after=_between("expires_after_s", entry.expires_after, MAX_LIFE_S),
    )
    return PicturedEntry(clean, given.pictures)


def shown_id(entry_id: str) -> str:
    """An id as a refusal repeats it: on one line and not longer than an id may be."""
    return clean_line(entry_id)[:MAX_ID]


def _checked_id(entry_id: str) -> str:
    if not entry_id:
        raise InvalidInput("id", "is missing; give 1 to 200 characters")
    if len(entry_id) > MAX_ID:
        raise InvalidInput("id", f"{len(entry_id)} characters, at most {MAX_ID} are allowed")
    if not _ID.fullmatch(entry_id):
        raise InvalidInput("id", 'only the letters a to z, digits and ". _ : / -" are allowed')
    return entry_id


def _checked_language(tag: str) -> str:
    if tag and not _LANGUAGE.fullmatch(tag):
        raise InvalidInput("language", 'is not a BCP 47 tag such as "en" or "pt-BR"; leave it empty if unknown')
    return tag


def _checked_format(name: str) -> str:
    if name not in TEXT_FORMATS:
        raise InvalidInput("text_format", f"there is no format {clean_line(name)[:40]!r}; plain, markdown and html are")
    return name


def _between(field: str, value: int, most: int) -> int:
    if not 0 <= value <= most:
        raise InvalidInput(field, f"{value} is not between 0 and {most}")
    return value


def _limited(field: str, text: str, limit: int) -> str:
    if len(text) > limit:
        raise InvalidInput(field, f"{len(text)} characters, at most {limit} are allowed")
    return text


def _line(field: str, text: str, limit: int, *, required: bool = False) -> str:
    line = _limited(field, clean_line(text), limit)
    if required and not any(character.isprintable() and not character.isspace() for character in line):
        what = "has no readable character" if line else "is missing"
        raise InvalidInput(field, f"{what}; give 1 to {limit} characters")
    return line


def _checked_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    if len(attributes) > MAX_ATTRIBUTES:
        raise InvalidInput("attributes", f"{len(attributes)} attributes, at most {MAX_ATTRIBUTES} are allowed")
    checked: dict[str, str] = {}
    for name, value in attributes.items():
        key = _line("attributes", name, MAX_KEY, required=True)
        if key in checked:
            raise InvalidInput(f"attributes[{key}]", "given twice, but for control characters or spaces")
        checked[key] = _line(f"attributes[{key}]", value, MAX_VALUE)
    return checked
