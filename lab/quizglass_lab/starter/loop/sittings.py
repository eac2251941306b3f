"""What a stage of training took: minutes over all its sittings, and the most memory that one of them held."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SITTINGS = "sittings.json"


@contextmanager
def sitting(folder: Path) -> Iterator[None]:
    """Time one sitting of the stage in `folder`, also when it is interrupted; what was timed before is kept."""
    before, started = taken(folder), time.monotonic()
    try:
        yield
    finally:
        folder.mkdir(parents=True, exist_ok=True)
        minutes = before.get("minutes", 0.0) + (time.monotonic() - started) / 60
        peak = max(before.get("peak_memory_mb", 0.0), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        record = {"minutes": round(minutes, 2), "peak_memory_mb": round(peak, 1)}
        (folder / SITTINGS).write_text(json.dumps(record) + "\n", encoding="utf-8")


def taken(folder: Path) -> dict[str, float]:
    """`minutes` and `peak_memory_mb` (of the process, since it began) of a stage so far; empty for one not begun."""
    path = folder / SITTINGS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
