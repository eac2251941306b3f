"""A server process in the middle of a spoken question: it is stopped, or its disk is full."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from quizglass.session import AnswerSpoken, GoAway, SpeechState, SpeechStatus, SpeechTranscript
from quizglass_client import AsyncClient
from quizglass_client.local import LocalServer
from quizglass_server.errors import EngineLost, Stopping
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.engines import wyoming_server
from tests.support.engines.generator_process import PATIENCE_S
from tests.support.sessions.session_links import RawLink, opened
from tests.support.sessions.speech import ALOUD, spoken, vowels

PROGRAM = f"{sys.executable} {wyoming_server.__file__}"


@asynccontextmanager
async def speaking(folder: Path) -> AsyncIterator[tuple[LocalServer, list[int]]]:
    """A server, and the processes that hear and speak for it."""
    starts = folder / "starts"
    flags = ["--hearing", f"{PROGRAM} --writes --starts {starts}", "--voice", f"{PROGRAM} --starts {starts}"]
    server = LocalServer(write_bundle(folder / "bundle"), folder / "k", flags=flags, log=folder / "log")
    await asyncio.to_thread(server.__enter__)
    try:
        async with asyncio.timeout(PATIENCE_S), AsyncClient(server.target) as client:
            while not all(role.ready for role in (await client.capabilities()).roles):  # noqa: ASYNC110  # no event
                await asyncio.sleep(0.1)
        yield server, [int(pid) for pid in starts.read_text().split()]
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def answered(said: RawLink, name: str) -> None:
    """Fail where a spoken question is not answered aloud."""
    transcript = await said.until(SpeechTranscript, lambda each: each.ask_id == name and each.final)
    assert transcript.text == "What does this cost?"
    assert (await said.until(AnswerSpoken, lambda each: each.ask_id == name)).whole


async def test_a_speech_that_has_begun_is_answered_before_a_server_stops(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (server, processes), opened(server.target, output=ALOUD) as (said, _):
        start, *audio, end = spoken("a", vowels(1.0))
        await said.say(start, *audio[:6])
        await said.until(SpeechStatus, lambda each: each.state is SpeechState.VOICE)
        os.kill(server.pid, signal.SIGTERM)
        assert (await said.until(GoAway)).reason == Stopping.code
        await said.say(*audio[6:], end)
        await answered(said, "a")
        assert await said.ended() is grpc.StatusCode.OK
        assert server._process is not None
        assert await asyncio.to_thread(server._process.wait, PATIENCE_S) == 0
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


async def test_a_full_disk_costs_no_more_than_the_speech_that_the_recogniser_cannot_write(tmp_path: Path) -> None:
    async with speaking(tmp_path) as (server, processes), opened(server.target, output=ALOUD) as (said, _):
        start, *audio, end = spoken("a", vowels(1.0))
        await said.say(start, *audio[:6])
        await said.until(SpeechStatus, lambda each: each.state is SpeechState.VOICE)
        unlimited = resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        await said.say(*audio[6:], end)
        await answered(said, "a")  # the server itself writes nothing of it
        for process in processes:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        await said.say(*spoken("b", vowels(1.0)))
        notice = await said.notice()
        assert (notice.ask_id, notice.reason, notice.turn_over) == ("b", EngineLost.code, True)
        for process in (server.pid, *processes):
            resource.prlimit(process, resource.RLIMIT_FSIZE, unlimited)
        await said.say(*spoken("c", vowels(1.0)))
        await answered(said, "c")
