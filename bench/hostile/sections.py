"""What a section gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setup:
    """What every section works with."""

    quick: bool
    """Small counts, to see that everything runs; the figures mean nothing."""
    folder: Path
    bundle: Path
    say: Callable[[str], None]
    """Shows what is being done."""

    def count(self, full: int, quick: int) -> int:
        """How often to repeat something."""
        return quick if self.quick else full
