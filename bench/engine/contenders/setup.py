"""What a section gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.engine.contenders.peers import Peers
from bench.engine.contenders.shapes import Shape, half_billion, starter


@dataclass(frozen=True)
class Setup:
    """What every section works with."""

    rounds: int
    threads: int
    quick: bool
    """Small counts, to see that everything runs; the figures mean nothing."""
    folder: Path
    bundle: Path
    checkpoints: Path
    models: Sequence[str]
    """starter, 0.5B."""
    smollm2: Path
    """GGUF of the published model that text streams are measured with; need not exist."""
    peers: Peers
    say: Callable[[str], None]
    """Shows what is being done."""
    resume: bool = False
    """Whether what was measured before an interruption counts."""

    def count(self, full: int, quick: int) -> int:
        """How often to repeat something."""
        return quick if self.quick else full

    def two_billion(self) -> Shape:
        """The larger generator, for the one section that asks for it."""
        from bench.engine.contenders.larger import TWO_BILLION, larger

        return larger(TWO_BILLION, self.folder / "2b", self.bundle / "tokenizer" / "tokenizer.json", self.say)

    def shapes(self) -> list[Shape]:
        """The generators to measure with."""
        tokenizer = self.bundle / "tokenizer" / "tokenizer.json"
        made = {
            "starter": lambda: starter(self.bundle),
            "0.5B": lambda: half_billion(self.folder / "0.5b", tokenizer, self.say),
        }
        return [made[name]() for name in self.models]
