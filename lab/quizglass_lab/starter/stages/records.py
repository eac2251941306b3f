"""What stages keep for one another: dataclasses in a file, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def save_rows(rows: Sequence[DataclassInstance], path: Path) -> None:
    """Write each as an object of its fields."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The fields that `save_rows` wrote; tuples have become lists."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
