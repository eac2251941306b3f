"""The keyword `pattern`: what a regular expression of ECMA-262 lets a text be.

Where ECMA-262 and Python's `re` differ, only what both of them match is matched. What needs more than one look at a
text (references, looking ahead and behind, word boundaries) is refused.
"""

from __future__ import annotations

from functools import cache
from string import hexdigits

from quizglass_server.web.chat.schemas.characters import DIGITS, EVERY, FREE, Ranges, common, ranges, united, without
from quizglass_server.web.chat.schemas.expressions import Alternatives, Expression, OneOf, Repeat, Series
from quizglass_server.web.chat.schemas.limits import NotFollowed

MOST_CHARACTERS = 1000
MOST_NESTING = 32
MOST_REPEATED = 1000
_SHORTHANDS = {"d": DIGITS, "w": ranges((48, 57), (65, 90), "_", (97, 122)), "s": ranges(" ", (9, 13))}
"""As ECMA-262 has them; of spaces, those that both have."""
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_LINE_ENDS = ranges("\n\r\u2028\u2029")
_SYNTAX = frozenset("^$\\.*+?()[]{}|/-\"'#&,:;<=>@!%~` ")
_ANYTHING = Repeat(OneOf(FREE))
_Readings = tuple[Ranges, Ranges]
"""A set of characters that is read in two ways: what is in both, and what is in either."""


def pattern(source: str, place: str) -> Expression:
    """What a pattern matches, as the whole text that it is found in.

    Args:
        source: the regular expression.
        place: of the keyword, for errors.

    Raises:
        NotFollowed: it is too long, is no regular expression, or has what cannot be followed.
    """
    if len(source) > MOST_CHARACTERS:
        raise NotFollowed(place, f"the pattern has {len(source)} characters; {MOST_CHARACTERS} at most")
    return _Reader(source, place).whole()


