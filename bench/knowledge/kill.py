"""Kills a writing server with `kill -9`, again and again, and looks for acknowledged rows that are gone.

    python -m bench.knowledge.kill --kills 1000

Several streams add, replace and delete entries at once, a fifth compacts, and all say what was acknowledged. The
process is killed at a random moment after the first acknowledgement, and one time in five at a random moment of its
start. Another process then opens the store and compares. Processes are forked from one that has only imported, so that
a round takes little more than the work itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.knowledge.corpus import entries, entry, opened, query_picture, query_text

_STREAMS = 4
_ROUNDS_A_STORE = 20
_LONGEST_S = 0.15  # from the first acknowledgement, or from the fork
_IN_START = 0.2  # share of the kills
_PATIENCE_S = 60.0


def main() -> None:
    """Kill, compare, print; exit with 1 when an acknowledged row was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where to put the stores (default: the system's temporary folder)")
    args = parser.parse_args()
    dice = random.Random(args.seed)
    acknowledged, loaded, lost = 0, 0, list[str]()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        known = Known()
        for number in range(args.kills):
            if number % _ROUNDS_A_STORE == 0:
                shutil.rmtree(Path(folder) / "store", ignore_errors=True)
                known = Known()
            calls = one_kill(Path(folder) / "store", known, dice)
            acknowledged, loaded = acknowledged + calls, loaded + (calls > 0)
            lost += compare(Path(folder) / "store", known)
            print(f"\r{number + 1} of {args.kills}", end="", file=sys.stderr, flush=True)
    counts = {"kills": args.kills, "under load": loaded, "acknowledged": acknowledged}
    print(json.dumps(counts | {"lost": len(lost), "first": lost[:5]}))
    sys.exit(1 if lost else 0)


class Known:
    """What has been acknowledged of one store."""

    def __init__(self) -> None:
        self.added: set[int] = set()
        self.deleted: set[int] = set()
        self.doubtful: set[int] = set()
        """Asked to be deleted when the process died."""

    @property
    def next(self) -> int:
        """A number that no round has used."""
        return max([0, *self.added, *self.deleted, *self.doubtful]) + 1000


def one_kill(directory: Path, known: Known, dice: random.Random) -> int:
    """Start a writer, kill it; how many calls it had acknowledged."""
    reading, writing = os.pipe()
    child = _forked(lambda: asyncio.run(_write(directory, known.next, writing)))
    os.close(writing)
    if dice.random() >= _IN_START:
        select.select([reading], [], [], _PATIENCE_S)
    time.sleep(dice.uniform(0, _LONGEST_S))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        lines = [line.split() for line in pipe.read().splitlines(keepends=True) if line.endswith(b"\n")]
    for word, *numbers in lines:
        at = {int(number) for number in numbers}
        if word == b"added":
            known.added |= at
        elif word == b"deleting":
            known.doubtful |= at
        else:
            known.deleted |= at
    return sum(word != b"deleting" for word, *_ in lines)


def compare(directory: Path, known: Known) -> list[str]:
    """What was acknowledged and is not so, in words."""
    reading, writing = os.pipe()
    child = _forked(lambda: asyncio.run(_compare(directory, known, writing)))
    os.close(writing)
    with os.fdopen(reading, "r") as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    return lines if lines or status == 0 else [f"the store did not open (status {status})"]


async def _write(directory: Path, start: int, pipe: int) -> None:
    base = await opened(directory)

    async def add(stream: int) -> None:
        dice = random.Random(start + stream)
        number = start + stream
        while True:
            count = dice.choice((1, 1, 2, 5))
            numbers = [number + _STREAMS * step for step in range(count)]
            await base.add(entries(numbers))
            _say(pipe, "added", numbers)
            if dice.random() < 0.2:
                _say(pipe, "deleting", numbers[:1])
                await base.delete(entry(numbers[0]).entry.id)
                _say(pipe, "deleted", numbers[:1])
            if dice.random() < 0.2:
                await base.add(entries(numbers[1:]))  # replaced by the same
            number += _STREAMS * count

    async def compact() -> None:
        while True:
            await base.compact()
            await asyncio.sleep(_LONGEST_S / 4)

    await asyncio.gather(compact(), *(add(stream) for stream in range(_STREAMS)))


async def _compare(directory: Path, known: Known, pipe: int) -> None:
    base = await opened(directory)
    ids = {found.id for found in await base.list("", 1_000_000)}
    wanted = {f"e{number}" for number in known.added - known.deleted - known.doubtful}
    lost = [f"{name} was acknowledged and is gone" for name in sorted(wanted - ids)]
    lost += [f"e{number} was deleted and is back" for number in known.deleted if f"e{number}" in ids]
    for number in sorted(known.added - known.deleted - known.doubtful)[-20:]:
        given = entry(number)
        texts = await base.search_texts(query_text(f"{given.entry.title}: {given.entry.caption}"), 1)
        pictures = await base.search_crops([query_picture(given.pictures[0])], 1)
        if [hit.entry.id for hit in texts] != [given.entry.id] or [h.entry.id for h in pictures] != [given.entry.id]:
            lost.append(f"{given.entry.id} is not found")
    if base.count() != len(ids):
        lost.append(f"{base.count()} entries are counted, {len(ids)} listed")
    os.write(pipe, "".join(f"{line}\n" for line in lost[:20]).encode())
    await base.close()


def _say(pipe: int, word: str, numbers: list[int]) -> None:
    os.write(pipe, " ".join([word, *map(str, numbers)]).encode() + b"\n")


def _forked(work: Callable[[], None]) -> int:
    """A process that does the work and ends."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"\n{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)


if __name__ == "__main__":
    main()
