"""Parts of a benchmark, and where finished ones are kept so that a run can go on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.results import Row


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

    def finished(self, sections: Iterable[str]) -> tuple[list[Row], dict[str, Any], dict[str, Any]]:
        """Of the sections that there are, in this order: all rows, and by section what was measured and how."""
        rows: list[Row] = []
        data, how = {}, {}
        for name in sections:
            if (found := self.load(name)) is not None:
                part, how[name] = found
                rows += part.rows
                data[name] = part.data
        return rows, data, how

    def load(self, section: str) -> tuple[Part, dict[str, Any]] | None:
        """A section with how it was measured; None where it has not been, or its file is no such record."""
        try:
            record = json.loads((self._folder / f"{section}.json").read_text())
            return Part([Row(**row) for row in record["rows"]], record["data"]), record["how"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
