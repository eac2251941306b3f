"""Silero's detector holds its weights only while there is something to hear."""

import numpy as np

from quizglass_server.session.voice.endpoint import SileroDetector

WINDOW = SileroDetector.window_bytes // 2
NOISE = np.random.default_rng(59)


def windows(loudness: float, count: int) -> list[bytes]:
    return [(NOISE.normal(0, loudness, WINDOW) * 32767).astype("<i2").tobytes() for _ in range(count)]


def test_a_quiet_room_takes_no_weights() -> None:
    detector = SileroDetector()
    assert [detector.probability(each) for each in windows(0.0008, 300)] == [0.0] * 300
    assert not detector.loaded


def test_weights_are_loaded_by_the_first_sound_and_let_go_after_some_quiet() -> None:
    detector = SileroDetector()
    for each in windows(0.0008, 10) + windows(0.05, 1):
        detector.probability(each)
    assert detector.loaded
    for each in windows(0.0008, 60):  # a pause between two words
        detector.probability(each)
    assert detector.loaded
    for each in windows(0.0008, 60):
        detector.probability(each)
    assert not detector.loaded


def test_what_came_before_the_first_sound_has_been_heard() -> None:
    quiet, loud = windows(0.0008, 8), windows(0.05, 4)
    woken, awake = SileroDetector(), SileroDetector()
    awake.probability(loud[0])  # of 20 s ago: it has been forgotten by the time that the sound begins
    for each in windows(0.0008, 80) + quiet:
        awake.probability(each)
    for each in quiet:
        woken.probability(each)
    difference = [abs(woken.probability(each) - awake.probability(each)) for each in loud]
    assert max(difference) < 0.05
