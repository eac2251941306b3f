"""Threads of a real process: compared at the first start."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from tests.support.engines.generator_process import started, texts


@pytest.fixture
def choosing(options: ProcessOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessOptions:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return replace(options, threads=0, cores=2)


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
