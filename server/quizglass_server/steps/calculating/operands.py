"""Checks the numbers of a comparison against the evidence that they were read from.

A small model that reads two numbers may write the first one twice: "most Velmora 761, Tandric 761", where the passage
about Tandric says 435 cm. What the evidence tells of a name is looked up in it, and counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from quizglass_server.domain.calculations import Operand
from quizglass_server.steps.language import english
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.wording import Word, same_wording, stands_in, words

_COMPARABLE = re.compile(r"\d+(?:\.\d+)?")
"""What a calculator takes for a number: no date ("3.10.1990"), no fraction."""
_NO_UNIT = frozenset(english.FUNCTION.split())
Kind = tuple[str, int]
"""Kind of a number: its unit; without one, its number of digits, as years have four."""


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
