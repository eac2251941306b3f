"""What waits to be remembered when the server stops."""

import asyncio

import numpy as np

from quizglass_server.domain.sightings import Seen, Sighting
from quizglass_server.domain.turns import Picture
from quizglass_server.memory.queue import SightingQueue


async def nothing() -> list:
    return []


SEEN = Seen(
    Sighting("a" * 32, 1, b"h" * 32, "", "", "", ()), Picture(b"p" * 32, np.zeros((4, 3, 3), np.uint8)), nothing
)


async def test_who_waits_for_a_sighting_that_is_lost_waits_no_longer() -> None:
    begun = asyncio.Event()

    async def write(_: Seen) -> None:
        begun.set()
        await asyncio.Event().wait()  # the disk never answers

    queue = SightingQueue(write, busy=lambda: False)
    queue.put(SEEN)
    await begun.wait()
    waiting = asyncio.create_task(queue.settle())
    await asyncio.sleep(0)
    await queue.close(patience_s=0.0)
    await waiting
    assert (queue.remembered, queue.waiting) == (0, 0)


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
