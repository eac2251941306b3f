"""The record of one turn, and its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_client.files import write_private
from quizglass_client.terminal.output import as_json, json_line
from quizglass_client.trace.crops import Crops
from quizglass_client.trace.page import page
from quizglass_client.types import Event, PictureLike

FORMATS = (".json", ".html")
"""What a trace can be written as, by how the name of its file ends."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class Trace:
    """One turn that was asked for with `explain`, whether or not it came to its end."""

    question: str
    events: Sequence[Event]
    picture: PictureLike | None = None
    """The picture that was asked about; only a page shows it."""

    def json(self) -> str:
        """One JSON object: the question, and every event of the turn as `quizglass ask --json` prints it."""
        events = [as_json(event) for event in self.events]
        finished = bool(events) and isinstance(events[-1], dict) and events[-1].get("event") == "done"
        whole = {"version": VERSION, "question": self.question, "finished": finished, "events": events}
        return json.dumps(json.loads(json_line(whole)), indent=1) + "\n"

    def html(self) -> str:
        """A page with picture, answer, timeline, steps and evidence; it loads nothing and runs nothing."""
        return page(self.question, self.events, Crops(self.picture))

    def write(self, path: Path) -> None:
        """Write to a .json or .html file, readable by its user alone: it holds what was asked and seen.

        Raises:
            ValueError: the name ends in neither.
            OSError: the file cannot be written.
        """
        if path.suffix.lower() not in FORMATS:
            raise ValueError(f"{path.name} ends in none of {', '.join(FORMATS)}")
        text = self.html() if path.suffix.lower() == ".html" else self.json()
        write_private(path, text.encode())
