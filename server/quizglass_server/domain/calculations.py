"""What a generator left to the calculator: numbers with whose they are, and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operand:
    """A number as it was written, and in a comparison the name of its subject."""

    number: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A working and its result, e.g. "1991-1952" and "39"."""

    working: str
    result: str
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        return f"{self.working} = {self.result}"
