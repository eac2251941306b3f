"""Processes with the `wyoming` package's own server, in the middle of a transcript or of an answer: killed, stopped and
replaced, and left alone as long as it is not they who are slow."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from quizglass.session import AnswerAudio, AnswerSpoken, Notice, SpeechTranscript
from quizglass_bundle.speech_server import speech_server
from quizglass_server.domain.sound import SoundFormat
from quizglass_server.engines.generator.process.watch import WatchOptions
from quizglass_server.engines.wyoming.hearing import WyomingHearing
from quizglass_server.engines.wyoming.process import SpeechProcessOptions
from quizglass_server.engines.wyoming.server import WyomingServer
from quizglass_server.engines.wyoming.voice import WyomingVoice
from quizglass_server.errors import EngineLost
from quizglass_server.roles.speech import HEARING, VOICE
from tests.support.engines import wyoming_program
from tests.support.engines.wyoming_program import RATE_HZ, WORDS
from tests.support.rpc_fakes import serve_stage
from tests.support.sessions.session_links import RawLink, eventually, opened, question, text, words
from tests.support.sessions.speech import ALOUD, SpeechStage, spoken, tone

CHECKS = 40
"""So many checks are several times the silence at which a process counts as hanging."""
WATCH = WatchOptions(interval_s=0.05, silent_s=0.5)
PATIENCE_S = 60.0


class Program:
    """A folder by which a process is followed, and the server that starts it."""

    def __init__(self, folder: Path, service: str, more: str = "") -> None:
        folder.mkdir()
        self._folder = folder
        command = speech_server(f"{sys.executable} {wyoming_program.__file__} --folder {folder} {more}")
        options = SpeechProcessOptions(watch=WATCH, close_s=0.2)
        if service == "asr":
            self.server = WyomingServer(command, "hearing", "asr", options)
        else:
            self.server = WyomingServer(command, "voice", "tts", options)

    @property
    def processes(self) -> list[int]:
        starts = self._folder / "starts"
        return [int(pid) for pid in starts.read_text().split()] if starts.exists() else []

    def hold(self) -> None:
        """Let it come to a stop in the middle."""
        (self._folder / "hold").touch()

    def let_go(self) -> None:
        (self._folder / "hold").unlink()

    async def middle(self) -> None:
        await eventually((self._folder / "middle").exists)

    async def starts(self, count: int) -> None:
        """Wait until that is the process that serves."""
        await eventually(lambda: len(self.processes) == count and self.server.ready)

    async def checked(self) -> None:
        """Wait until it was looked at often enough to be replaced."""
        described = self._folder / "described"
        enough = described.stat().st_size + CHECKS
        await eventually(lambda: described.stat().st_size >= enough)


@asynccontextmanager
async def started(program: Program) -> AsyncIterator[Program]:
    program.server.start()
    try:
        await program.starts(1)
        yield program
    finally:
        await program.server.close()


@asynccontextmanager
async def talking(folder: Path, patience_s: float) -> AsyncIterator[tuple[RawLink, Program, Program]]:
    """A session whose recogniser and voice are such processes."""
    async with AsyncExitStack() as stack:
        hearing = await stack.enter_async_context(started(Program(folder / "hearing", "asr")))
        voice = await stack.enter_async_context(started(Program(folder / "voice", "tts")))
        stage = SpeechStage(folder)
        stage.models[HEARING] = WyomingHearing(hearing.server, patience_s)
        stage.models[VOICE] = WyomingVoice(voice.server, patience_s)
        stage.assistant.script = words(3)
        await stack.enter_async_context(serve_stage(stage))
        said, _ = await stack.enter_async_context(opened(stage.target, output=ALOUD))
        yield said, hearing, voice


async def answered(said: RawLink, name: str) -> None:
    """Fail where a spoken question is not heard and answered aloud."""
    await said.say(*spoken(name, tone(0.5)))
    heard = await said.until(SpeechTranscript, lambda each: each.ask_id == name and each.final)
    assert heard.text == WORDS
    assert (await said.until(AnswerSpoken, lambda each: each.ask_id == name)).whole


def gone(pid: int) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(("number", "patience_s"), [(signal.SIGKILL, PATIENCE_S), (signal.SIGSTOP, 1.0)])
async def test_a_recogniser_that_ends_in_the_middle_of_a_transcript_is_replaced(
    tmp_path: Path, number: signal.Signals, patience_s: float
) -> None:
    async with talking(tmp_path, patience_s) as (said, hearing, _):
        hearing.hold()
        await said.say(*spoken("a", tone(0.5)))
        await hearing.middle()
        (first,) = hearing.processes
        os.kill(first, number)
        notice = await said.until(Notice)
        assert (notice.ask_id, notice.reason, notice.turn_over) == ("a", EngineLost.code, True)
        hearing.let_go()
        await hearing.starts(2)
        gone(first)
        await answered(said, "b")


@pytest.mark.parametrize(("number", "patience_s"), [(signal.SIGKILL, PATIENCE_S), (signal.SIGSTOP, 1.0)])
async def test_a_voice_that_ends_in_the_middle_of_an_answer_is_replaced(
    tmp_path: Path, number: signal.Signals, patience_s: float
) -> None:
    async with talking(tmp_path, patience_s) as (said, _, voice):
        voice.hold()
        await said.say(question("a"))
        assert (await said.until(AnswerAudio)).segment == 0
        await voice.middle()
        (first,) = voice.processes
        os.kill(first, number)
        end = await said.until(AnswerSpoken)
        assert (end.ask_id, end.whole, end.reason) == ("a", False, EngineLost.code)
        assert f"{end.heard} {end.unheard}".strip() == text(3)  # in text it is whole
        voice.let_go()
        await voice.starts(2)
        gone(first)
        await answered(said, "b")


async def test_a_long_question_is_no_silence_of_its_recogniser(tmp_path: Path) -> None:
    async with started(Program(tmp_path / "hearing", "asr")) as program:

        async def slowly() -> AsyncIterator[bytes]:
            yield tone(1.0)
            await program.checked()
            yield tone(1.0)

        by = WyomingHearing(program.server, PATIENCE_S)
        assert [each.text async for each in by.transcribe(slowly(), SoundFormat())] == [WORDS]
        assert len(program.processes) == 1


async def test_a_listener_that_takes_no_more_for_a_while_costs_no_voice(tmp_path: Path) -> None:
    async def texts() -> AsyncIterator[str]:
        yield "One."
        yield "Two."

    async with started(Program(tmp_path / "voice", "tts")) as program:
        sounds = WyomingVoice(program.server, PATIENCE_S).speak(texts())
        first = await anext(sounds)
        await program.checked()
        assert [first.text, *[sound.text async for sound in sounds]] == [0, 0, 1, 1]
        assert first.format == SoundFormat(RATE_HZ)
        assert len(program.processes) == 1


async def test_one_that_hears_on_the_thread_that_answers_has_a_request_s_patience(tmp_path: Path) -> None:
    async def speech() -> AsyncIterator[bytes]:
        yield tone(1.0)

    async with started(Program(tmp_path / "hearing", "asr", "--blocks-s 2")) as program:
        by = WyomingHearing(program.server, PATIENCE_S)
        assert [each.text async for each in by.transcribe(speech(), SoundFormat())] == [WORDS]
        assert len(program.processes) == 1
