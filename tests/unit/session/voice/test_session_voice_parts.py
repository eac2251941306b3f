"""What is heard as a command, where a voice begins and ends, and how much sound is taken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.session import Command, SpeechStart
from quizglass_server.errors import InvalidInput, Overloaded
from quizglass_server.session.voice.commands import command, heard
from quizglass_server.session.voice.endpoint import Endpointer
from quizglass_server.session.voice.intake import LONGEST_PIECE_S, intake
from quizglass_server.session.voice.pool import SpeechPool


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("Stop.", Command.STOP),
        ("stop it, please", Command.STOP),
        ("Okay, stop talking!", Command.STOP),
        ("That's enough.", Command.STOP),
        ("Never mind.", Command.STOP),
        ("Louder", Command.LOUDER),
        ("Can you speak up", Command.NONE),
        ("Speak up!", Command.LOUDER),
        ("I can't hear you.", Command.LOUDER),
        ("Turn the volume down.", Command.QUIETER),
        ("A bit quieter, please.", Command.QUIETER),
        ("What does the stop sign say?", Command.NONE),
        ("Where does bus 12 stop?", Command.NONE),
        ("Which one is louder?", Command.NONE),
        ("", Command.NONE),
    ],
)
def test_only_commands_are_commands(words, wanted):
    assert command(words) is wanted


@given(st.text(max_size=40))
def test_no_words_make_commands_fail(words):
    assert command(heard(words)) in Command


@pytest.mark.parametrize(
    ("written", "words"),
    [("[MUSIC] What is it? (laughs)", "What is it?"), (" What\n is it? ", "What is it?"), ("...", ""), ("<noise>", "")],
)
def test_other_sounds_are_left_out_of_what_was_heard(written, words):
    assert heard(written) == words


class Scripted:
    """Gives its probabilities, one a window."""

    window_bytes = 4

    def __init__(self, probabilities):
        self.left = list(probabilities)

    def probability(self, window):
        assert len(window) == self.window_bytes
        return self.left.pop(0)


def endpoint(probabilities, **options):
    made = Endpointer(Scripted(probabilities), **options)
    made.take(bytes(4 * len(probabilities)))
    return made


def test_a_click_is_no_word():
    assert not endpoint([0.9, 0.9, 0.1] * 20).spoke
    assert endpoint([0.1] * 20 + [0.9] * 3).spoke


def test_a_pause_within_a_sentence_does_not_end_it():
    window_s = 2 / 16_000  # of two samples
    over_s = 10 * window_s
    assert not endpoint([0.9] * 3 + [0.1] * 9, over_s=over_s).over
    assert not endpoint([0.9] * 3 + [0.1] * 9 + [0.9], over_s=over_s).over
    assert endpoint([0.9] * 3 + [0.1] * 10, over_s=over_s).over
    assert not endpoint([0.1] * 30, over_s=over_s).over


def test_between_voice_and_silence_it_stays_what_it_was():
    assert not endpoint([0.4] * 30).spoke
    assert endpoint([0.9, 0.4, 0.4]).spoke


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_windows_are_the_same_however_sound_is_cut(pieces):
    whole = b"".join(pieces)
    seen = []

    class Noting(Scripted):
        def probability(self, window):
            seen.append(window)
            return 0.0

    made = Endpointer(Noting([]))
    for piece in pieces:
        made.take(piece)
    assert b"".join(seen) == whole[: len(whole) // 4 * 4]


@given(st.binary(max_size=400), st.sampled_from([1, 2]))
def test_sound_at_the_right_rate_is_left_as_it_is(data, channels):
    taken = intake(SpeechStart("a", channels=channels))
    if len(data) % (2 * channels):
        with pytest.raises(InvalidInput):
            taken.take(data)
    else:
        samples = np.frombuffer(data, "<i2").reshape(-1, channels).mean(axis=1).round().astype(np.int16)
        assert taken.take(data) + taken.end() == samples.tobytes()


def test_an_address_sends_no_more_than_its_wearers_can_say():
    now = [0.0]
    pool = SpeechPool(4, 10.0, now=lambda: now[0])
    for _ in range(40):
        pool.take("a", 1.0)
    with pytest.raises(Overloaded):
        pool.take("a", 1.0)
    pool.take("b", 1.0)
    now[0] = 0.5
    for _ in range(4):
        pool.take("a", 1.0)
    with pytest.raises(Overloaded):
        pool.take("a", 1.0)
    assert pool.wait_s("b") == 0.0
    now[0] += pool.wait_s("a")
    pool.take("a", LONGEST_PIECE_S)
    assert pool.wait_s("a") == pytest.approx(LONGEST_PIECE_S / 8)
