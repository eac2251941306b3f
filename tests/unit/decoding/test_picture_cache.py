"""Pictures are decoded once, also for those who ask while that is being done."""

import asyncio
import hashlib

import numpy as np
import pytest

from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import BudgetExceeded, InvalidPicture, Overloaded
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.scheduling.memory import WorkMemory
from tests.support.gate import Gate

ENCODED = b"a picture"
SHA256 = hashlib.sha256(ENCODED).digest()


class Decoder:
    """Decodes when its gate is open, and counts."""

    def __init__(self) -> None:
        self.gates: list[Gate] = []
        self.cancelled = 0
        self.failures: list[Exception] = []

    def is_slow(self, encoded: bytes, field: str) -> bool:
        return False

    async def decode(self, encoded: bytes, field: str, *, sha256: bytes) -> Picture:
        gate = Gate()
        self.gates.append(gate)
        try:
            await gate()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failures:
            raise self.failures.pop(0)
        return Picture(sha256, np.zeros((2, 2, 3), np.uint8))


@pytest.fixture
def decoder():
    return Decoder()


@pytest.fixture
def pictures(decoder):
    return PictureCache(decoder, WorkMemory(1 << 20))


async def begun(work):
    """A task of the work, which has come to where it waits."""
    task = asyncio.create_task(work)
    await turns_of_the_loop()
    return task


async def turns_of_the_loop():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_asks_while_a_picture_is_decoded_gets_the_same(pictures, decoder):
    first = await begun(pictures.decode(ENCODED, "one"))
    second = await begun(pictures.decode(ENCODED, "two", sha256=SHA256))
    decoder.gates[0].open.set()
    assert await first is await second
    assert await pictures.decode(ENCODED, "three") is await first
    assert len(decoder.gates) == 1


async def test_decoding_goes_on_when_who_began_it_leaves(pictures, decoder):
    first = await begun(pictures.decode(ENCODED, "one"))
    second = await begun(pictures.decode(ENCODED, "two"))
    first.cancel()
    await asyncio.wait({first})
    decoder.gates[0].open.set()
    assert (await second).sha256 == SHA256
    assert not decoder.cancelled


async def test_decoding_ends_without_waiters_and_begins_anew(pictures, decoder):
    first = await begun(pictures.decode(ENCODED, "one"))
    first.cancel()
    await asyncio.wait({first})
    second = await begun(pictures.decode(ENCODED, "two"))
    assert decoder.cancelled == 1
    decoder.gates[1].open.set()
    assert (await second).sha256 == SHA256


async def test_a_picture_that_is_none_is_told_to_each_under_its_own_field(pictures, decoder):
    decoder.failures = [InvalidPicture("one", "is no picture")]
    first = await begun(pictures.decode(ENCODED, "one"))
    second = await begun(pictures.decode(ENCODED, "two"))
    decoder.gates[0].open.set()
    for task, field in ((first, "one"), (second, "two")):
        with pytest.raises(InvalidPicture) as caught:
            await task
        assert (caught.value.field, caught.value.description) == (field, "is no picture")
    assert len(decoder.gates) == 1


async def test_what_failed_for_another_reason_is_tried_again_by_who_still_waits(pictures, decoder):
    decoder.failures = [Overloaded("there is no memory", 1.0)]
    first = await begun(pictures.decode(ENCODED, "one"))
    second = await begun(pictures.decode(ENCODED, "two"))
    decoder.gates[0].open.set()
    with pytest.raises(Overloaded):
        await first
    await turns_of_the_loop()
    decoder.gates[1].open.set()
    assert (await second).sha256 == SHA256


async def test_no_request_waits_beyond_its_deadline(pictures, decoder):
    first = await begun(pictures.decode(ENCODED, "one"))
    with due_within(0.001), pytest.raises(BudgetExceeded):
        await pictures.decode(ENCODED, "two")
    decoder.gates[0].open.set()
    assert (await first).sha256 == SHA256


async def test_a_picture_that_is_forgotten_while_it_is_decoded_is_not_kept(pictures, decoder):
    first = await begun(pictures.decode(ENCODED, "one"))
    pictures.forget(SHA256)
    decoder.gates[0].open.set()
    await first
    assert pictures.held(SHA256) is None


async def test_a_picture_may_be_forgotten_before_its_decoding_begins(pictures, decoder):
    first = asyncio.create_task(pictures.decode(ENCODED, "one"))
    await asyncio.sleep(0)  # it has asked for the picture, and nothing has been decoded yet
    assert not decoder.gates
    pictures.forget(SHA256)
    await turns_of_the_loop()
    decoder.gates[0].open.set()
    assert (await first).sha256 == SHA256
    assert pictures.held(SHA256) is None
