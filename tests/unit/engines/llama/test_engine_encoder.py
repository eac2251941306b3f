"""Which picture the encoder's thread takes next; the test stands in for the engine's thread."""

from __future__ import annotations

import threading
from math import inf
from queue import SimpleQueue
from threading import Event

import numpy as np
import pytest

from quizglass_server.engines.llama.engine.encoder import Embedding, Encoding, PictureEncoder
from quizglass_server.engines.llama.engine.request_kinds import Prefill
from quizglass_server.engines.llama.engine.requests import LastGiven, Request
from quizglass_server.engines.llama.link.prompt import PicturePart, Urgency
from quizglass_server.engines.llama.native.vision import NO_SLOT
from quizglass_server.engines.llama.prefixes.prompt_units import PICTURE, PromptUnits

PATIENCE_S = 120


class Stage:
    """An encoder that is busy with one picture until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = Event()
        self.encoded: list[bytes] = []
        self.delivered: SimpleQueue[Encoding] = SimpleQueue()
        self.encoder = PictureEncoder(self._encode, self.delivered.put)
        begun = self._begun = Event()
        self.ask(b"busy", (0,))
        assert begun.wait(PATIENCE_S)

    def ask(self, rgb: bytes, order: tuple[float, ...]) -> Request:
        """A request that needs a picture."""
        units = PromptUnits(np.array([PICTURE], np.int32), (0,), (rgb,), NO_SLOT)
        part = PicturePart(rgb, 1, 1, rgb)
        request = Request(units, 1, Prefill(), Urgency(), LastGiven(), (part,), order)
        assert not self.encoder.provide(request, part)
        return request

    def receive(self) -> bytes:
        """Take in the next picture that the thread is done with; its name."""
        encoding = self.delivered.get(timeout=PATIENCE_S)
        self.encoder.receive(encoding)
        return encoding.picture.rgb

    def rest(self) -> None:
        """Wait until the thread has nothing more to do."""
        for thread in threading.enumerate():
            if thread.name == "encoder":
                thread.join(PATIENCE_S)
        assert self.delivered.empty()

    def _encode(self, rgb: bytes) -> Embedding:
        self._begun.set()
        assert self.go_on.wait(PATIENCE_S)
        self.encoded.append(rgb)
        return np.zeros((1, 1), np.float32)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_picture_read_ahead_is_encoded_as_early_as_the_turn_that_needs_it_too(stage: Stage) -> None:
    ahead = stage.ask(b"shared", (2, inf, 0))
    stage.ask(b"other", (1, inf, 1))
    turn = stage.ask(b"shared", (1, 5.0, 2))
    later = stage.ask(b"shared", (1, inf, 3))
    stage.go_on.set()
    assert [stage.receive() for _ in range(3)] == [b"busy", b"shared", b"other"]
    stage.rest()
    assert stage.encoded == [b"busy", b"shared", b"other"]
    assert all(each.embedding is not None and not each.awaits_picture for each in (ahead, turn, later))


def test_a_picture_that_nobody_waits_for_any_more_is_skipped_once(stage: Stage) -> None:
    for request in (stage.ask(b"shared", (2, inf, 0)), stage.ask(b"shared", (1, inf, 1))):
        stage.encoder.leave(request)
    stage.go_on.set()
    assert [stage.receive() for _ in range(2)] == [b"busy", b"shared"]
    stage.rest()
    assert stage.encoded == [b"busy"]


def test_a_picture_that_was_skipped_and_is_wanted_again_is_encoded(stage: Stage) -> None:
    stage.encoder.leave(stage.ask(b"shared", (2, inf, 0)))
    stage.go_on.set()
    stage.receive()
    skipped = stage.delivered.get(timeout=PATIENCE_S)
    again = [stage.ask(b"shared", (2, inf, 1)), stage.ask(b"shared", (1, inf, 2))]
    assert stage.encoder.receive(skipped) == []
    assert stage.receive() == b"shared"
    stage.rest()
    assert stage.encoded == [b"busy", b"shared"]
    assert all(each.embedding is not None for each in again)
