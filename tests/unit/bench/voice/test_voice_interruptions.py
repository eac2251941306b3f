"""How wearers who speak over an answer are counted: all of them, also those who were not heard."""

import numpy as np
import pytest

from bench.voice.interruptions import Spoken, rows
from bench.voice.rooms import LINK_S, Heard, Wearer

RATE = 16_000
LENGTH = 5 * RATE
WORK_S = 0.004


def spoken(voice: float | None, pauses: tuple[float, ...] = (), resumes: tuple[float, ...] = ()) -> Spoken:
    """A wearer who begins after a second, and what the server made of it, in seconds."""
    heard = Heard(
        [round(at * RATE) for at in pauses],
        [round(at * RATE) for at in resumes],
        None if voice is None else round(voice * RATE),
        [WORK_S],
        LENGTH,
    )
    return Spoken("Stop.", Wearer(np.ones(RATE // 4), RATE), heard, LENGTH)


def test_a_pause_after_the_wearer_began_is_the_silence() -> None:
    assert spoken(1.3, (1.1,)).silent_s == pytest.approx(0.1 + WORK_S + LINK_S)


def test_a_wearer_who_was_not_heard_waits_until_the_answer_is_over_though_it_paused_once() -> None:
    unheard = spoken(None, (1.1,), (1.5,))
    assert not unheard.was_heard
    assert unheard.silent_s == pytest.approx(4.0)


def test_an_answer_that_had_paused_by_itself_is_counted_to_the_word_and_apart() -> None:
    paused = spoken(1.4, (0.9,))
    assert paused.paused_before
    assert paused.silent_s == pytest.approx(0.4 + WORK_S + LINK_S)
    assert not spoken(1.4, (0.5, 1.2), (0.8,)).paused_before


def test_an_answer_that_its_own_sound_ended_heard_no_wearer_and_is_a_false_word() -> None:
    ended = spoken(0.8, (0.7,))
    assert not ended.was_heard
    assert ended.silent_s == pytest.approx(4.0)
    found = {row.name: row for row in rows([spoken(None).heard], [ended, spoken(1.2)])}
    assert found["answers whose own sound was taken for the wearer"].value == 1
    assert found["answers whose own sound was taken for the wearer"].unit == "of 3"


def test_no_wearer_is_left_out_of_the_figures() -> None:
    over = [*[spoken(1.2, (1.1,))] * 96, *[spoken(None)] * 3, spoken(1.3, (0.9,))]
    found = {row.name: row for row in rows([Heard(length=LENGTH, took_s=[WORK_S])], over)}
    p99 = found["from a voice to a quiet loudspeaker, p99 of 100"]
    assert p99.value == pytest.approx(4000.0)
    assert p99.ok is False
    assert found["wearers who were not heard"].value == 3
    assert found["answers that had paused by themselves when the wearer began"].value == 1
