"""A process that owns a knowledge directory and says what it has acknowledged.

Run as `python -m tests.support.knowledge_process write DIRECTORY FIRST_NUMBER`.

Adds entries e0, e1, ... with a text and a picture, some a call, replaces and deletes a few, and prints one line an
acknowledged call: "add N" (entries up to eN-1 are there) or "delete eN". Runs until it is killed or a write fails.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from pathlib import Path

from quizglass_server.errors import KnowledgeFailed
from tests.support.knowledge_fakes import GRAPHS_EARLY, open_base, pictured, query_text, stream


async def write(directory: Path, start: int) -> None:
    """Write for ever."""
    base = await open_base(directory, options=GRAPHS_EARLY)
    say("open")
    number = start
    while True:
        size = 1 + number % 7
        await base.add(stream(entry(n) for n in range(number, number + size)))
        number += size
        say(f"add {number}")
        if number % 5 == 0:
            await base.delete(f"e{number - 1}")
            say(f"delete e{number - 1}")


async def write_until_refused(directory: Path, limit: int) -> None:
    """Write under a cap on the size of files, which fails writes as a full disk does; then go on answering."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    base = await open_base(directory)
    number = 0
    try:
        while True:
            await base.add(stream([entry(number)]))
            number += 1
    except KnowledgeFailed as error:
        say(f"failed {error.message}")
    found = await base.search_texts(await query_text("e0: Text of e0."), 1)
    say(f"found {found[0].entry.id} of {base.count()}, acknowledged {number}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await base.add(stream([entry(number)]))
    say(f"add {number + 1}")
    await base.close()


async def open_unprivileged(directory: Path) -> None:
    """Open as a user who may write nowhere."""
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        await open_base(directory)
        say("opened")
    except KnowledgeFailed as error:
        say(f"failed {error.message}")


def entry(number: int):
    """The entry that every run gives this number."""
    return pictured(f"e{number}", text=f"Text of e{number}.", pictures=[b"%d" % number])


def say(line: str) -> None:
    """Tell the parent."""
    print(line, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "open-unprivileged":
        asyncio.run(open_unprivileged(Path(sys.argv[2])))
    elif sys.argv[1] == "write":
        asyncio.run(write(Path(sys.argv[2]), int(sys.argv[3])))
    else:
        asyncio.run(write_until_refused(Path(sys.argv[2]), int(sys.argv[3])))
