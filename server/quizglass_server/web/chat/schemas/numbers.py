"""Numbers that a schema allows, and how they are written: without exponents where anything bounds them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from quizglass_server.web.chat.schemas.characters import DIGITS, ranges
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
from quizglass_server.web.chat.schemas.languages import Language, Multiples, Words, all_of
from quizglass_server.web.chat.schemas.limits import Effort, SchemaRefused

MOST_DIGITS = 15
"""Of a number: any two such decimals are different as floating point numbers too."""
MOST_DIVISOR = 1000
_WHOLE_DIGITS, _FRACTION_DIGITS = 9, 6
"""Of a number within bounds, unless these have more."""
_DIGIT = OneOf(DIGITS)
_MOST = Decimal(10**MOST_DIGITS - 1)
_WHOLE = Alternatives((text("0"), Series((OneOf(ranges((49, 57))), Repeat(_DIGIT, 0, MOST_DIGITS - 1)))))
_SIGN = optional(text("-"))
_FRACTION = optional(Series((text("."), Repeat(_DIGIT, 1, MOST_DIGITS))))
_EXPONENT = optional(Series((OneOf(ranges("eE")), optional(OneOf(ranges("+-"))), Repeat(_DIGIT, 1, 2))))


@dataclass(frozen=True)
class Numbers:
    """A set of numbers."""

    whole: bool = False
    least: Decimal | None = None
    above: bool = False
    """Whether they have to be more than `least`, not `least` itself."""
    most: Decimal | None = None
    below: bool = False
    """Whether they have to be less than `most`."""
    divisors: frozenset[int] = frozenset()
    values: frozenset[Decimal] | None = None
    """Which numbers, where they are listed."""

    @property
    def is_list(self) -> bool:
        """Whether it is no more than a list of values."""
        return self.values is not None and self == Numbers(values=self.values)

    def __and__(self, other: Numbers) -> Numbers:
        """Numbers that are in both sets."""
        (least, above), (most, below) = self._from(other), self._up_to(other)
        lists = [each.values for each in (self, other) if each.values is not None]
        values = frozenset.intersection(*lists) if lists else None
        divisors = self.divisors | other.divisors
        return Numbers(self.whole or other.whole, least, above, most, below, divisors, values)

    def language(self, place: str, effort: Effort) -> Language:
        """How the numbers are written: of any size that JSON's readers keep exactly.

        Raises:
            SchemaRefused: their bounds have too many digits, or what divides them is too large.
        """
        if self.values is not None:
            return Words(_written(value) for value in self.values if self._has(value))
        if self.divisors and (divisor := math.lcm(*self.divisors)) > MOST_DIVISOR:
            raise SchemaRefused(place, f"multipleOf up to {MOST_DIVISOR} is followed, and this comes to {divisor}")
        if self.divisors:
            return all_of([Matching(self._whole_numbers(), effort), Multiples(divisor)])
        if self.whole:
            return Matching(self._whole_numbers(), effort)
        if self.least is None and self.most is None:
            return Matching(Series((_SIGN, _WHOLE, _FRACTION, _EXPONENT)), effort)
        return all_of([Matching(each, effort) for each in self._decimals(place)])

    def _from(self, other: Numbers) -> tuple[Decimal | None, bool]:
        """The stricter lower bound."""
        bounds = [(each.least, each.above) for each in (self, other) if each.least is not None]
        return max(bounds) if bounds else (None, False)

    def _up_to(self, other: Numbers) -> tuple[Decimal | None, bool]:
        """The stricter upper bound."""
        bounds = [(-each.most, each.below) for each in (self, other) if each.most is not None]
        if not bounds:
            return None, False
        most, below = max(bounds)
        return -most, below

    def _has(self, value: Decimal) -> bool:
        if self.least is not None and (value < self.least or (self.above and value == self.least)):
            return False
        if self.most is not None and (value > self.most or (self.below and value == self.most)):
            return False
        if (self.whole or self.divisors) and value != value.to_integral_value():
            return False
        return all(int(value) % divisor == 0 for divisor in self.divisors)

    def _whole_numbers(self) -> Expression:
        if self.least is None and self.most is None:
            return Series((_SIGN, _WHOLE))
        least = -_MOST if self.least is None else max(-_MOST, self.least.to_integral_value("ROUND_CEILING"))
        most = _MOST if self.most is None else min(_MOST, self.most.to_integral_value("ROUND_FLOOR"))
        first, last = int(least), int(most)
        first += self.above and first == self.least
        last -= self.below and last == self.most
        found: list[Expression] = []
        if first < 0 and first <= last:
            found.append(Series((text("-"), _between(max(1, -last), -first))))
        if last >= 0 and first <= last:
            found.append(_between(max(0, first), last))
        return Alternatives(tuple(found))

    def _decimals(self, place: str) -> list[Expression]:
        """What a number has to match, all of it; bounds that nothing so short reaches are none."""
        least = None if self.least is None or self.least < -_MOST else self.least
        most = None if self.most is None or self.most > _MOST else self.most
        bounds = [bound for bound in (least, most) if bound is not None]
        if any(abs(bound) > _MOST for bound in bounds):
            return [Alternatives(())]
        whole = max([_WHOLE_DIGITS, *(len(_halves(bound)[0]) for bound in bounds)])
        behind = max([min(_FRACTION_DIGITS, MOST_DIGITS - whole), *(len(_halves(bound)[1]) for bound in bounds)])
        if whole + behind > MOST_DIGITS:
            raise SchemaRefused(place, f"bounds have more digits than the {MOST_DIGITS} that numbers are written with")
        any_whole = Alternatives((text("0"), Series((OneOf(ranges((49, 57))), Repeat(_DIGIT, 0, whole - 1)))))
        any_fraction = optional(Series((text("."), Repeat(_DIGIT, 1, behind)))) if behind else Series()
        found: list[Expression] = [Series((_SIGN, any_whole, any_fraction))]
        found += [] if least is None else [_at_least(least, self.above)]
        found += [] if most is None else [_at_most(most, self.below)]
        return found


def _at_least(bound: Decimal, above: bool) -> Expression:
    """Decimals from a bound on; zero has no sign."""
    if bound < 0:
        return Alternatives((Series((text("-"), _magnitudes(-bound, below=above))), _magnitudes(None)))
    return _magnitudes(bound, above=above, up=True)


def _at_most(bound: Decimal, below: bool) -> Expression:
    """Decimals up to a bound; zero has no sign."""
    negative = Series((text("-"), _magnitudes(Decimal(0), above=True, up=True)))
    if bound < 0:
        return Series((text("-"), _magnitudes(-bound, above=below, up=True)))
    return Alternatives((negative, _magnitudes(bound, below=below)))


def _magnitudes(bound: Decimal | None, *, up: bool = False, above: bool = False, below: bool = False) -> Expression:
    """Decimals without a sign: all, or those from a bound `up`, or those from zero to the bound.

    Without a sign in front, zero is among the latter; with one, -0 is too, which is zero as well.
    """
    if bound is None:
        return Series((_WHOLE, _FRACTION))
    whole, fraction = _halves(bound)
    number = int(whole)
    if up:
        larger = Series((_between(number + 1, int(_MOST)), _FRACTION))
        return Alternatives((larger, Series((text(whole), _fraction_from(fraction, above)))))
    smaller = [Series((_between(0, number - 1), _FRACTION))] if number else []
    return Alternatives((*smaller, Series((text(whole), _fraction_to(fraction, below)))))


def _fraction_from(digits: str, above: bool) -> Expression:
    """Fractions, with their point, from .digits on."""
    more = Repeat(_DIGIT)
    nonzero = Series((more, OneOf(ranges((49, 57))), more))
    if not digits:
        return Series((text("."), nonzero)) if above else _FRACTION
    larger = [
        Series((text(digits[:at]), OneOf(ranges((ord(digit) + 1, 57))), more))
        for at, digit in enumerate(digits)
        if digit < "9"
    ]
    same = Series((text(digits), nonzero if above else more))
    return Series((text("."), Alternatives((*larger, same))))


def _fraction_to(digits: str, below: bool) -> Expression:
    """Fractions, with their point, up to .digits; none is zero."""
    zeros = Repeat(text("0"))
    if not digits:
        return Alternatives(()) if below else optional(Series((text("."), Repeat(text("0"), 1))))
    smaller: list[Expression] = [
        Series((text(digits[:at]), OneOf(ranges((48, ord(digit) - 1))), Repeat(_DIGIT)))
        for at, digit in enumerate(digits)
        if digit > "0"
    ]
    shorter = [text(digits[:at]) for at in range(1, len(digits))]
    same = [] if below else [Series((text(digits), zeros))]
    return optional(Series((text("."), Alternatives((*smaller, *shorter, *same)))))


def _between(first: int, last: int) -> Expression:
    """Whole numbers from one to another, both included and neither negative."""
    found: list[Expression] = []
    while first <= last:
        written = str(first)
        end = min(last, 10 ** len(written) - 1)
        found.append(_same_length(written, str(end)))
        first = end + 1
    return Alternatives(tuple(found))


def _same_length(first: str, last: str) -> Expression:
    """Digits from one text to another of the same length."""
    if not first:
        return Series()
    rest = len(first) - 1
    if not first.strip("0") and not last.strip("9"):
        return Repeat(_DIGIT, rest + 1, rest + 1)
    if first[0] == last[0]:
        return Series((text(first[0]), _same_length(first[1:], last[1:])))
    lowest = Series((text(first[0]), _same_length(first[1:], "9" * rest)))
    highest = Series((text(last[0]), _same_length("0" * rest, last[1:])))
    middle: Sequence[Expression] = ()
    if ord(last[0]) - ord(first[0]) > 1:
        middle = [Series((OneOf(ranges((ord(first[0]) + 1, ord(last[0]) - 1))), Repeat(_DIGIT, rest, rest)))]
    return Alternatives((lowest, *middle, highest))


def _halves(bound: Decimal) -> tuple[str, str]:
    """The digits before and behind the point, of the latter only as many as count."""
    whole, _, fraction = f"{abs(bound):f}".partition(".")
    return whole.lstrip("0") or "0", fraction.rstrip("0")


def _written(value: Decimal) -> str:
    """A number as JSON."""
    if value == value.to_integral_value() and abs(value) <= _MOST:
        return str(int(value))
    return str(value).replace("E+", "e").replace("E", "e")
