"""Works out what a generator marks, so that language models need not: they read numbers well and count badly.

    <<1991-1952>> years                  39 years
    <<3*111>> crowns                     333 crowns
    <<most Velmora 761, Tandric 435>>    Velmora

The marks are those of Cobbe et al. 2021 ("Training Verifiers to Solve Math Word Problems"), whose
calculator overrides what a model would write behind a calculation; comparing was added here, with numbers as the
evidence tells them (`operands.py`). Whatever else stands between marks is no working and stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from operator import add, mul, sub, truediv

from quizglass_server.domain.calculations import Calculation, Operand
from quizglass_server.steps.language import english
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.wording import Word, same_wording, stands_in, words

OPEN, CLOSE = "<<", ">>"
LONGEST = 200
"""Characters of a working with its marks; what is longer is none."""
_MOST = 8
"""Operands of a working."""
_DIGITS, _PLACES = 120, 4
"""That a result is calculated with, more than so many operands can have together, and that it is rounded to."""
_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,3}(?!\d)|\d{1,12})(?:\.\d{1,6})?"
"""Also as evidence writes it: "1,200"."""
_BETWEEN_SIDES = re.compile(r",(?!\d{3}(?!\d))")
_TERM = re.compile(rf"\s*({_NUMBER})\s*([-+*/]|$)")
_CHOICE = re.compile(r"\s*(most|least)\s+(.+)", re.DOTALL)
_SIDE = re.compile(rf"\s*(?P<name>\S.*?)\s+(?P<number>{_NUMBER})\s*", re.DOTALL)
_APPLY: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {"+": add, "-": sub, "*": mul, "/": truediv}
_COMPARABLE = re.compile(r"\d+(?:\.\d+)?")
"""What a calculator takes for a number: no date ("3.10.1990"), no fraction."""
_NO_UNIT = frozenset(english.FUNCTION.split())
Kind = tuple[str, int]
"""Kind of a number: its unit; without one, its number of digits, as years have four."""


class Calculator:
    """Reads a text piece by piece as it is written, and gives it back with workings replaced by their results.

    What may become a working is held back until it is one, or is none.

    Args:
        evidence: lines that the numbers of comparisons are checked against.
    """

    def __init__(self, evidence: Sequence[str] = ()) -> None:
        self._evidence = evidence
        self._held = ""
        self.calculations: list[Calculation] = []

    def feed(self, piece: str) -> str:
        """The next piece of the text; returns what can be shown now."""
        self._held += piece
        shown = ""
        while (start := self._held.find(OPEN)) >= 0:
            shown += self._taken(start)
            end = self._held.find(CLOSE)
            if end >= 0:
                shown += self._worked(self._taken(end + len(CLOSE)))
            elif len(self._held) > LONGEST:
                shown += self._taken(len(OPEN))
            else:
                return shown
        return shown + self._taken(len(self._held) - self._held.endswith(OPEN[0]))

    def rest(self) -> str:
        """What is held back still, at the end of the text: no working has ended there."""
        return self._taken(len(self._held))

    def _taken(self, count: int) -> str:
        first, self._held = self._held[:count], self._held[count:]
        return first

    def _worked(self, marked: str) -> str:
        working = marked[len(OPEN) : -len(CLOSE)]
        calculation = calculate(working, self._evidence) if len(marked) <= LONGEST else None
        if calculation is None:
            return marked
        self.calculations.append(calculation)
        return calculation.result


def worked_out(text: str) -> str:
    """A whole text with its workings replaced by their results."""
    calculator = Calculator()
    return calculator.feed(text) + calculator.rest()


def calculate(working: str, evidence: Sequence[str] = ()) -> Calculation | None:
    """What comes of a working; None where it is none, or nothing comes of it, as of a division by zero.

    Args:
        working: numbers with `+ - * /` between them, multiplied and divided first; or `most` or `least` and two or more
            names, each with its number, parted by commas: the name that has the highest or the lowest, or all that do.
        evidence: lines that tell the numbers of names, and count where a working has others.
    """
    if found := _CHOICE.fullmatch(working):
        return _chosen(found[1], found[2], evidence)
    numbers, signs, place = [], [], 0
    while term := _TERM.match(working, place):
        numbers.append(term[1])
        place = term.end()
        if not term[2]:
            break
        signs.append(term[2])
    if place != len(working) or len(signs) + 1 != len(numbers) or not 1 < len(numbers) <= _MOST:
        return None
    result = _arithmetic([_value(number) for number in numbers], signs)
    return None if result is None else Calculation(working.strip(), result, tuple(map(Operand, numbers)))


def _arithmetic(numbers: list[Decimal], signs: list[str]) -> str | None:
    with localcontext() as context:
        context.prec = _DIGITS
        try:
            for these in ("*/", "+-"):
                while (at := next((i for i, sign in enumerate(signs) if sign in these), None)) is not None:
                    numbers[at : at + 2] = [_APPLY[signs.pop(at)](numbers[at], numbers[at + 1])]
        except (DivisionByZero, InvalidOperation):
            return None
        text = f"{round(numbers[0], _PLACES) + 0:f}"  # -0 becomes 0
    return text.rstrip("0").rstrip(".") if "." in text else text


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _chosen(which: str, listed: str, evidence: Sequence[str]) -> Calculation | None:
    sides = [_SIDE.fullmatch(part) for part in _BETWEEN_SIDES.split(listed)]
    written = tuple(Operand(side["number"], side["name"]) for side in sides if side)
    if len(written) != len(sides) or not 1 < len(written) <= _MOST:
        return None
    operands = as_told(written, evidence)
    best = (max if which == "most" else min)(_value(operand.number) for operand in operands)
    winners = dict.fromkeys(operand.name for operand in operands if _value(operand.number) == best)
    working = ", ".join(f"{operand.name} {operand.number}" for operand in operands)
    return Calculation(f"{which} {working}", " and ".join(winners), operands)


def as_told(operands: Sequence[Operand], evidence: Sequence[str]) -> tuple[Operand, ...]:
    """The operands with the numbers that evidence tells of their names.

    A number that stands in the evidence about its name stays. Another gives way to the only number of the same kind
    that
    does: of the same unit as a number that stays, or like it without one. Where there is none or more than one, or no
    number stays, nothing is changed.

    Args:
        operands: names with numbers.
        evidence: lines as prompts show them, "<title>: <text>".
    """
    told = [_numbers(_about(operand.name, evidence)) for operand in operands]
    found = [numbers.get(meaning(operand.number), set()) for operand, numbers in zip(operands, told, strict=True)]
    kinds = {kind for each in found for kind in each}
    return tuple(
        operand if stays else _replaced(operand, numbers, kinds)
        for operand, numbers, stays in zip(operands, told, found, strict=True)
    )


def _replaced(operand: Operand, told: dict[str, set[Kind]], kinds: set[Kind]) -> Operand:
    alike = [number for number, own in told.items() if own & kinds]
    return replace(operand, number=alike[0]) if len(alike) == 1 else operand


def _about(name: str, evidence: Sequence[str]) -> list[str]:
    """The texts of the entry of that name; without one, the lines in which the name stands."""
    parted = [line.partition(": ") for line in evidence]
    own = [text for title, _, text in parted if same_wording(title, name)]
    return own or [line for line in evidence if name and stands_in(words(name), words(line))]


def _numbers(texts: Sequence[str]) -> dict[str, set[Kind]]:
    """The numbers of texts, each with the kinds that it is of."""
    numbers: dict[str, set[Kind]] = {}
    for text in texts:
        spoken = words(text)
        for at, word in enumerate(spoken):
            number = meaning(word.key)
            if word.key[0].isdigit() and _COMPARABLE.fullmatch(number):
                following = spoken[at + 1] if at + 1 < len(spoken) else None
                numbers.setdefault(number, set()).add(_kind(word, following, text))
    return numbers


def _kind(number: Word, following: Word | None, text: str) -> Kind:
    if following is not None and not text[number.end : following.start].strip():
        unit = meaning(following.key)
        if following.key not in _NO_UNIT and not following.key[0].isdigit():
            return unit, 0
    return "", len(number.key)
