"""Words that were heard, compared with those that were said, and noise of a known loudness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.voice.speech import RATE, Utterance, babble, sampled, white, with_noise, word_errors
from quizglass_server.web.speech.wav import read_wav

WORDS = st.lists(st.sampled_from(["how", "tall", "is", "it", "the"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("heard", "errors"),
    [
        ("How tall is it?", 0),
        ("how tall, is it", 0),
        ("How tall is that?", 1),
        ("How is it?", 1),
        ("So how tall is it?", 1),
        ("", 4),
    ],
)
def test_words_that_are_wrong_missing_or_added_are_errors(heard: str, errors: int) -> None:
    assert word_errors("How tall is it?", heard) == (errors, 4)


@given(WORDS, WORDS)
def test_errors_are_the_same_both_ways_and_none_of_equal_texts(said: str, heard: str) -> None:
    assert word_errors(said, heard)[0] == word_errors(heard, said)[0]
    assert word_errors(said, said)[0] == 0
    assert word_errors(said, heard)[0] <= max(len(said.split()), len(heard.split()))


def tone(hertz: float, seconds: float = 1.0) -> Utterance:
    samples = 0.3 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)
    return Utterance("a tone", "piper", 1.0, samples)


@pytest.mark.parametrize("decibels", [20, 10])
def test_noise_is_as_loud_as_was_asked_for(decibels: int) -> None:
    speech = tone(440)
    samples, _ = read_wav(with_noise(speech, white(2.0, 1), decibels), "file")
    mixed = np.frombuffer(samples, "<i2") / 32768
    noise = mixed - speech.samples
    assert 10 * np.log10(np.mean(speech.samples**2) / np.mean(noise**2)) == pytest.approx(decibels, abs=0.3)


def test_babble_is_of_all_who_speak() -> None:
    heard = np.abs(np.fft.rfft(babble([tone(300), tone(700)], 2.0)))
    assert {int(at) // 2 for at in np.argsort(heard)[-2:]} == {300, 700}


def test_a_sample_has_every_voice() -> None:
    every = [Utterance(str(at), voice, 1.0, np.zeros(1)) for voice in ("piper", "flite") for at in range(10)]
    assert {each.voice for each in sampled(every, 4)} == {"piper", "flite"}
