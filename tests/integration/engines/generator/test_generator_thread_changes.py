"""Threads of a real process: compared at the first start, and changed between turns beside busy programs."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from quizglass_server.engines.generator.process import supervisor
from quizglass_server.engines.generator.process.options import Patience, ProcessOptions
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from tests.support.engines.generator_process import LONG, PATIENCE_S, PROMPT, started, texts, until
from tests.support.processes import generator_of

SOON = Patience(look_s=0.01, steady_s=0.01, apart_s=0.0, idle_s=0.01)


@pytest.fixture
def choosing(options: ProcessOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessOptions:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return replace(options, threads=0, cores=2, patience=SOON)


class Others:
    """What others use of the cores, as a test decides."""

    used = 0.0
    looks = 0

    def __init__(self, own_cores: int) -> None:
        assert own_cores == 2

    def cores(self, own_s: float) -> float:
        type(self).looks += 1
        return self.used


def threads_of(process: GeneratorProcess) -> int:
    flags = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
    return int(flags[flags.index("--threads") + 1])


def kept_files(cache: Path) -> list[Path]:
    return list(cache.glob("quizglass/threads-*.json"))


async def test_the_first_start_compares_and_later_ones_know(
    choosing: ProcessOptions, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        async with started(choosing) as process:
            first = threads_of(process)
            assert await texts(process)
    told = re.findall(r"computes with (\d) threads", caplog.text)
    assert told == [str(first)]
    assert len(kept_files(tmp_path)) == 1
    caplog.clear()
    with caplog.at_level("INFO"):
        async with started(choosing) as process:
            assert threads_of(process) == first
    assert "computes with" not in caplog.text


async def test_beside_a_busy_program_it_is_restarted_with_one_fewer_but_never_in_a_turn(
    choosing: ProcessOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Busy(Others):
        pass

    monkeypatch.setattr(supervisor, "OthersLoad", Busy)
    async with started(choosing):
        (kept,) = kept_files(tmp_path)
    kept.write_text('{"threads": 2}')
    async with started(choosing) as process, asyncio.timeout(PATIENCE_S):
        expected, pid = await texts(process), process.pid
        assert threads_of(process) == 2
        async with aclosing((await process.client()).generate(PROMPT, LONG)) as stream:
            await anext(stream)
            Busy.used, seen = 1.0, Busy.looks
            while Busy.looks < seen + 20:
                await anext(stream)
            assert process.pid == pid
        changed = asyncio.Event()
        process.on_change = changed.set
        while process.pid in (pid, None):
            await changed.wait()
            changed.clear()
        assert threads_of(process) == 1
        assert await texts(process) == expected
        Busy.used, pid = 0.0, process.pid
        while process.pid in (pid, None):
            await changed.wait()
            changed.clear()
        assert threads_of(process) == 2


async def test_closing_while_it_is_replaced_leaves_none(
    choosing: ProcessOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Busy(Others):
        pass

    monkeypatch.setattr(supervisor, "OthersLoad", Busy)
    async with started(choosing):
        (kept,) = kept_files(tmp_path)
    kept.write_text('{"threads": 2}')
    async with started(choosing) as process, asyncio.timeout(PATIENCE_S):
        pid, Busy.used = process.pid, 1.0
        await until(process, False)
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert generator_of(os.getpid()) is None
