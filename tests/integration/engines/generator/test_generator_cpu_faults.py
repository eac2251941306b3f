"""A llama-server that does not suit its CPU: dies of a signal, or computes nonsense, while it loads."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.errors import EngineFailed
from tests.support.engines.generator_process import PATIENCE_S, fake_program, kill, started, texts, until

Faulty = Callable[[str], ProcessOptions]
Starts = Callable[[], list[str]]


@pytest.fixture
def starts(tmp_path: Path) -> Starts:
    """How a faulty program was started so far; what is proved first and what serves are a start each."""
    return lambda: (tmp_path / "starts").read_text().split()


@pytest.fixture
def faulty(options: ProcessOptions, tmp_path: Path) -> Faulty:
    """Options of a process that is faulty in a given way."""

    def made(mode: str) -> ProcessOptions:
        return replace(options, program=fake_program(mode, tmp_path))

    return made


@pytest.mark.parametrize(("how", "says"), [("ILL", "signal 4"), ("SEGV", "signal 11"), ("nonsense", "self-test")])
async def test_it_serves_without_repacked_weights_and_says_so(
    faulty: Faulty, starts: Starts, how: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with started(faulty("never")) as sound:
        assert sound.notice == ""
    assert starts() == ["repack", "repack"]
    async with started(faulty(f"repacked {how}")) as process, asyncio.timeout(PATIENCE_S * 3):
        assert await texts(process) == ["a", "b"]
        assert starts()[2:] == ["repack", "plain", "plain"]
        assert says in process.notice
        assert "more slowly" in process.notice
        assert "docs/operations.md" in process.notice
        assert process.notice in caplog.text
        assert "CPU features" in caplog.text


async def test_a_restart_keeps_the_choice(faulty: Faulty, starts: Starts) -> None:
    async with started(faulty("repacked ILL")) as process, asyncio.timeout(PATIENCE_S * 3):
        kill(process)
        await until(process, False)
        await until(process, True)
        assert starts() == ["repack", "plain", "plain", "plain"]
        assert process.notice


async def test_an_instruction_that_is_illegal_only_later_ends_the_repacking_too(faulty: Faulty, starts: Starts) -> None:
    async with started(faulty("never")) as process, asyncio.timeout(PATIENCE_S * 3):
        kill(process)
        await until(process, False)
        await until(process, True)
        assert process.notice == ""
        kill(process, signal.SIGILL)
        await until(process, False)
        await until(process, True)
        assert starts() == ["repack", "repack", "repack", "plain", "plain"]
        assert "while it served (signal 4" in process.notice


@pytest.mark.parametrize("how", ["ILL", "nonsense"])
async def test_what_fails_both_ways_does_not_start_and_says_what_is_needed_to_mend_it(
    faulty: Faulty, starts: Starts, how: str
) -> None:
    process = GeneratorProcess(faulty(f"always {how}"))
    with pytest.raises(EngineFailed) as failed:
        await process.start()
    assert starts() == ["repack", "plain"]
    for word in (
        "self-test" if how == "nonsense" else "signal 4",
        "CPU features: ",
        "compiled by",
        "docs/operations.md",
    ):
        assert word in failed.value.message
    assert process.notice == ""


async def test_a_process_that_is_killed_is_no_fault_of_the_cpu(faulty: Faulty, starts: Starts) -> None:
    with pytest.raises(EngineFailed, match=r"signal 9.*when memory is short: take a smaller model"):
        await GeneratorProcess(faulty("always KILL")).start()
    assert starts() == ["repack"]


async def test_the_real_one_proves_itself_with_and_without_repacked_weights(options: ProcessOptions) -> None:
    for repack in (True, False):
        process = GeneratorProcess(options)
        process._launcher._repack = repack
        await process.start()
        assert process.notice == ""
        await process.close()
