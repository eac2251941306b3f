"""What waits to be remembered when the server stops."""

import asyncio
import logging
from pathlib import Path

import numpy as np
import pytest

from quizglass_server.config.settings import MemoryOptions
from quizglass_server.domain.sightings import Seen, Sighting
from quizglass_server.domain.turns import Picture
from quizglass_server.knowledge.memory import SightingMemory
from quizglass_server.knowledge.memory.queue import SightingQueue
from quizglass_server.knowledge.memory.store import SightingStore


async def nothing() -> list:
    return []


SEEN = Seen(
    Sighting("a" * 32, 1, b"h" * 32, "", "", "", ()), Picture(b"p" * 32, np.zeros((4, 3, 3), np.uint8)), nothing
)


async def test_who_waits_for_a_sighting_that_is_lost_waits_no_longer(caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    async def write(_: Seen) -> None:
        begun.set()
        await asyncio.Event().wait()  # the disk never answers

    queue = SightingQueue(write, busy=lambda: False)
    queue.put(SEEN)
    await begun.wait()
    waiting = asyncio.create_task(queue.settle())
    await asyncio.sleep(0)
    with caplog.at_level(logging.WARNING):
        await queue.close(patience_s=0.0)
    await waiting
    assert (queue.remembered, queue.waiting) == (0, 0)
    assert [(each.message, each.waiting) for each in caplog.records] == [("sightings are lost: the server stops", 1)]  # type: ignore[attr-defined]


async def test_a_memory_that_is_not_to_wait_is_closed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def keep(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()  # the disk never answers

    monkeypatch.setattr(SightingStore, "keep", keep)
    memory = await SightingMemory.open(tmp_path, MemoryOptions(), text_encoder=None, image_encoder=None)
    memory.remember(SEEN)
    await begun.wait()
    closing = asyncio.create_task(memory.close())
    await asyncio.sleep(0)
    closing.cancel()  # as a second signal does
    await asyncio.wait({closing})
    assert closing.cancelled()
    again = await SightingMemory.open(tmp_path, MemoryOptions(), text_encoder=None, image_encoder=None)
    await again.close()


async def test_sightings_that_are_too_many_are_counted_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async def write(_: Seen) -> None:
        await asyncio.Event().wait()

    queue = SightingQueue(write, busy=lambda: False)
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            queue.put(SEEN)
    assert queue.dropped == 36
    assert [each.message for each in caplog.records] == ["a sighting is not remembered: too many wait"]
    await queue.close(patience_s=0.0)


async def test_what_is_put_is_written_in_order_before_the_end() -> None:
    written: list[Seen] = []

    async def write(seen: Seen) -> None:
        written.append(seen)

    queue = SightingQueue(write, busy=lambda: False)
    for _ in range(3):
        queue.put(SEEN)
    await queue.close(patience_s=60.0)
    await queue.settle()
    assert written == [SEEN] * 3
    assert queue.remembered == 3
