"""A process that owns a knowledge directory and says what it has acknowledged.

Run as `python -m tests.support.knowledge.process write DIRECTORY FIRST_NUMBER`.

Adds entries e0, e1, ... with a text and a picture, some a call, replaces and deletes a few, and prints one line an
acknowledged call: "add N" (entries up to eN-1 are there) or "delete eN". Runs until it is killed or a write fails.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.repair.salvage import salvage
from quizglass_server.knowledge.survey import survey
from tests.support.knowledge.fakes import GRAPHS_EARLY, open_base, pictured, query_text, stream


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
    """Look at a store, and open it, as a user who may write nowhere."""
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        survey(directory)
    except KnowledgeFailed as error:
        say(f"failed {error.message}")
    try:
        await open_base(directory)
        say("opened")
    except KnowledgeFailed as error:
        say(f"failed {error.message}")


async def fill_the_disk(task: str, directory: Path) -> None:
    """Use a directory whose disk is full: a new store, an existing one, or the repair of one."""
    store = directory / "store"
    if task != "new":
        base = await open_base(store)
        await base.add(stream([entry(0)]))
        await base.close()
    room = directory / "room"
    with room.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))
    try:
        if task == "repair":
            salvage(store)
        else:
            await open_base(store)
        say("opened")
    except KnowledgeFailed as error:
        say(f"failed {error.message}")
    say(f"left {[path.name for path in store.glob('*') if path.name.startswith(('salvage', 'before', f'{FILE}.'))]}")
    room.unlink()
    base = await open_base(store)
    await base.add(stream([entry(0)]))
    say(f"then {base.count()}")
    await base.close()


async def read_only(directory: Path) -> None:
    """Use a store as a user who may not change its file."""
    if os.geteuid() == 0:
        os.setuid(65534)
    logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout, level=logging.WARNING)
    base = await open_base(directory)
    say(f"writable {base.writable}")
    say(f"found {(await base.search_texts(await query_text('a: Text of a.'), 1))[0].entry.id}")
    for write in (base.add(stream([entry(0)])), base.delete("a"), base.compact()):
        try:
            await write
        except KnowledgeFailed as error:
            say(f"failed {error.message}")
    await base.close()


def entry(number: int):
    """The entry that every run gives this number."""
    return pictured(f"e{number}", text=f"Text of e{number}.", pictures=[b"%d" % number])


def say(line: str) -> None:
    """Tell the parent."""
    print(line, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "open-unprivileged":
        asyncio.run(open_unprivileged(Path(sys.argv[2])))
    elif sys.argv[1] == "full":
        asyncio.run(fill_the_disk(sys.argv[2], Path(sys.argv[3])))
    elif sys.argv[1] == "read-only":
        asyncio.run(read_only(Path(sys.argv[2])))
    elif sys.argv[1] == "write":
        asyncio.run(write(Path(sys.argv[2]), int(sys.argv[3])))
    else:
        asyncio.run(write_until_refused(Path(sys.argv[2]), int(sys.argv[3])))
