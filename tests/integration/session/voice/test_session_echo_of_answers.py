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


PAUSING = SpeechStart("mic", ends_by_silence=True, pauses=True)


def states(said):
    return [each.state for _, each in said.heard if isinstance(each, SpeechStatus)]


async def test_a_device_that_pauses_is_asked_to_before_a_word_is_heard(stage, answering, aloud):
    await aloud.say(PAUSING, question("a"))
    await aloud.until(AnswerSpoken)
    wearer = np.frombuffer(tone(1.25), "<i2")
    echo = np.concatenate([np.zeros(1600), ANSWER[:60_000] * ECHO])
    echo[40_000 : 40_000 + len(wearer)] += wearer
    pieces = heard("mic", echo)
    before = next(at for at in range(len(pieces)) if at * PIECE / 2 >= 41_600)
    await aloud.say(*pieces[:before])
    await aloud.until(SpeechStatus, lambda each: each.state is SpeechState.PAUSE)
    assert SpeechState.VOICE not in states(aloud)
    at = before * PIECE / 32_000
    alone = [SpeechAudio("mic", before + number, tone(0.04), Playing("a", at, paused=True)) for number in range(20)]
    await aloud.say(*alone, *[SpeechAudio("mic", before + 20 + number, silence(0.04)) for number in range(25)])
    final = await aloud.until(SpeechTranscript, lambda each: each.final)
    assert final.text == "What is this?"
    assert states(aloud) == [SpeechState.LISTENING, SpeechState.PAUSE, SpeechState.VOICE, SpeechState.ENDED]


async def test_a_noise_pauses_an_answer_and_ends_nothing(stage, answering, aloud):
    await aloud.say(PAUSING, question("a"))
    await aloud.until(AnswerSpoken)
    echo = np.concatenate([np.zeros(1600), ANSWER[:60_000] * ECHO])
    echo[40_000:42_000] += np.frombuffer(tone(0.125), "<i2")
    pieces = heard("mic", echo)
    before = next(at for at in range(len(pieces)) if at * PIECE / 2 >= 42_000)
    await aloud.say(*pieces[:before])
    await aloud.until(SpeechStatus, lambda each: each.state is SpeechState.PAUSE)
    at = before * PIECE / 32_000
    await aloud.say(
        *[SpeechAudio("mic", before + number, silence(0.04), Playing("a", at, True)) for number in range(30)]
    )
    await aloud.until(SpeechStatus, lambda each: each.state is SpeechState.RESUME)
    assert states(aloud) == [SpeechState.LISTENING, SpeechState.PAUSE, SpeechState.RESUME]
    assert stage.hearing.heard == []
