"""When a device pauses an answer because the wearer may be speaking, and what is taken for a word of the wearer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.session import Playing
from quizglass_server.domain.sound import Sound, SoundFormat
from quizglass_server.session.voice.barge_in import NOTHING, BargeIn, Beside
from quizglass_server.session.voice.echo import EchoCanceller, PlayedSound
from tests.support.sessions.speech import babble

RATE, PIECE = 16_000, 512
PLAYED = Beside(playing=True, echo=True, left=0.5)
LOUD = Beside(playing=True, echo=True, left=1.0)
FADING = Beside(playing=False, echo=True, left=0.5)


def heard(barge_in, *windows):
    """Whether one of them is a word."""
    return any(barge_in.is_word(probability >= 0.5, probability, beside) for probability, beside in windows)


def test_two_windows_of_voice_pause_an_answer_and_are_no_word():
    barge_in = BargeIn(pauses=True)
    assert not heard(barge_in, (0.9, PLAYED))
    assert not barge_in.pausing
    assert not heard(barge_in, (0.9, PLAYED))
    assert barge_in.pausing


def test_a_soft_beginning_that_is_no_echo_pauses_it_too():
    barge_in = BargeIn(pauses=True)
    assert not heard(barge_in, *[(0.3, PLAYED)] * 10)
    assert not barge_in.pausing
    assert not heard(barge_in, *[(0.3, LOUD)] * 2)
    assert barge_in.pausing


def test_a_voice_in_the_pause_is_the_wearers():
    barge_in = BargeIn(pauses=True)
    assert not heard(barge_in, *[(0.9, PLAYED)] * 2, *[(0.9, FADING)] * 8, *[(0.9, NOTHING)] * 2)
    assert heard(barge_in, (0.9, NOTHING))


def test_a_word_that_is_over_before_the_pause_counts_where_the_echo_does_not_explain_it():
    assert heard(BargeIn(pauses=True), *[(0.9, LOUD)] * 7)
    assert not heard(BargeIn(pauses=True), *[(0.9, PLAYED)] * 20)


def test_a_word_that_its_echo_covers_in_parts_counts_by_its_windows_in_the_pause():
    covered = [(0.9, LOUD)] * 3, [(0.9, PLAYED)] * 2, [(0.9, LOUD)] * 2
    barge_in = BargeIn(pauses=True)
    assert not heard(barge_in, *covered[0], *covered[1], covered[2][0])
    assert heard(barge_in, covered[2][1])
    assert not heard(BargeIn(pauses=True), *covered[0], *[(0.0, FADING)] * 20, *[(0.0, NOTHING)] * 10, *covered[0])


def test_a_hiss_that_is_no_echo_pauses_an_answer():
    barge_in = BargeIn(pauses=True)
    assert not heard(barge_in, *[(0.05, LOUD)] * 10)
    assert not barge_in.pausing
    assert not heard(barge_in, *[(0.15, LOUD)] * 2)
    assert barge_in.pausing


def test_an_answer_is_played_on_after_a_silence_and_paused_less_readily_then():
    barge_in = BargeIn(pauses=True)
    for doubt in (2, 3, 4, 5, 5):
        heard(barge_in, *[(0.9, PLAYED)] * (doubt - 1), (0.0, PLAYED))
        assert not barge_in.pausing
        heard(barge_in, *[(0.9, PLAYED)] * doubt)
        assert barge_in.pausing
        assert not heard(barge_in, *[(0.0, FADING)] * 20, *[(0.0, NOTHING)] * 9)
        assert barge_in.pausing
        assert not heard(barge_in, (0.0, NOTHING))
        assert not barge_in.pausing


def test_a_device_that_does_not_pause_in_time_is_not_waited_for():
    barge_in = BargeIn(pauses=True)
    assert not heard(barge_in, *[(0.9, PLAYED)] * 2, *[(0.1, PLAYED)] * 39)
    assert barge_in.pausing
    assert not heard(barge_in, (0.1, PLAYED))
    assert not barge_in.pausing


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([NOTHING, PLAYED, LOUD, FADING])), max_size=60))
def test_devices_that_do_not_pause_are_never_asked_to(windows):
    barge_in = BargeIn()
    heard(barge_in, *windows)
    assert not barge_in.pausing


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.25])
def test_an_answer_that_is_paused_and_played_on_leaves_nothing_of_its_echo(delay_s):
    played = babble(5, 4)
    kept = PlayedSound()
    kept.add("a", Sound(played.astype("<i2").tobytes(), SoundFormat(), 0), keep=True)
    canceller, draw = EchoCanceller(kept), np.random.default_rng(4)
    late = round(delay_s * RATE)
    coming, at, left = np.zeros(8 * RATE), 0, []
    for number in range(180):
        paused = 60 <= number < 100
        if not paused:
            coming[PIECE * number + late :][:PIECE] += 0.4 * played[at : at + PIECE]
        sound = coming[PIECE * number :][:PIECE] + draw.normal(size=PIECE) * 20
        rest = canceller.take(sound.astype("<i2").tobytes(), Playing("a", at / RATE, paused))
        left.append(np.sqrt((np.frombuffer(rest, "<i2").astype(float) ** 2).mean()))
        assert canceller.beside.playing is not paused
        assert paused or canceller.beside.echo
        at += 0 if paused else PIECE
    assert max(left) < 100  # the noise has 20, the echo 1,500
    assert not any(each > 30 for each in left[85:100])
