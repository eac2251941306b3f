"""One stage of training with its record: what it measured, how long it took, and what it needed."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quizglass_export.retrieval.training import TimedRun, log

DONE = "done.json"


def finished(folder: Path) -> bool:
    """Whether the stage in this folder is done; delete the folder to repeat it."""
    return (folder / DONE).is_file()


def finish(folder: Path, run: TimedRun, measure: Callable[[], Mapping[str, Any]]) -> None:
    """Mark a stage done.

    Writes `done.json` with what `measure` gives, and `steps`, `minutes` (processor time per thread over all sittings)
    and `peak_memory_mb` (largest resident memory of the last sitting's process).
    """
    report = {
        **measure(),
        "steps": run.step,
        "minutes": round(run.elapsed / 60, 2),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    part = folder / f"{DONE}.part"
    part.write_text(json.dumps(report, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(folder / DONE)
    log.info("%s done: %s", run.name, json.dumps(report, sort_keys=True))