class _Reader:
    """Reads one pattern from its beginning to its end."""

    def __init__(self, source: str, place: str) -> None:
        self._source = source
        self._place = place
        self._at = 0
        self._depth = 0

    def whole(self) -> Expression:
        """All of the pattern: alternatives that may be anywhere in a text, unless ^ and $ say otherwise."""
        found: list[Expression] = []
        while True:
            begins = self._take("^")
            parts = self._series()
            ends = self._take("$")
            if ends and self._next() not in ("", "|"):
                raise self._refused("$ stands before the end")
            found.append(Series((*([] if begins else [_ANYTHING]), *parts, *([] if ends else [_ANYTHING]))))
            if self._take("|"):
                continue
            if self._next():
                raise self._refused("a ) closes nothing")
            return Alternatives(tuple(found))

    def _series(self) -> list[Expression]:
        """Parts up to the end of an alternative."""
        parts: list[Expression] = []
        while (character := self._next()) not in ("", "|", ")", "$"):
            part = self._part(character)
            parts.append(self._repeated(part))
        return parts

    def _part(self, character: str) -> Expression:
        self._at += 1
        if character == "(":
            return self._group()
        if character == "[":
            return OneOf(self._class())
        if character == ".":
            return OneOf(without(FREE, _LINE_ENDS))
        if character == "\\":
            return OneOf(self._escaped()[0])
        if character == "^":
            raise self._refused("^ stands behind the beginning; write \\^ for the character")
        if character in "*+?{}]":
            raise self._refused(f"{character} repeats or closes nothing; write \\{character} for the character")
        return OneOf(ranges(character))

    def _group(self) -> Expression:
        if self._take("?"):
            if self._next() == "P":
                self._at += 1
            if self._take("<") and self._next() not in ("=", "!", ""):
                name, closed, _ = self._source[self._at :].partition(">")
                if not closed:
                    raise self._refused("the name of a group does not end")
                self._at += len(name) + 1
            elif not self._take(":"):
                raise self._refused("it looks ahead or behind, or has flags; only plain groups are followed")
        self._depth += 1
        if self._depth > MOST_NESTING:
            raise self._refused(f"groups nest deeper than {MOST_NESTING}")
        found = [Series(tuple(self._series()))]
        while self._take("|"):
            found.append(Series(tuple(self._series())))
        if self._next() == "$":
            raise self._refused("^ and $ are followed outside of groups only")
        if not self._take(")"):
            raise self._refused("a ( is not closed")
        self._depth -= 1
        return Alternatives(tuple(found))

    def _repeated(self, part: Expression) -> Expression:
        counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        character = self._next()
        if character in counts and character:
            self._at += 1
            least, most = counts[character]
        elif character == "{":
            least, most = self._counts()
        else:
            return part
        self._take("?")  # which match is found first makes no difference to what matches
        if self._next() in ("*", "+", "?", "{") and self._next():
            raise self._refused("a repetition is repeated; put a group around it")
        return Repeat(part, least, most)

    def _counts(self) -> tuple[int, int | None]:
        inside, closed, _ = self._source[self._at + 1 :].partition("}")
        least, comma, most = inside.partition(",")
        numbers = [each for each in (least, most) if each]
        if not closed or not least or not all(each.isascii() and each.isdecimal() for each in numbers):
            raise self._refused("what stands in {} is no count; write \\{ for the character")
        if any(len(each) > 4 or int(each) > MOST_REPEATED for each in numbers):
            raise self._refused(f"it repeats something {inside[:20]} times; {MOST_REPEATED} at most")
        self._at += len(inside) + 2
        if not comma:
            return int(least), int(least)
        if most and int(most) < int(least):
            raise self._refused(f"{{{inside}}} counts down")
        return int(least), int(most) if most else None

    def _class(self) -> Ranges:
        """What stands in square brackets."""
        negated = self._take("^")
        if self._next() == "]":
            raise self._refused("[] is empty")
        both: list[tuple[int, int]] = []
        either: list[tuple[int, int]] = []
        while not self._take("]"):
            first = self._class_atom()
            if self._next() == "-" and self._source[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                first = self._range(first, self._class_atom())
            both += first[0]
            either += first[1]
        return without(FREE, united(either)) if negated else united(both)

    def _range(self, first: _Readings, last: _Readings) -> _Readings:
        points = [each[0] for one in (first, last) for each in one[0] if one[0] == one[1] and each[0] == each[1]]
        if len(points) != 2 or points[0] > points[1]:
            raise self._refused("a range in [] is none")
        characters = common(((points[0], points[1]),), EVERY)
        return characters, characters

    def _class_atom(self) -> _Readings:
        """One character or shorthand in square brackets."""
        character = self._next()
        if not character:
            raise self._refused("a [ is not closed")
        self._at += 1
        if character == "[":
            raise self._refused("a [ stands in []; write \\[")
        if character == "\\":
            return (ranges("\b"), ranges("\b")) if self._take("b") else self._escaped()
        return ranges(character), ranges(character)

    def _escaped(self) -> _Readings:
        """What stands behind a backslash."""
        character = self._next()
        self._at += 1
        if character and character in _SHORTHANDS:
            return _SHORTHANDS[character], _of_python(character)
        if character and character.lower() in _SHORTHANDS:
            kind = character.lower()
            return without(FREE, _of_python(kind)), without(EVERY, _SHORTHANDS[kind])
        if character in _CONTROLS:
            one = ranges(chr(_CONTROLS[character]))
        elif character in ("x", "u"):
            one = ranges(chr(self._hexadecimal(2 if character == "x" else 4)))
        elif character in _SYNTAX:
            one = ranges(character)
        else:
            raise self._refused(f"\\{character} is not followed")
        return one, one

    def _hexadecimal(self, digits: int) -> int:
        written = self._source[self._at : self._at + digits]
        self._at += digits
        if len(written) < digits or not all(each in hexdigits for each in written):
            raise self._refused("an escape names no character")
        point = int(written, 16)
        if 0xD800 <= point <= 0xDFFF:
            raise self._refused("it has halves of characters beyond U+FFFF; write them whole")
        return point

    def _next(self) -> str:
        """The next character; empty at the end."""
        return self._source[self._at : self._at + 1]

    def _take(self, character: str) -> bool:
        """Whether the next character is this one, which is then read."""
        if self._next() != character:
            return False
        self._at += 1
        return True

    def _refused(self, why: str) -> NotFollowed:
        shown = self._source if len(self._source) <= 80 else f"{self._source[:80]}..."
        return NotFollowed(self._place, f"the pattern {shown!r} cannot be followed: {why}")


@cache
def _of_python(shorthand: str) -> Ranges:
    """What Python's `re` means by \\d, \\w or \\s, and ECMA-262 besides."""
    belongs = {"d": str.isdecimal, "w": lambda each: each.isalnum() or each == "_", "s": str.isspace}[shorthand]
    also = (0xFEFF,) if shorthand == "s" else ()
    return united((point, point) for point in (*range(0x110000), *also) if point in also or belongs(chr(point)))
