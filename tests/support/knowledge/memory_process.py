"""A process that owns a memory and says what it did: `python -m tests.support.knowledge.memory_process TASK DIRECTORY`.

"forget" remembers and forgets for ever: "kept N" and "forgot N" are acknowledged. "fill" remembers under a cap on the
size of files, which fails writes as a full disk does, and then once more without it.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from pathlib import Path

import numpy as np

from quizglass_server.config.settings import MemoryOptions
from quizglass_server.domain.sightings import Seen, Sighting, SightingFilter, SightingQuery
from quizglass_server.domain.turns import Picture
from quizglass_server.knowledge.memory import SightingMemory
from tests.support.knowledge.fakes import FakeTextEncoder
from tests.support.knowledge.memory_stage import Eyes

_CAP = 300_000


async def forget(memory: SightingMemory) -> None:
    """Remember each, forget every second."""
    number = 0
    while True:
        memory.remember(sighting(number))
        await memory.settle()
        say(f"kept {number}")
        if number % 2:
            await memory.forget(SightingFilter(session=f"s{number}"))
            say(f"forgot {number}")
        number += 1


async def fill(memory: SightingMemory) -> None:
    """Remember until the disk is full, look, and go on when it is not."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_CAP, resource.RLIM_INFINITY))
    number = 0
    while (stats := await memory.stats()).failed < 3:
        memory.remember(sighting(number))
        await memory.settle()
        number += 1
    found = await memory.by_picture(await Eyes().embed([sighting(0).picture]), SightingQuery(100, least_score=-1))
    say(f"remembered {stats.remembered} failed {stats.failed} found {len(found)}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    memory.remember(sighting(number))
    await memory.settle()
    say(f"after {(await memory.stats()).sightings}")


def sighting(number: int) -> Seen:
    """The sighting that every run gives this number."""
    pixels = np.random.default_rng(number).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    picture = Picture(number.to_bytes(32, "big"), pixels)

    async def embed() -> list[np.ndarray]:
        return await Eyes().embed([picture])

    return Seen(Sighting(str(number), int(time.time()), picture.sha256, f"s{number}", "What?"), picture, embed)


def say(line: str) -> None:
    """Tell the parent."""
    print(line, flush=True)


async def _main(task: str, directory: Path) -> None:
    memory = await SightingMemory.open(directory, MemoryOptions(), text_encoder=FakeTextEncoder(), image_encoder=Eyes())
    await {"forget": forget, "fill": fill}[task](memory)
    await memory.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
