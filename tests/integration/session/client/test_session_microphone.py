"""This machine's microphone, behind a scripted `sounddevice`, in a session over a real socket."""

import asyncio
import sys
import types

import pytest

from quizglass_client import AsyncSession, ClientError, Session
from quizglass_client.session.voice.device import Microphone
from quizglass_client.terminal.conversation import converse
from tests.support.rpc_fakes import serving_on_a_thread
from tests.support.sessions.speech import ALOUD, SpeechStage, hearing_and_speaking, silence, tone

PIECE = 1024
"""Bytes of 32 ms."""


class Stream:
    """A recording as PortAudio makes it: on a thread that is not the program's."""

    opened: list["Stream"]

    def __init__(self, callback, finished_callback, **kind):
        self.callback, self.finished = callback, finished_callback
        self.kind, self.calls = kind, []
        Stream.opened.append(self)

    def start(self):
        self.calls.append("start")

    def abort(self):
        self.calls.append("abort")
        self.finished()

    def close(self):
        self.calls.append("close")

    def record(self, sound):
        for at in range(0, len(sound), PIECE):
            self.callback(sound[at : at + PIECE], PIECE // 2, None, None)

    def unplug(self):
        self.finished()


@pytest.fixture(autouse=True)
def library(monkeypatch):
    scripted = types.ModuleType("sounddevice")
    scripted.PortAudioError = type("PortAudioError", (Exception,), {})
    scripted.RawInputStream = Stream
    Stream.opened = []
    monkeypatch.setitem(sys.modules, "sounddevice", scripted)


def test_a_microphone_that_is_left_ends_without_an_error():
    with Microphone() as microphone:
        (stream,) = Stream.opened
        stream.record(tone(0.064))
    assert b"".join(microphone) == tone(0.064)
    assert stream.calls == ["start", "abort", "close"]
    assert stream.kind["samplerate"] == 16_000


def test_a_device_that_is_lost_ends_the_pieces_with_an_error_and_is_let_go():
    with Microphone() as microphone:
        (stream,) = Stream.opened
        stream.record(tone(0.064))
        stream.unplug()
        pieces = iter(microphone)
        assert next(pieces) + next(pieces) == tone(0.064)  # what was recorded before is not lost
        with pytest.raises(ClientError, match=r"unplugged.*open a new Microphone") as failed:
            next(pieces)
        assert failed.value.reason == "DEVICE_LOST"
        assert stream.calls == ["start", "abort", "close"]
    assert stream.calls == ["start", "abort", "close"]  # once


def test_a_device_that_is_silent_without_a_word_is_lost_too():
    with Microphone(patience=0.01) as microphone:
        (stream,) = Stream.opened
        with pytest.raises(ClientError) as failed:
            list(microphone)
        assert failed.value.reason == "DEVICE_LOST"
        assert stream.calls == ["start", "abort", "close"]


async def test_listening_ends_with_the_device_and_the_session_goes_on(tmp_path):
    async with hearing_and_speaking(tmp_path) as stage, AsyncSession(stage.target) as session:
        with Microphone() as microphone:
            (stream,) = Stream.opened
            stream.record(tone(0.6) + silence(1.2))
            heard, errors, answers = [], [], []
            async for turn in session.listen(microphone):
                try:
                    heard.append((await turn.transcript()).text)
                    stream.unplug()
                    answers.append((await turn.answer()).text)
                except ClientError as error:
                    errors.append(error.reason)
        assert (heard, errors, answers) == (["What is this?"], ["DEVICE_LOST"], ["45 crowns"])
        assert (await session.answer("Still?")).text == "45 crowns"


def test_a_program_that_waits_is_told_of_the_device_too(tmp_path):
    with serving_on_a_thread(tmp_path, kind=SpeechStage) as stage, Session(stage.target) as session:
        with Microphone() as microphone:
            Stream.opened[0].unplug()
            turn = session.say(microphone)
            with pytest.raises(ClientError) as failed:
                turn.transcript()
        assert failed.value.reason == "DEVICE_LOST"
        assert session.answer("Still?").text == "45 crowns"


async def test_a_conversation_says_why_it_ends(tmp_path):
    class Mute:
        volume, paused, seconds = 1.0, False, None

        def stop(self):
            return None

    failed = []
    async with hearing_and_speaking(tmp_path) as stage, AsyncSession(stage.target, output=ALOUD) as session:
        with Microphone() as microphone:
            Stream.opened[0].unplug()
            async with asyncio.timeout(60):
                await converse(session, microphone, 16_000, Mute(), lambda said: None, failed.append, b"", {})
    assert [error.reason for error in failed] == ["DEVICE_LOST"]
