"""Speech servers that are started by a command: begun, watched, replaced, and silent about what they heard."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quizglass_bundle.speech_server import speech_server
from quizglass_server.domain.sound import SoundFormat
from quizglass_server.engines.generator.process.watch import WatchOptions
from quizglass_server.engines.wyoming.hearing import WyomingHearing
from quizglass_server.engines.wyoming.process import SpeechProcessOptions
from quizglass_server.engines.wyoming.server import WyomingServer
from quizglass_server.errors import EngineLost, SettingsError
from tests.support.engines import wyoming_server

PROGRAM = f"{sys.executable} {wyoming_server.__file__}"


@asynccontextmanager
async def started(command: str, options: SpeechProcessOptions | None = None) -> AsyncIterator[WyomingHearing]:
    made = WyomingHearing(WyomingServer(speech_server(command), "hearing", "asr", options), 30.0)
    made.start()
    try:
        yield made
    finally:
        await made.close()


async def until(made: WyomingHearing, *, ready: bool) -> None:
    changed = asyncio.Event()
    made.on_change(changed.set)
    async with asyncio.timeout(120):
        while made.ready is not ready:
            changed.clear()
            await changed.wait()


async def heard(made: WyomingHearing) -> str:
    async def said() -> AsyncIterator[bytes]:
        yield bytes(3_200)

    return [each async for each in made.transcribe(said(), SoundFormat())][-1].text


async def test_a_server_is_started_asked_and_ended(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with started(f"{PROGRAM} --starts {starts}") as made:
        await until(made, ready=True)
        assert await heard(made) == "What does this cost?"
        assert made.executor == "process"
        (pid,) = map(int, starts.read_text().split())
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_one_that_is_killed_is_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with started(f"{PROGRAM} --starts {starts}") as made:
        await until(made, ready=True)
        os.kill(int(starts.read_text()), signal.SIGKILL)
        await until(made, ready=False)
        await until(made, ready=True)
        assert await heard(made) == "What does this cost?"
    assert len(starts.read_text().split()) == 2


async def test_one_that_dies_of_a_speech_loses_that_one_alone() -> None:
    async with started(f"{PROGRAM} --fault exit") as made:
        await until(made, ready=True)
        with pytest.raises(EngineLost, match="closed the connection"):
            await heard(made)
        await until(made, ready=False)
        await until(made, ready=True)


async def test_one_that_stops_answering_is_replaced(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    options = SpeechProcessOptions(watch=WatchOptions(interval_s=0.1, silent_s=0.5))
    async with started(f"{PROGRAM} --starts {starts}", options) as made:
        await until(made, ready=True)
        os.kill(int(starts.read_text()), signal.SIGSTOP)
        await until(made, ready=False)
        assert "it hung" in made.notice
        await until(made, ready=True)
    assert len(starts.read_text().split()) == 2


async def test_closing_while_one_that_hangs_is_being_ended_leaves_none(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    options = SpeechProcessOptions(watch=WatchOptions(interval_s=0.1, silent_s=0.5))
    async with started(f"{PROGRAM} --starts {starts}", options) as made:
        await until(made, ready=True)
        (pid,) = map(int, starts.read_text().split())
        os.kill(pid, signal.SIGSTOP)  # asked to end, it does nothing
        await until(made, ready=False)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert starts.read_text().split() == [str(pid)]


async def test_a_server_that_a_script_runs_ends_with_the_script(tmp_path: Path) -> None:
    """It holds what the script printed to: closing waited for its end without asking for it."""
    starts, script = tmp_path / "starts", tmp_path / "speech"
    script.write_text(f'#!/bin/sh\n{PROGRAM} --starts {starts} "$@"\nexit 1\n')
    script.chmod(0o755)
    async with started(str(script)) as made, asyncio.timeout(60):
        await until(made, ready=True)
        ended = os.pidfd_open(int(starts.read_text()))
    assert select.select([ended], [], [], 60)[0] == [ended]
    os.close(ended)


async def test_one_that_cannot_load_says_why() -> None:
    async with started(f"{PROGRAM} --fails-at-start") as made:
        changed = asyncio.Event()
        made.on_change(changed.set)
        async with asyncio.timeout(60):
            await changed.wait()
        with pytest.raises(EngineLost, match="no such model: whisper-colossal"):
            await heard(made)


async def test_what_it_prints_once_it_serves_is_kept_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with started(PROGRAM) as made:
            await until(made, ready=True)
            await heard(made)
            assert "4711" not in made.notice
    assert "4711" not in caplog.text


def test_a_program_that_is_not_there_is_refused_at_the_start() -> None:
    with pytest.raises(SettingsError, match=r"hearing.*no program 'wyoming-nothing'"):
        WyomingServer(speech_server("wyoming-nothing --model x"), "hearing", "asr")
