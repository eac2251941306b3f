"""What the accuracy benchmark keeps of a run that was interrupted."""

import json
from dataclasses import asdict
from pathlib import Path

from bench.accuracy.log import kept
from bench.accuracy.planner.asking import Asked


def test_a_run_that_was_killed_while_it_wrote_goes_on_with_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "answers.jsonl"
    assert list(kept(log)) == []
    lines = [json.dumps(asdict(Asked(name))) + "\n" for name in ("first", "second")]
    log.write_text(lines[0] + lines[1][:20])
    assert [asked["id"] for asked in kept(log)] == ["first"]
    with log.open("a") as file:
        file.write(lines[1])
    assert [asked["id"] for asked in kept(log)] == ["first", "second"]
