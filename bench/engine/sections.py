"""What a section gets and gives, and where finished ones are kept so that a run can go on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.engine.peers import Peers
from bench.engine.shapes import Shape, half_billion, starter
from bench.results import Row


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
    peers: Peers
    say: Callable[[str], None]
    """Shows what is being done."""

    def count(self, full: int, quick: int) -> int:
        """How often to repeat something."""
        return quick if self.quick else full

    def shapes(self) -> list[Shape]:
        """The generators to measure with."""
        tokenizer = self.bundle / "tokenizer" / "tokenizer.json"
        made = {
            "starter": lambda: starter(self.bundle),
            "0.5B": lambda: half_billion(self.folder / "0.5b", tokenizer, self.say),
        }
        return [made[name]() for name in self.models]


@dataclass
class Part:
    """What a section measured."""

    rows: list[Row] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    """Kept beside the rows, for plots and for whoever wants to look closer."""


class Store:
    """Finished sections on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, section: str, part: Part, how: dict[str, Any]) -> None:
        """Keep a section; `how` says with which settings it was measured."""
        self._folder.mkdir(parents=True, exist_ok=True)
        record = {"rows": [asdict(row) for row in part.rows], "data": part.data, "how": how}
        unfinished = self._folder / f"{section}.unfinished"
        unfinished.write_text(json.dumps(record, indent=1))
        unfinished.replace(self._folder / f"{section}.json")

    def load(self, section: str) -> tuple[Part, dict[str, Any]] | None:
        """A section with how it was measured; None where it has not been, or its file is no such record."""
        try:
            record = json.loads((self._folder / f"{section}.json").read_text())
            return Part([Row(**row) for row in record["rows"]], record["data"]), record["how"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
