"""Processes without one of the engine's finer parts, and what is made of their times."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.engine.contenders.contender import Ask, Timed
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.generator import lesser_child, without
from bench.engine.generator.without import Session
from quizglass_server.errors import EngineLost


@pytest.mark.parametrize("part", lesser_child.PARTS)
def test_what_is_left_out_is_there(part: str) -> None:
    """Each in a process of its own: they change modules for good."""
    command = [sys.executable, "-P", lesser_child.__file__, part, "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr


def session(whole: float, lesser: float) -> Session:
    return Session({"first": [], "second": [whole] * 3}, {"first": [1.0], "second": [lesser] * 3})


def test_a_part_earns_what_is_beyond_the_spread_of_whole_processes() -> None:
    table = without.rows(
        "m", {"nothing": session(1.0, 1.1), "padding": session(1.0, 1.3), "offloading": session(1.0, 1.08)}
    )
    padding, offloading = table
    assert padding.name == "m: without padding (earns; spread 10%): another question about it, first token"
    assert padding.ratio == pytest.approx(1.3)
    assert (
        offloading.name == "m: without offloading (earns nothing; spread 10%): another question about it, first token"
    )


def test_a_session_that_began_on_a_busy_machine_does_not_count_for_the_spread() -> None:
    busy, alike = session(9.0, 9.5), {"nothing": session(1.0, 1.1), "padding": session(1.0, 1.3)}
    upkeep, padding = without.rows("m", {"costs kept up to date": busy, **alike})
    assert (
        upkeep.name
        == "m: without costs kept up to date (earns nothing; spread 10%): another question about it, first token"
    )
    assert "spread 10%" in padding.name


def test_what_does_not_finish_has_a_row_that_says_so() -> None:
    stuck = Session({"second": [1.0]}, {}, "not within 90 s")
    (row,) = without.rows("m", {"nothing": session(1.0, 1.0), "padding": stuck})
    assert (row.name, row.value) == ("m: without padding (earns; did not finish)", None)
    assert row.peer == "not within 90 s"


@dataclass
class FakeProcess:
    """Answers at once, or dies."""

    part: str
    name: str = ""
    closed: list[str] = field(default_factory=list)

    async def complete(self, ask: Ask, timed: Timed) -> None:
        if self.part == "padding":
            raise EngineLost("it died")
        for _ in range(ask.tokens):
            timed.add("word ")

    async def close(self) -> None:
        self.closed.append(self.part)


def test_a_part_that_is_needed_to_finish_holds_up_no_other_and_what_is_kept_is_not_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[str] = []
    closed: list[str] = []

    async def start(setup: Setup, shape: Shape, part: str) -> FakeProcess:
        started.append(part)
        return FakeProcess(part, closed=closed)

    monkeypatch.setattr(Setup, "shapes", lambda setup: [Shape("0.5B", tmp_path, tmp_path, 8)])
    monkeypatch.setattr(without, "_start", start)
    fields: dict[str, Any] = {"rounds": 2, "threads": 1, "quick": False, "folder": tmp_path, "bundle": tmp_path}
    fields |= {"checkpoints": tmp_path, "models": ["0.5B"], "peers": None, "say": lambda text: None}

    part = asyncio.run(without.run(Setup(**fields)))
    assert started == [each for name in lesser_child.PARTS for each in ("nothing", name)]
    assert sorted(closed) == sorted(started)
    names = [row.name for row in part.rows]
    assert sum("did not finish" in name for name in names) == 1
    assert len(names) == len(lesser_child.PARTS) - 1
    assert [len(each["whole"]["wall"]) for each in part.data["0.5B"].values()].count(2) == len(lesser_child.PARTS) - 1

    (tmp_path / "without" / "0.5B-offloading.json").unlink()
    started.clear()
    again = asyncio.run(without.run(Setup(**fields, resume=True)))
    assert started == ["nothing", "offloading"]
    assert len(again.rows) == len(part.rows)

    started.clear()
    monkeypatch.setattr(without, "code", lambda _: "other")
    asyncio.run(without.run(Setup(**fields, resume=True)))
    assert len(started) == 2 * len(lesser_child.PARTS), "what was measured of other code does not count"

    started.clear()
    asyncio.run(without.run(Setup(**fields)))
    assert len(started) == 2 * len(lesser_child.PARTS), "without --resume everything is measured anew"
