"""An open microphone that hears the answer, over a real socket: that is not taken for the wearer, who is heard."""

import numpy as np
import pytest

from quizglass.session import (
    AnswerSpoken,
    Ping,
    Playing,
    Pong,
    SpeechAudio,
    SpeechStart,
    SpeechState,
    SpeechStatus,
    SpeechTranscript,
)
from tests.support.sessions.session_links import question, words
from tests.support.sessions.speech import babble, silence, tone

ECHO = 0.4
PIECE = 1280
ANSWER = babble(6.0, 2)


@pytest.fixture
def answering(stage):
    """Answers are long, and sound as speech does."""
    stage.assistant.script = words(20)
    stage.voice.rate_hz = 16_000
    said = 0

    def sound(seconds):
        nonlocal said
        begin, said = said, said + round(seconds * 16_000)
        return ANSWER[begin:said].astype("<i2").tobytes()

    stage.voice.sound = sound


def heard(id, sound, first=0):
    data = sound.astype("<i2").tobytes()
    return [
        SpeechAudio(id, first + at // PIECE, data[at : at + PIECE], Playing("a", at / 32_000))
        for at in range(0, len(data) // PIECE * PIECE, PIECE)
    ]


async def test_the_answers_own_sound_is_no_question_and_ends_nothing(stage, answering, aloud):
    await aloud.say(SpeechStart("mic", ends_by_silence=True), question("a"))
    end = await aloud.until(AnswerSpoken)
    assert end.whole
    echo = np.concatenate([np.zeros(1600), ANSWER[:80_000] * ECHO])
    await aloud.say(*heard("mic", echo), Ping(b"all"))
    await aloud.until(Pong)
    await aloud.say(question("b"))
    await aloud.done("b")
    states = [each.state for _, each in aloud.heard if isinstance(each, SpeechStatus)]
    assert states == [SpeechState.LISTENING]
    assert stage.hearing.heard == []


async def test_the_wearer_who_speaks_over_it_is_heard(stage, answering, aloud):
    await aloud.say(SpeechStart("mic", ends_by_silence=True), question("a"))
    await aloud.until(AnswerSpoken)
    echo = np.concatenate([np.zeros(1600), ANSWER[:80_000] * ECHO])
    echo[40_000:60_000] += np.frombuffer(tone(1.25), "<i2")
    await aloud.say(*heard("mic", echo))
    status = await aloud.until(SpeechStatus, lambda each: each.state is SpeechState.VOICE)
    assert status.next_seq * PIECE / 32_000 > 40_000 / 16_000
    assert (await aloud.until(SpeechTranscript, lambda each: each.final)).text == "What is this?"


async def test_words_of_the_answer_that_are_heard_are_no_question(stage, answering, aloud):
    stage.hearing.texts = ["w3 w4 w5"]
    await aloud.say(SpeechStart("mic", ends_by_silence=True), question("a"))
    await aloud.until(AnswerSpoken)
    loud = [SpeechAudio("mic", at, tone(0.04), Playing("other", 1.0)) for at in range(25)]
    await aloud.say(*loud, *[SpeechAudio("mic", 25 + at, silence(0.04)) for at in range(25)])
    assert (await aloud.until(SpeechTranscript, lambda each: each.final)).text == "w3 w4 w5"
    await aloud.say(SpeechStart("again", ends_by_silence=True))
    loud = [SpeechAudio("again", at, tone(0.04), Playing("a", 100.0 + at / 25)) for at in range(25)]
    await aloud.say(*loud, *[SpeechAudio("again", 25 + at, silence(0.04)) for at in range(25)])
    final = await aloud.until(SpeechTranscript, lambda each: each.final and each.ask_id == "again")
    assert final.text == ""
