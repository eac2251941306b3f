"""What the benchmark of busy neighbours makes of measured times; and its own busy processes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from bench import busy as jobs
from bench.busy import busy
from bench.engine.contenders.floor import Bare
from bench.engine.contenders.peers import OLLAMA, PLAIN, PeerMissing, Peers
from bench.engine.contenders.running import Field
from bench.engine.contenders.shapes import Shape
from bench.engine.generator.neighbours import BESIDE_ONE, CONDITIONS, IDLE, rows
from bench.results import Row
from tests.support.bundles.tiny_models import write_generator
from tests.support.processes import running


class _Contender:
    def __init__(self, name: str) -> None:
        self.name = name


def _field(*names: str, missing: dict[str, str] | None = None) -> Field:
    contenders: list[Any] = [_Contender(name) for name in names]
    return Field(contenders, missing or {})


def _walls(**by_name: float) -> Any:
    """The same time in every condition, but beside one busy process ours doubles."""
    walls: Any = defaultdict(dict)
    for name, seconds in by_name.items():
        for condition in CONDITIONS:
            twice = name == "quizglass" and condition in BESIDE_ONE
            walls[name][condition] = [seconds * (1 + twice)] * 3
    return walls


def _held(found: list[Row]) -> dict[str, list[bool | None]]:
    held: dict[str, list[bool | None]] = defaultdict(list)
    for row in found:
        held[row.bar].append(row.ok)
    return dict(held)


def test_bars_are_for_what_is_measured_beside_one_busy_process() -> None:
    walls = _walls(quizglass=0.2) | {PLAIN: _walls(x=0.5)["x"], OLLAMA: _walls(x=0.3)["x"]}
    found = rows("starter", _field("quizglass", PLAIN, OLLAMA), walls)
    # Twice as long as idle, faster than one peer and slower than the other.
    assert _held(found) == {
        "": [None] * 8,
        "<= 2.5x peer": [True] * 2,
        "<= 1x peer": [True, False] * 2,
    }
    assert len({(row.name, row.peer) for row in found}) == len(found)


def test_a_peer_that_is_missing_leaves_the_others_rows() -> None:
    found = rows("starter", _field("quizglass", OLLAMA, missing={PLAIN: "no compiler"}), _everybody())
    assert sum("no compiler" in row.peer for row in found) == len(CONDITIONS)
    assert all(row.ok for row in found if row.bar)


def _everybody() -> Any:
    return _walls(quizglass=0.2) | {OLLAMA: _walls(x=0.9)["x"]}


async def test_busy_processes_compute_at_their_priority_and_end() -> None:
    async with busy(2, 3):
        beside = _busy()
        assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in beside] == [os.getpriority(os.PRIO_PROCESS, 0) + 3] * 2
        assert all(os.getsid(pid) == pid for pid in beside), "other jobs share no session with the benchmark"
    assert not _busy()
    async with busy(0, 0):
        assert IDLE.processes == 0


async def test_a_busy_process_does_not_outlive_who_started_it() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, jobs.__file__, "0", "0"), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdout.readline()
    process.stdin.close()
    assert await process.wait() == 0


def _busy() -> list[int]:
    """Of this process: it may have other children, of other tests."""
    return running(os.getpid(), jobs.__file__)


def test_llama_cpp_alone_reads_and_writes(tmp_path: Path) -> None:
    made = write_generator(tmp_path)
    bare = Bare(Shape("tiny", made.model, Path(), 0), 1, 256, 2)
    floor = bare.measure(["What is it?", "Who made it?"], 4)
    bare.close()
    assert len(floor.reading) == 2
    assert min(*floor.reading, floor.writing) > 0


async def test_a_model_that_does_not_load_is_a_missing_peer(tmp_path: Path) -> None:
    shape = Shape("tiny", tmp_path / "none.gguf", tmp_path / "none.gguf", 0)
    with pytest.raises(PeerMissing, match="its log is"):
        await Peers(tmp_path, 1, 256).start(PLAIN, shape)
