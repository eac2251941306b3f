"""A sequence of the model's memory, and what is asked of that memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from quizglass_server.engines.llama.prefixes.blocks import Cells
from quizglass_server.engines.llama.prefixes.prompt_units import Atoms


class Memory(Protocol):
    """What the cache needs of llama.cpp's memory."""

    def forget(self, sequence: int, start: int = 0, end: int = -1) -> None:
        """Drop the positions of a sequence from `start` on, and below `end` if that is not -1."""
        ...

    def share(self, source: int, target: int, end: int) -> None:
        """Let `target`, which is empty, start with the positions of `source` below `end`."""
        ...

    def save_sequence(self, sequence: int) -> bytes:
        """A copy of what a sequence holds."""
        ...

    def load_sequence(self, sequence: int, state: bytes) -> bool:
        """Whether such a copy was put into a sequence, which is empty before, and after if it was not."""
        ...


@dataclass(eq=False, slots=True)
class Held:
    """A sequence of the model's memory and what it holds."""

    sequence: int
    atoms: Atoms
    length: int
    """Atoms in memory."""
    cells: Cells
    """Those of the atoms in memory, then those reserved."""
    used: int = 0
    """When, as a count of uses."""

    @property
    def position(self) -> int:
        """Where the next atom goes."""
        return self.atoms.position(self.length)
