"""What a run is made of and how far it came, beside its checkpoints: so that a run goes on as what it was begun as."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from quizglass_export.checkpoints.files import read_json
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.shared.records import write_rows

STATE = "trainer_state.json"
"""The file of a checkpoint that transformers writes last."""
_PARTS = ("recipe", "config", "base", "data", "prompts")


def last_checkpoint(progress: Path) -> Path | None:
    """The last checkpoint that was written to its end; what a kill left of a later one is removed."""
    for folder in sorted(
        progress.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True
    ):
        try:
            read_json(folder / STATE)
        except ExportError:
            shutil.rmtree(folder)
        else:
            return folder
    return None


def check_begun(progress: Path, facts: dict[str, Any], *, anything: bool) -> None:
    """Keep what a run is made of in `progress`, and refuse to go on with another.

    Args:
        progress: folder of the checkpoints.
        facts: what this run is made of.
        anything: whether something came of the run already; nothing is lost to another where nothing did.

    Raises:
        ExportError: the run was begun with another recipe, configuration, base, data or prompts; names what differs.
    """
    begun = progress / "begun.json"
    if anything and begun.is_file():
        before = read_json(begun)
        for part in _PARTS:
            if (old := before.get(part)) != (new := facts[part]):
                old = old if isinstance(old, dict) else {str(old): old}
                keys = [key for key in old | new if old.get(key) != new.get(key)] if isinstance(new, dict) else old
                what = f"{part} ({', '.join(keys)})"
                raise ExportError(f"{progress}: begun with another {what}; choose another --out, or delete it")
        return
    write_rows(begun, [facts])
