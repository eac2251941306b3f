"""The echo of the device's own sound is removed from its microphone, whatever delay and room lie between."""

import numpy as np
import pytest

from quizglass.session import Playing
from quizglass_server.domain.sound import Sound, SoundFormat
from quizglass_server.session.voice.echo import EchoCanceller, PlayedSound, is_echo
from tests.support.sessions.speech import babble

RATE = 16_000
PIECE = 640


def heard_after(played, delay_s, seed):
    """What a microphone hears of it, across a small room."""
    draw = np.random.default_rng(seed)
    room = np.zeros(220)
    room[[0, *draw.integers(1, 220, 5)]] = [0.5, *draw.normal(scale=0.15, size=5)]
    late = np.concatenate([np.zeros(round(delay_s * RATE)), np.convolve(played, room)])[: len(played)]
    return late + draw.normal(scale=30, size=len(late))


def left_of(sound, played, jitter_s=0.0):
    draw = np.random.default_rng(9)
    kept = PlayedSound()
    kept.add("a", Sound(played.astype("<i2").tobytes(), SoundFormat(), 0), keep=True)
    canceller = EchoCanceller(kept)
    pieces = [
        canceller.take(
            sound[at : at + PIECE].astype("<i2").tobytes(), Playing("a", at / RATE + draw.normal() * jitter_s)
        )
        for at in range(0, len(sound), PIECE)
    ]
    return np.frombuffer(b"".join(pieces), "<i2").astype(float)


def decibels(sound):
    return 10 * np.log10((sound**2).mean() + 1e-9)


@pytest.mark.parametrize("delay_s", [-0.05, 0.0, 0.12, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_the_answer_alone_leaves_nothing(delay_s, seed):
    played = babble(4, 2 * seed)
    heard = heard_after(played, max(0, delay_s), seed)
    if delay_s < 0:
        heard = np.concatenate([heard[round(-delay_s * RATE) :], np.zeros(round(-delay_s * RATE))])
    left = left_of(heard, played, jitter_s=0.01)
    assert decibels(left[RATE:-RATE]) < decibels(heard[RATE:-RATE]) - 25


@pytest.mark.parametrize("seed", range(5))
def test_the_wearer_who_speaks_over_it_is_left(seed):
    played = babble(4, 2 * seed)
    wearer = np.concatenate([np.zeros(2 * RATE), babble(2, 2 * seed + 1)]) * 0.5
    left = left_of(heard_after(played, 0.12, seed) + wearer, played)
    assert decibels(left[RATE : 2 * RATE]) < decibels(wearer[2 * RATE :]) - 20
    assert decibels(left[2 * RATE :]) == pytest.approx(decibels(wearer[2 * RATE :]), abs=3)


def test_what_was_not_played_is_left_as_it_is():
    wearer = babble(2, 3)
    assert np.array_equal(left_of(wearer, np.zeros(RATE)), wearer.astype("<i2"))


def test_sound_that_is_not_kept_is_counted():
    kept = PlayedSound()
    sound = Sound(np.full(RATE, 7, "<i2").tobytes(), SoundFormat(), 0)
    kept.add("a", sound, keep=False)
    kept.add("a", sound, keep=True)
    assert kept.between("a", 0, 2 * RATE).tolist() == [0.0] * RATE + [7.0] * RATE
    assert not kept.between("b", 0, 2 * RATE).any()


def test_no_more_is_kept_than_half_a_minute():
    kept = PlayedSound()
    for _ in range(100):
        kept.add("a", Sound(np.full(RATE, 7, "<i2").tobytes(), SoundFormat(), 0), keep=True)
    assert kept.between("a", 0, 100 * RATE).sum() == 30 * RATE * 7


@pytest.mark.parametrize(
    ("heard", "said", "own"),
    [
        ("forty-five crowns", "It costs 45 crowns.", True),
        ("it cost 45 crowns and", "It costs 45 crowns and a penny.", True),
        ("What was that?", "It costs 45 crowns.", False),
        ("And who made it?", "It was made by Velmora.", False),
        ("stop", "It costs 45 crowns.", False),
        ("", "It costs 45 crowns.", False),
        ("45 crowns", "", False),
    ],
)
def test_words_of_the_answer_are_told_from_the_wearers(heard, said, own):
    assert is_echo(heard, said) is own
