"""Texts that a schema allows."""

from __future__ import annotations

from dataclasses import dataclass

from quizglass_server.web.chat.schemas.characters import DIGITS, FREE, ranges
from quizglass_server.web.chat.schemas.expressions import (
    Alternatives,
    Expression,
    Matching,
    OneOf,
    Repeat,
    Series,
    optional,
    text,
)
from quizglass_server.web.chat.schemas.languages import Language, Words, all_of
from quizglass_server.web.chat.schemas.limits import Effort

_DIGIT = OneOf(DIGITS)
_HEXADECIMAL = OneOf(ranges((48, 57), (97, 102)))


def _digits(count: int) -> Repeat:
    return Repeat(_DIGIT, count, count)


def _two(*pairs: str) -> Alternatives:
    """Two digits, each given as the characters that it may be: "0 1-9"."""
    found: list[Expression] = []
    for pair in pairs:
        tens, ones = pair.split()
        found.append(Series((OneOf(ranges(tens)), OneOf(ranges((ord(ones[0]), ord(ones[-1])))))))
    return Alternatives(tuple(found))


_DATE = Series(
    (
        OneOf(ranges("12")),
        _digits(3),
        text("-"),
        Alternatives(
            (
                Series((_two("0 1-9", "1 0-2"), text("-"), _two("0 1-9", "1 0-9", "2 0-8"))),
                Series((_two("0 1", "0 3-9", "1 0-2"), text("-"), Alternatives((text("29"), text("30"))))),
                Series((_two("0 1", "0 3", "0 5", "0 7-8", "1 0", "1 2"), text("-31"))),
            )
        ),
    )
)
"""From year 1000 to 2999, without leap days."""
_MINUTES = _two("0 0-9", "1 0-9", "2 0-9", "3 0-9", "4 0-9", "5 0-9")
_HOURS = _two("0 0-9", "1 0-9", "2 0-3")
_ZONE = Alternatives((text("Z"), Series((OneOf(ranges("+-")), _HOURS, text(":"), _MINUTES))))
_TIME = Series(
    (
        _HOURS,
        text(":"),
        _MINUTES,
        text(":"),
        _MINUTES,
        optional(Series((text("."), Repeat(_DIGIT, 1, 6)))),
        _ZONE,
    )
)
_UUID = [Repeat(_HEXADECIMAL, count, count) for count in (8, 4, 4, 4, 12)]
FORMATS: dict[str, Expression] = {
    "date": _DATE,
    "time": _TIME,
    "date-time": Series((_DATE, text("T"), _TIME)),
    "uuid": Series(tuple(Series((text("-"), part)) if number else part for number, part in enumerate(_UUID))),
}
"""What the keyword `format` lets a text be, where it is followed."""


@dataclass(frozen=True)
class Strings:
    """A set of texts."""

    least: int = 0
    """Characters of a text at least, as code points."""
    most: int | None = None
    matching: tuple[Expression, ...] = ()
    """What a text has to match, as a whole."""
    values: frozenset[str] | None = None
    """Which texts, where they are listed."""

    @property
    def is_list(self) -> bool:
        """Whether it is no more than a list of values."""
        return self.values is not None and self == Strings(values=self.values)

    def __and__(self, other: Strings) -> Strings:
        """Texts that are in both sets."""
        bounds = [each.most for each in (self, other) if each.most is not None]
        lists = [each.values for each in (self, other) if each.values is not None]
        values = frozenset.intersection(*lists) if lists else None
        matching = (*self.matching, *(each for each in other.matching if each not in self.matching))
        return Strings(max(self.least, other.least), min(bounds, default=None), matching, values)

    def language(self, effort: Effort) -> Language:
        """The texts themselves, as they are without quotes and escapes. Raises SchemaRefused."""
        if self.most is not None and self.least > self.most:
            return Words(())
        parts: list[Language] = [Matching(each, effort) for each in self.matching]
        if self.values is not None:
            most = max(map(len, self.values), default=0) if self.most is None else self.most
            parts.append(Words(value for value in self.values if self.least <= len(value) <= most))
        elif self.least or self.most is not None or not parts:
            parts.append(Matching(Repeat(OneOf(FREE), self.least, self.most), effort))
        return all_of(parts)
